// One shard's lock state as bytes: written from the tables, checked, and put back into tables.
//
// Canonical: replicas that applied the same commands write the same bytes, whatever rows they used.
// All integers are little-endian, without padding:
//
//   header    magic 4 "GLKS", version 2, token_last 8, state_hash 8, serial_last 4, sessions 4
//   session   session 8, acked_below 8, forgotten_below 8, serial 4, ttl_ms 4, phase 1, requests 1,
//             locks held 4; newest registration first
//   request   sequence 8, token 8, holder 8, enqueued_at 8, argument_hash 4, code 1; follow their
//             session, oldest first
//   lock      token 8, granted_at 8, waiters 4, name bytes 2, name; after all sessions, in the
//             order of their holders, newest grant first
//   waiter    session's place 4, request's place 1; follow their lock, in queue order
//
// A shard where anything goes beyond plain holds (lock_hold.h) is written as version 2, which adds,
// right behind the fields above and before waiters:
//
//   request   of one that waits: its token is its ask, and a note (bytes 2, then they) follows
//   lock      kind 1 (SnapshotHold); if Marked: holds 4, the holder's note; if it is a share:
//             permits 1, and if it is the oldest one, limit 2. A lock that is held together stands
//             once for each holder, with that one's token; its waiters follow the oldest share.
//             Delaying and Delayed are as Marked, with the delay's milliseconds (2) behind; Broken
//             remembers a hold of that name and token that was broken at that index. The locks in
//             their delay (Delayed) of a failed session follow its others, newest first.
//
// A shard from or to which a name was moved (lock_residence.h) is written as version 3, which adds
// to version 2, right behind what that adds to a lock, unless it is Broken or a Share:
//
//   lock      residence 1; if the name was moved: its newest move's number 4; if it is Away: to 4,
//             blocks 4, and of each block of what is to be sent its 28 bytes
//
// Records that nobody holds are the keeper's, which is a session like the others.
//
// Every other shard is still written as version 1 or 2, which older releases read too; they refuse
// a later one with DATA_LOSS. All are read here.
//
// Reading trusts nothing: it checks every count against the bytes that are there and every link and
// invariant of the tables before it changes anything. Cost and memory are proportional to the
// shard's content. The caller adds a checksum and keeps it. Host only.
#pragma once

#include "common/status.h"
#include "locks/state/demand.h"
#include "locks/state/extra.h"
#include "locks/state/table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::locks {

inline constexpr std::uint32_t kLockSnapshotMagic = 0x534b4c47;  // "GLKS" in memory order.
inline constexpr std::uint16_t kLockSnapshotVersion = 1;         // Of plain shards.
inline constexpr std::uint16_t kLockSnapshotVersionHolds = 2;    // Of others.
inline constexpr std::uint16_t kLockSnapshotVersionMoves = 3;    // Where names were moved.

// What a lock's entry in a version 2 is. Never renumber.
enum class SnapshotHold : std::uint8_t {
  Plain = 0,
  Marked = 1,
  OldestShare = 2,
  Share = 3,
  Broken = 4,    // No hold any more (lock_broken.h).
  Delaying = 5,  // Marked, with a delay for when its holder fails.
  Delayed = 6,   // The same whose holder did.
};

// A parsed snapshot. Texts point into the bytes that it was parsed from.
struct LockSnapshot {
  struct Session {
    SessionId session;
    RequestSequence acked_below;
    RequestSequence forgotten_below;
    std::uint32_t serial = 0;
    std::uint32_t ttl_ms = 0;
    SessionPhase phase = SessionPhase::Live;
    std::uint32_t request_first = 0;  // Place in `requests`.
    std::uint32_t request_count = 0;
    std::uint32_t hold_count = 0;
  };

  struct Request {
    RequestSequence sequence;
    FencingToken token;
    SessionId holder;
    LogIndex enqueued_at;
    std::uint32_t argument_hash = 0;
    LockCode code = LockCode::None;
    std::string_view note;  // Of one that waits; its token is its ask.
  };

  struct Lock {
    FencingToken token;
    LogIndex granted_at;
    NameHash name_hash;
    std::string_view name;
    std::uint32_t waiter_first = 0;  // Place in `waiters`.
    std::uint32_t waiter_count = 0;
    SnapshotHold hold = SnapshotHold::Plain;
    std::uint32_t hold_count = 1;
    std::string_view note;
    std::uint8_t permits = 0;
    std::uint16_t permits_limit = 0;
    std::uint16_t delay_ms = 0;
    Residence residence = Residence::Native;
    std::uint32_t move_number = 0;
    ShardId away_to;
    std::string_view exported;  // Blocks, NameBlock::kBytes each.
    bool kept = false;          // It is the keeper's.

    bool delays() const { return hold == SnapshotHold::Delaying || hold == SnapshotHold::Delayed; }

    bool marked() const { return hold == SnapshotHold::Marked || delays(); }

    bool shared() const { return hold == SnapshotHold::OldestShare || hold == SnapshotHold::Share; }
  };

  std::uint16_t version = kLockSnapshotVersion;
  std::uint64_t token_last = 0;
  std::uint64_t state_hash = 0;
  std::uint32_t serial_last = 0;
  std::vector<Session> sessions;
  std::vector<Request> requests;
  std::vector<Lock> locks;
  std::vector<std::uint32_t> waiters;  // Places in `requests`.
};

std::vector<std::byte> write_snapshot(const LockTables& tables, ShardId shard);

// DataLoss with the reason when the bytes are not a snapshot that write_snapshot() could have made.
Result<LockSnapshot> parse_snapshot(std::span<const std::byte> bytes);

// What becomes of a shard's sessions, and with them of its locks and waiters.
enum class SnapshotSessions : std::uint8_t { Keep, Drop };

// The state of a shard in which so many more tokens were granted, so that no token that is granted
// on it was granted before by whoever went on from the same snapshot. Empty bytes are the initial
// state. DataLoss as from parse_snapshot(); OutOfRange when there are not so many tokens left.
Result<std::vector<std::byte>> raise_snapshot(std::span<const std::byte> bytes,
                                              std::uint64_t token_count,
                                              SnapshotSessions sessions);

// The rows that install_snapshot() takes.
LockDemand demand_of(const LockSnapshot& snapshot);

// Fills an empty shard; the pools have room.
void install_snapshot(const LockTables& tables, ShardId shard, const LockSnapshot& snapshot);

// Gives back every row of the shard and zeroes its own.
void drop_shard(const LockTables& tables, ShardId shard);

}  // namespace gcoord::locks
