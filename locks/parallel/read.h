// Entries of a row's log on their way into a window of commands.
//
// Each member reads entries, and what a window may hold stands in its columns afterwards, with the
// hashes of each command and the row of its session. All else is left to apply(): commands of other
// kinds, acquires whose pieces are missing, sessions that are not registered. Contract: as
// window.h. Host and device.
#pragma once

#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/commands/entry.h"
#include "locks/parallel/window.h"
#include "locks/state/keys.h"

#include <cstdint>

namespace gcoord::locks {

// What a window looked at.
struct WindowEntries {
  std::uint64_t commands = 0;  // A bit for each entry that is a command: the k-th is place k.
  std::uint32_t places = 0;    // How many those are.
  std::uint32_t count = 0;     // Entries, from the first on.

  // The commands among the entries up to this one.
  GCOORD_HD std::uint32_t through(std::uint32_t entry) const {
    const std::uint64_t upto = commands & ((std::uint64_t{2} << entry) - 1);
    return count_bits(static_cast<std::uint32_t>(upto)) +
           count_bits(static_cast<std::uint32_t>(upto >> 32));
  }

  GCOORD_HD bool is_command(std::uint32_t entry) const { return (commands >> entry & 1) != 0; }
};

// Whether the bytes of an acquire's name are all there: as gather_name(), without the bytes.
template <typename Log>
GCOORD_HD bool has_name(const Log& log, LogIndex index, const LockEntry& entry) {
  const PiecesBefore<LogIndex> pieces{
      index,
      entry.request,
      piece_count(entry.number()),
      piece_mark(SessionId{entry.word[0]}, RequestSequence{entry.word[1]})};
  if (index.value <= pieces.count) {
    return false;
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < pieces.count; ++k) {
    if (!pieces.has(log(LogIndex{index.value - pieces.count + k}), k)) {
      return false;
    }
  }
  return true;
}

// An entry that is a command: its number among the window's, and the place that it gets.
struct CommandEntry {
  const LockEntry& entry;
  std::uint32_t number = 0;
  std::uint32_t place = 0;
};

// Writes the command of an entry to its place.
template <typename Log>
GCOORD_HD void place_command(const WindowWork& work, const Log& log, const CommandEntry& read) {
  LockWindow& window = work.window;
  const LockEntry& entry = read.entry;
  const std::uint32_t place = read.place;
  const LogIndex index = work.before + (read.number + 1);
  LockCommand command;
  if (!is_text_entry(entry)) {
    command = plain_command_of(entry);
  }
  const bool acquires = command.kind == LockCommandKind::Acquire;
  const bool suits =
      acquires ? has_name(log, index, entry) : command.kind == LockCommandKind::Release;
  const LockKeys keys = make_keys(work.tables, work.shard_id, index, command);
  window.kind[place] = suits ? command.kind : LockCommandKind::Unknown;
  window.flags[place] = command.flags;
  window.name_bytes[place] = command.name_bytes;
  window.entry[place] = read.number;
  window.session_id[place] = command.session;
  window.sequence[place] = command.sequence;
  window.acked_below[place] = command.acked_below;
  window.token[place] = command.token;
  window.name[place] = command.name_hash;
  window.lock_hash[place] = keys.lock_hash;
  window.session_hash[place] = keys.session_hash;
  window.argument_hash[place] = keys.argument_hash;
  window.digest[place] = keys.digest;
}

// Reads the next decided entries: as many as a window has places for.
template <typename Log>
GCOORD_HD WindowEntries read_window(const WindowWork& work, const Log& log) {
  WindowEntries read;
  read.count = work.decided_count < kWindowEntries ? work.decided_count : kWindowEntries;
  GCOORD_UNROLL_BY(2)
  for (std::uint32_t base = 0; base < kWindowEntries; base += warp_lanes()) {
    const std::uint32_t number = base + warp_rank();
    LockEntry entry;
    if (number < read.count) {
      entry = log(work.before + (number + 1));
    }
    const bool says = !is_nothing_to_locks(entry.kind());
    const std::uint32_t found = warp_ballot(says);
    const std::uint32_t place = read.places + rank_among(found);
    if (says && place < kWindowCommands) {
      place_command(work, log, {entry, number, place});
    }
    const std::uint32_t full = warp_ballot(says && place == kWindowCommands);
    read.count = full != 0 ? base + lowest_bit(full) : read.count;
    read.commands |= std::uint64_t{found} << base;
    read.places += count_bits(found);
  }
  if (read.places > kWindowCommands) {
    read.places = kWindowCommands;
    read.commands &= (std::uint64_t{1} << read.count) - 1;
  }
  warp_sync();
  each_place(read.places, [&](std::uint32_t i) {
    LockWindow& window = work.window;
    const SameSession same{&work.tables, work.shard_id, window.session_id[i]};
    window.session[i] =
        window.kind[i] == LockCommandKind::Unknown
            ? SessionRow{}
            : SessionRow{work.tables.session_index.find(window.session_hash[i], same)};
  });
  return read;
}

}  // namespace gcoord::locks
