// Optional part of a lock's record: a count of holds, a holder's note, several holders
// (lock_share.h).
//
// Such a lock is marked: its record's name begins with a block that holds these words and says
// where the name goes on. So a plain lock costs what it did, and whether a lock is marked is one
// bit of the record that every command on it loads anyway. A lock is marked when somebody first
// asks for more than the plain (lock_hold.h), and stays so until its record goes; a waiter that
// asks for more marks it too, so that whoever passes an unmarked lock on meets plain waiters only.
//
// Functions that are templates for no other reason are so to stay apart from the code around them
// on a device (GCOORD_HD_APART). Contract: as lock_table.h; the driver has reserved a block for
// each mark and those of the note. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/hold.h"
#include "locks/commands/limits.h"
#include "locks/commands/reply.h"
#include "locks/state/names.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// Where the lock of a name is that was moved (lock_move.h). Never renumber: they are in snapshots.
enum class Residence : std::uint8_t {
  Native = 0,  // The name was never moved, as far as this shard knows.
  Here = 1,    // It was moved to this shard.
  Away = 2,    // It was moved away from it.
};

struct LockExtra {
  NameBlockRow name_first;
  std::uint32_t hold_count = 1;  // Of the holder; 0: it failed, and the lock stays (lock_delay.h).
  NameBlockRow note_first;       // The holder's; 0: none.
  LockRow share_first;           // Of several holders, by their tokens.
  LockRow share_last;
  std::uint32_t share_count = 0;    // 0: it is held by one alone, or by nobody.
  std::uint32_t permits_limit = 0;  // While it is held together; 0: by readers.
  std::uint32_t permits_used = 0;
  std::uint32_t delay_ms = 0;  // What the holder asked for; see HoldOptions.
  Residence residence = Residence::Native;
  std::uint32_t move_number = 0;  // Of the name's newest move that this shard took part in.
  ShardId away_to;                // Where it was moved to, of one that is away.
  NameBlockRow export_first;      // Of one that is away, until it has arrived (lock_move.h).
};

GCOORD_HD inline NameBlockRow extra_row(const LockRecord& lock) {
  GCOORD_ASSERT(is_marked(lock));
  return NameBlockRow{lock.name_first.value & ~kNameMarked};
}

GCOORD_HD inline LockExtra load_extra(const LockTables& tables, const LockRecord& lock) {
  const NameBlock& block = tables.name_blocks[extra_row(lock)];
  LockExtra extra;
  extra.name_first = NameBlockRow{block.next};
  extra.hold_count = block.words[0] & 0xffffu;
  extra.delay_ms = block.words[0] >> 16;
  extra.share_count = block.words[4] & 0xffu;
  extra.residence = static_cast<Residence>(block.words[4] >> 8);
  extra.permits_limit = block.words[5] & 0xffffu;
  extra.permits_used = block.words[5] >> 16;
  extra.move_number = block.words[6];
  if (extra.residence == Residence::Away) {
    extra.export_first = NameBlockRow{block.words[1]};
    extra.away_to = ShardId{block.words[2]};
    return extra;
  }
  extra.note_first = NameBlockRow{block.words[1]};
  extra.share_first = LockRow{block.words[2]};
  extra.share_last = LockRow{block.words[3]};
  return extra;
}

GCOORD_HD inline void store_extra(const LockTables& tables,
                                  const LockRecord& lock,
                                  const LockExtra& extra) {
  NameBlock block;
  block.next = extra.name_first.value;
  block.words[0] = extra.hold_count | extra.delay_ms << 16;
  const bool away = extra.residence == Residence::Away;
  GCOORD_ASSERT(extra.share_count <= kHoldersMax);
  block.words[1] = away ? extra.export_first.value : extra.note_first.value;
  block.words[2] = away ? extra.away_to.value : extra.share_first.value;
  block.words[3] = extra.share_last.value;
  block.words[4] = extra.share_count | static_cast<std::uint32_t>(extra.residence) << 8;
  block.words[5] = extra.permits_limit | extra.permits_used << 16;
  block.words[6] = extra.move_number;
  tables.name_blocks[extra_row(lock)] = block;
}

// Marks the lock, if it is not yet.
GCOORD_HD inline void mark(const LockTables& tables, LockRow row) {
  LockRecord& lock = tables.locks[row];
  if (is_marked(lock)) {
    return;
  }
  LockExtra extra;
  extra.name_first = lock.name_first;
  const NameBlockRow block = tables.name_blocks.take();
  GCOORD_ASSERT(block.value < kNameShare);
  lock.name_first = NameBlockRow{block.value | kNameMarked};
  store_extra(tables, lock, extra);
}

GCOORD_HD inline void release_note(const LockTables& tables, NameBlockRow first) {
  if (first.value != 0) {
    release_name(tables, first);
  }
}

// Gives back what a lock that is away left to be sent: a block for the lock, one for each waiter.
GCOORD_HD inline void release_export(const LockTables& tables, NameBlockRow first) {
  NameBlockRow row = first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i <= kMoveWaitersMax && row.value != 0; ++i) {
    const std::uint32_t next = tables.name_blocks[row].next;
    tables.name_blocks.give_back(row);
    row = NameBlockRow{next == NameBlock::kEnd ? 0 : next};
  }
}

// Gives back what the mark took; the lock is plain then.
template <typename Tables>
GCOORD_HD_APART void unmark(const Tables& tables, LockRow row) {
  LockRecord& lock = tables.locks[row];
  const LockExtra extra = load_extra(tables, lock);
  release_note(tables, extra.note_first);
  release_export(tables, extra.export_first);
  tables.name_blocks.give_back(extra_row(lock));
  lock.name_first = extra.name_first;
}

// Copies a note of 0 to kNoteBytesMax bytes into the pool; its first block, or none.
GCOORD_HD inline NameBlockRow store_note(const LockTables& tables,
                                         const char* bytes,
                                         std::uint32_t byte_count) {
  return byte_count == 0 ? NameBlockRow{} : store_name(tables, bytes, byte_count);
}

// What a waiter asks for is kept in its request, in words that say nothing while it waits: the ask
// as token, and as holder the row of its note, or of its share to be. A wait that ends clears both.
GCOORD_HD inline void keep_ask(const LockTables& tables,
                               RequestRow row,
                               const HoldOptions& ask,
                               std::uint32_t kept_row) {
  RequestRecord& waiter = tables.requests[row];
  GCOORD_ASSERT(waiter.code == LockCode::Waiting);
  waiter.token = FencingToken{pack_ask(ask)};
  waiter.holder = SessionId{kept_row};
}

// Gives back what a waiter kept and will not need.
GCOORD_HD inline void release_kept(const LockTables& tables, const RequestRecord& waiter) {
  GCOORD_ASSERT(waiter.code == LockCode::Waiting);
  const auto row = static_cast<std::uint32_t>(waiter.holder.value);
  if ((unpack_ask(waiter.token.value).flags & kHoldShared) != 0) {
    tables.locks.give_back(LockRow{row});
  } else {
    release_note(tables, NameBlockRow{row});
  }
}

// The row of a waiter's note, or none.
GCOORD_HD inline NameBlockRow note_of(const RequestRecord& waiter) {
  GCOORD_ASSERT(waiter.code == LockCode::Waiting);
  if ((unpack_ask(waiter.token.value).flags & kHoldShared) != 0) {
    return NameBlockRow{};
  }
  return NameBlockRow{static_cast<std::uint32_t>(waiter.holder.value)};
}

}  // namespace gcoord::locks
