// The lock service as the service of a turn on a device (device_turn_service.h).
//
// What: a stripe has lock tables of its own, pools of fixed size that nobody outside its group
// writes. The members of the group apply rows side by side, as writers of the same tables
// (locks/parallel/writer.h): a member takes rows of the pools from what was free when the turn
// began, and gives back behind it. Commands, replies, tokens and state hashes are those of
// lock_apply.h, to the bit; whoever applies the same entries on a host gets the same hash after
// each.
//
// What the host is told of an entry: word 0 the shard's state hash after it, word 1 what was done
// (LockTurnDone) and how much room the stripe has left (room_of). Events are counted only: they
// follow from the entries.
//
// A row with several decided entries may have all members of the group at once (apply_together):
// they decide its commands in windows (locks/parallel/apply.h), which is what keeps a shard with a
// name that everybody wants from being one member's chain of loads.
//
// Bounds: pools do not grow. The host admits no command that may take more than its part
// (resident_admission.h); a stripe that runs dry all the same stops the node through `abort`, since
// a replica cannot skip what was decided. Snapshots carry no lock state: a row that was installed
// from one is `absent`, its entries are told and not applied here, and its host, which gets the
// state from another host, applies alone. Host and device; POD.
#pragma once

#include "common/device/aligned_copy.h"
#include "common/device/device_atomic.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "consensus/step/configuration.h"
#include "locks/commands/entry.h"
#include "locks/parallel/apply.h"
#include "locks/parallel/window.h"
#include "locks/parallel/writer.h"
#include "locks/state/apply.h"
#include "netcore/memory/order.h"
#include "server/device_turn/service.h"
#include "server/device_turn/view.h"
#include "server/resident/node/lock_ingress.h"

#include <cstdint>
#include <cstring>

namespace gcoord::server {

// Never renumber.
enum class LockTurnDone : std::uint64_t {
  Nothing = 0,  // A piece, a barrier, a record, a no-op, or a command whose pieces are missing.
  Applied = 1,  // Bits 8 to 15: the LockCode.
  Absent = 2,   // Not applied here; see above.
};

// Acquires with a name of ordinary length that the stripe could still take.
constexpr std::uint32_t room_of(const TurnResult& result) {
  return static_cast<std::uint32_t>(result.word[1] >> 32);
}

// Name blocks that count as one acquire in that sum.
inline constexpr std::uint32_t kRoomNameBlocks = 4;

constexpr LockTurnDone done_of(const TurnResult& result) {
  return static_cast<LockTurnDone>(result.word[1] & 0xffu);
}

// What a node was stopped for by its own kernel: TurnControl::abort.
inline constexpr std::uint64_t kAbortPoolFull = 2;

// Turns in a row in which a stripe lacked rows before it gives up: rows that were given back in one
// turn are there in the next, so two would do.
inline constexpr std::uint32_t kDryTurnsMax = 64;

// Windows of one row in a turn, and entries that one member applies where a window was cut: early,
// where making a window ready costs about as much as a command or two, or late.
inline constexpr std::uint32_t kWindowsTogether = 2;
inline constexpr std::uint32_t kAloneAfterCut = 8;

// The tables of one stripe.
struct alignas(128) LockStripe {
  locks::SharedLocks shared;
  locks::LockTables together;  // Of its group's window: the same, with the window's writer.
  locks::LockWindow* window = nullptr;
  locks::LockPoolTops ends;  // shared.tops.
  locks::LockPoolTops open;  // What was free when the turn began.
  std::uint32_t dry = 0;     // A row lacked something in this turn.
  std::uint32_t dry_turns = 0;
  std::uint32_t has_guests = 0;  // Shards of it may have locks whose names' home is another one.
  // Of a MoveIn, for one of the group in each turn: no member's stack has room for it.
  locks::EntryBytes* text = nullptr;
  std::uint64_t text_taken = 0;
};

struct LockTurnService {
  using Entry = locks::LockEntry;

  static constexpr std::uint32_t kEntriesKept = locks::kPiecesMax;
  static constexpr std::uint32_t kPiecesKept = locks::kRecordPiecesMax;
  static constexpr bool kTellsHost = true;
  static constexpr bool kReadmits = true;
  static constexpr bool kHashed = false;

  LockStripe* stripes = nullptr;
  std::uint8_t* absent = nullptr;  // By row.
  std::uint64_t* abort = nullptr;  // TurnControl::abort.
  std::uint32_t rows_per_stripe = 1;

  GCOORD_HD static Entry noop() { return Entry{}; }

  GCOORD_HD static bool is_noop(const Entry& entry) { return entry.kind() == 0; }

  GCOORD_HD static bool is_piece(const Entry& entry) { return entry.kind() == locks::kEntryPiece; }

  // Of its command, up to this one.
  GCOORD_HD static std::uint32_t pieces_through(const Entry& entry) {
    const std::uint32_t count = is_piece(entry) ? entry.number() + 1 : 0;
    return count < kPiecesKept ? count : kPiecesKept;
  }

  GCOORD_HD static Entry configuration_entry(const consensus::Configuration& configuration) {
    Entry entry;
    entry.head = locks::kEntryConfiguration;
    static_assert(sizeof configuration == sizeof entry.word);
    std::memcpy(entry.word, &configuration, sizeof configuration);
    return entry;
  }

  GCOORD_HD static bool is_configuration(const Entry& entry) {
    return entry.kind() == locks::kEntryConfiguration;
  }

  GCOORD_HD static consensus::Configuration configuration_of(const Entry& entry) {
    consensus::Configuration configuration;
    std::memcpy(static_cast<void*>(&configuration), entry.word, sizeof configuration);
    return configuration;
  }

  // Clients configure nothing, and a no-op says nothing else, whoever asks for it (HostNoops).
  GCOORD_HD static Entry command(const TurnRequest& request) {
    const std::uint32_t kind = request.head & 0xffu;
    if (kind == locks::kEntryConfiguration || kind == 0) {
      return noop();
    }
    return entry_of_request(request);
  }

  // How many shards a name's home is to be judged among; 0: it is not, since locks of the stripe
  // were moved, or came with a state that this device does not know.
  GCOORD_HD std::uint32_t homes(std::uint32_t stripe, std::uint32_t shard_count) const {
    return stripes[stripe].has_guests == 0 ? shard_count : 0;
  }

  // An IngressFault. Apart, since a turn of one row would have all of it in its registers.
  GCOORD_HD_APART static std::uint32_t judge(const netcore::Slot& slot,
                                             const TurnPass& pass,
                                             std::uint32_t shard_count) {
    const auto request = load_aligned<TurnRequest>(&slot);
    return static_cast<std::uint32_t>(ingress_fault(request, pass, shard_count));
  }

  GCOORD_HD std::uint32_t offers(std::uint32_t, std::uint64_t) const { return 0; }

  GCOORD_HD Entry offer(std::uint32_t, LogIndex, std::uint32_t) const { return noop(); }

  GCOORD_HD void offering(std::uint32_t) const {}

  GCOORD_HD void offered(std::uint32_t, LogIndex, std::uint32_t) const {}

  GCOORD_HD void begin_turn(std::uint32_t number) const {
    LockStripe& stripe = stripes[number];
    stripe.open = stripe.ends;
    stripe.dry_turns = stripe.dry != 0 ? stripe.dry_turns + 1 : 0;
    stripe.dry = 0;
    stripe.text_taken = 0;
    if (stripe.dry_turns > kDryTurnsMax) {
      netcore::SystemOrder::raise(*abort, kAbortPoolFull);
    }
  }

  GCOORD_HD void save(std::uint32_t, netcore::Slot& slot) const { slot = netcore::Slot{}; }

  GCOORD_HD void install(std::uint32_t row, const netcore::Slot&) const {
    absent[row] = 1;
    relaxed_set(stripes[row / rows_per_stripe].has_guests, 1);
  }

  template <typename Log>
  GCOORD_HD bool apply_told(const Log& log,
                            std::uint32_t row,
                            LogIndex index,
                            const Entry& entry,
                            TurnResult& result) const {
    LockStripe& stripe = stripes[row / rows_per_stripe];
    const bool says = !locks::is_nothing_to_locks(entry.kind());
    if (absent[row] != 0) {
      if (brings_lock(entry)) {
        relaxed_set(stripe.has_guests, 1);
      }
      result.word[1] = static_cast<std::uint64_t>(LockTurnDone::Absent);
      return true;
    }
    if (says && !apply_command(stripe, log, shard_of_row(row), index, entry, result)) {
      return false;
    }
    result.word[0] = stripe.shared.tables.shard(shard_of_row(row)).state_hash;
    result.word[1] |= std::uint64_t{room_in(stripe.ends)} << 32;
    return true;
  }

  // What apply_told() does to some of the entries, by all members together. `teller`: see
  // server/device_turn/service.h; its k is of entry run.applied + 1 + k. Returns how many were
  // applied; 0: not now.
  template <typename Log, typename Teller>
  GCOORD_HD std::uint32_t apply_together(const Log& log,
                                         const DecidedRun& run,
                                         const Teller& teller) const {
    const bool here = absent[run.row] == 0;
    std::uint32_t done = 0;
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t k = 0; k < kWindowsTogether && done < run.count; ++k) {
      std::uint32_t alone = run.count - done;
      if (here) {
        const auto told = [&teller, done](std::uint32_t entry, const TurnResult& result) {
          teller.told(done + entry, result);
        };
        const Share share = decide_window(log, behind(run, done), told);
        done += share.entries;
        alone = share.alone < run.count - done ? share.alone : run.count - done;
      }
      const std::uint32_t applied_alone = apply_alone(teller, done, done + alone);
      done += applied_alone;
      if (applied_alone != alone) {
        break;  // Rows are lacking.
      }
    }
    return done;
  }

 private:
  // Of the next entries of a row: `entries` are done with, `alone` more are one member's.
  struct Share {
    std::uint32_t entries = 0;
    std::uint32_t alone = 0;
  };

  GCOORD_HD static DecidedRun behind(const DecidedRun& run, std::uint32_t done) {
    return {run.row, run.applied + done, run.count - done};
  }

  // One window of the run; see apply_together(). Apart, so that what it keeps on a device's stack
  // is not there while one member applies.
  template <typename Log, typename Told>
  GCOORD_HD_APART Share decide_window(const Log& log,
                                      const DecidedRun& run,
                                      const Told& told) const {
    LockStripe& stripe = stripes[run.row / rows_per_stripe];
    const ShardId shard = shard_of_row(run.row);
    const locks::WindowWork work{stripe.together,
                                 *stripe.window,
                                 shard,
                                 run.applied,
                                 run.count,
                                 stripe.together.shard(shard)};
    const locks::WindowOutcome outcome = locks::apply_window(
        work, log, [&](const locks::LockDemand& demand) { return claim_together(stripe, demand); });
    if (outcome.commands != 0) {
      locks::first_member([&] {
        locks::end_writer(stripe.shared, stripe.together, work.window.writer);
        work.window.decided_count += outcome.commands;
      });
    }
    const std::uint64_t room = std::uint64_t{room_in(stripe.ends)} << 32;
    for (std::uint32_t e = warp_rank(); e < outcome.entries; e += warp_lanes()) {
      TurnResult result;
      result.word[0] = outcome.hash_after(work, e);
      result.word[1] = room;
      if (outcome.read.is_command(e)) {
        const locks::LockCode code = work.window.code[outcome.read.through(e) - 1];
        result.word[1] |= static_cast<std::uint64_t>(LockTurnDone::Applied) |
                          static_cast<std::uint64_t>(code) << 8;
      }
      told(e, result);
    }
    warp_sync();
    const bool early = outcome.commands < kAloneAfterCut;
    return {outcome.entries, !outcome.cut ? 0 : early ? kAloneAfterCut : 1};
  }

  // The rows of a window, all or none of them.
  GCOORD_HD static bool claim_together(LockStripe& stripe, const locks::LockDemand& demand) {
    std::uint32_t claimed = 0;
    if (warp_rank() == 0) {
      locks::LockWriter& writer = stripe.window->writer;
      writer = locks::LockWriter{};
      claimed = claim_all(stripe, demand, writer) ? 1 : 0;
      if (claimed == 0) {
        locks::end_writer(stripe.shared, stripe.together, writer);
      }
    }
    claimed = warp_broadcast(claimed, 0);
    warp_sync();
    return claimed != 0;
  }

  // Entries [first, end) of a run by the first member, one after another. Returns how many, to all.
  template <typename Teller>
  GCOORD_HD static std::uint32_t apply_alone(const Teller& teller,
                                             std::uint32_t first,
                                             std::uint32_t end) {
    std::uint32_t next = first;
    if (warp_rank() == 0) {
      GCOORD_UNROLL_BY(1)
      while (next < end && teller.apply(next)) {
        ++next;
      }
    }
    next = warp_broadcast(next, 0);
    warp_sync();
    return next - first;
  }

  GCOORD_HD static std::uint32_t room_in(const locks::LockPoolTops& ends) {
    std::uint32_t room = ends.locks.available();
    const std::uint32_t other[3] = {ends.sessions.available(),
                                    ends.requests.available(),
                                    ends.name_blocks.available() / kRoomNameBlocks};
    for (const std::uint32_t each : other) {
      room = each < room ? each : room;
    }
    return room;
  }

  // Whether so many rows were free when the turn began and are not taken yet.
  GCOORD_HD static bool claim(locks::PoolTops& ends,
                              const locks::PoolTops& open,
                              std::uint32_t count,
                              RowWindow& window) {
    if (count == 0) {
      return true;
    }
    const std::uint32_t first = relaxed_add(ends.claimed, count);
    const std::uint32_t free_count = open.returned - first;
    // Claims fail only beyond the last one that did not, so taking a failed one back leaves no
    // hole.
    if (free_count < count || free_count > ~0u / 2) {
      relaxed_add(ends.claimed, ~count + 1);
      return false;
    }
    window = {.first = first, .next = first, .last = first + count};
    return true;
  }

  GCOORD_HD static bool claim_all(LockStripe& stripe,
                                  const locks::LockDemand& demand,
                                  locks::LockWriter& writer) {
    locks::LockPoolTops& ends = stripe.ends;
    const locks::LockPoolTops& open = stripe.open;
    const bool locks_there = claim(ends.locks, open.locks, demand.locks, writer.locks);
    const bool sessions_there =
        claim(ends.sessions, open.sessions, demand.sessions, writer.sessions);
    const bool requests_there =
        claim(ends.requests, open.requests, demand.requests, writer.requests);
    const bool names_there =
        claim(ends.name_blocks, open.name_blocks, demand.name_blocks, writer.name_blocks);
    return locks_there && sessions_there && requests_there && names_there;
  }

  GCOORD_HD static bool brings_lock(const Entry& entry) {
    return entry.kind() == static_cast<std::uint8_t>(locks::LockCommandKind::MoveIn);
  }

  // False: rows are lacking, or another member has the stripe's text in this turn; nothing was
  // done.
  template <typename Log>
  GCOORD_HD static bool apply_command(LockStripe& stripe,
                                      const Log& log,
                                      ShardId shard,
                                      LogIndex index,
                                      const Entry& entry,
                                      TurnResult& result) {
    const bool brings = brings_lock(entry);
    if (brings && !relaxed_claim(stripe.text_taken, 1)) {
      return false;
    }
    locks::LockCommand command;
    locks::EntryName bytes;
    const bool whole = brings ? locks::read_text(log, index, *stripe.text, command)
                              : locks::read_command(log, index, entry, bytes, command);
    if (!whole) {
      return true;
    }
    locks::LockWriter writer;
    const locks::LockTables tables = locks::tables_of(stripe.shared, writer);
    const bool claimed = claim_all(stripe, locks::demand_of(command), writer);
    if (!claimed) {
      relaxed_set(stripe.dry, 1);
    } else {
      if (brings && shard_of(command.name_hash, tables.shard_count) != shard) {
        relaxed_set(stripe.has_guests, 1);
      }
      locks::LockEvents events;
      const locks::LockReply reply = locks::apply(tables, shard, index, command, events);
      result.word[1] = static_cast<std::uint64_t>(LockTurnDone::Applied) |
                       static_cast<std::uint64_t>(reply.code) << 8;
    }
    locks::end_writer(stripe.shared, tables, writer);
    return claimed;
  }
};

}  // namespace gcoord::server
