// The columns of the session clock, and what one keep-alive and one look at a deadline do to them.
//
// clock.h owns them on the host and says what they mean; a device may hold a copy and renew
// many sessions at once (sweep.h). Both run these functions, so they agree bit for bit.
//
// Many threads may renew together: what two of them write to one row is the same tick. Nobody
// registers or removes meanwhile. A view over memory of the owner, copied by value; host and
// device.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/random.h"
#include "common/tables/hash_index.h"
#include "sessions/record.h"

#include <cstdint>

namespace gcoord::sessions {

enum class RenewCode : std::uint8_t {
  Renewed = 0,
  // Nothing of this session is registered on this node (a session that holds nothing is normal).
  NotRegistered = 1,
  // Its expiry was decided or proposed for at least one shard: the client must not count on it.
  Lost = 2,
};

struct RenewOutcome {
  RenewCode code = RenewCode::NotRegistered;
  std::uint32_t registration_count = 0;  // How many were renewed.
  std::uint32_t ttl_ms_min = 0;          // The shortest TTL among them.
  bool broken = false;                   // Holds of it were broken, and it was not told of all.
};

// An expiry to propose: encode make_expire_session(session, serial) for the shard.
struct ExpiryProposal {
  SessionRow row;
  ShardId shard;
  SessionId session;
  std::uint32_t serial = 0;
};

// The cold columns of one row: one sector of a device's memory.
struct alignas(16) SessionCell {
  SessionId session;
  ShardId shard;
  std::uint32_t serial = 0;
  std::uint32_t ttl_ms = 0;
  SessionRow next;  // Registrations of the same session, newest first.
  SessionRow previous;
  bool present : 1 = false;
  bool led : 1 = false;  // This node leads the shard.
  bool dying : 1 = false;
  bool delaying : 1 = false;  // Dying, and what is left stays for its delay.
  bool proposed : 1 = false;
  std::uint32_t broken_count : 24 = 0;  // Of its holds: broken, and it was not told of them.
};

inline constexpr std::uint32_t kBrokenCountMax = (1u << 24) - 1;

static_assert(sizeof(SessionCell) == 32);

// Rows from 1 to row_end - 1; row 0 is never registered.
struct SessionColumns {
  Tick* deadline = nullptr;  // kTickNever: free row, shard not led, or expiry proposed.
  Tick* heard = nullptr;
  SessionCell* cells = nullptr;
  std::uint32_t row_end = 1;
  MovingIndex first_of_session;
  // Sessions that are over; a row of the index is a place of the ring, from 1. Without a ring
  // somebody else has looked there.
  const SessionId* over_ring = nullptr;
  std::uint32_t over_capacity = 0;
  MovingIndex over_index;
  std::uint64_t index_seed = 0;
  std::uint32_t tick_ms = 1;
};

GCOORD_HD inline std::uint32_t session_clock_hash(SessionId session, std::uint64_t index_seed) {
  return static_cast<std::uint32_t>(mix64(session.value ^ index_seed));
}

// Rounded up, and one more: a keep-alive counts from the start of the tick that it was heard in.
GCOORD_HD constexpr std::uint64_t session_ttl_ticks(std::uint32_t ttl_ms, std::uint32_t tick_ms) {
  return (std::uint64_t{ttl_ms} + tick_ms - 1) / tick_ms + 1;
}

struct IsCellOf {
  const SessionCell* cells;
  SessionId session;

  GCOORD_HD bool operator()(std::uint32_t row) const { return cells[row].session == session; }
};

struct IsOver {
  const SessionId* ring;
  SessionId session;

  GCOORD_HD bool operator()(std::uint32_t row) const { return ring[row - 1] == session; }
};

// Hears one row. A deadline never moves back: a leader that came gave it an election time more.
GCOORD_HD inline void renew_row(const SessionColumns& columns, SessionRow row, Tick now) {
  const SessionCell& cell = columns.cells[row.value];
  relaxed_store(columns.heard[row.value].value, now.value);
  if (cell.led) {
    const Tick renewed = now + session_ttl_ticks(cell.ttl_ms, columns.tick_ms);
    relaxed_store(columns.deadline[row.value].value,
                  max_id(columns.deadline[row.value], renewed).value);
  }
}

// A keep-alive of one session: renews all of its registrations, or none.
GCOORD_HD inline RenewOutcome renew_session(const SessionColumns& columns,
                                            SessionId session,
                                            Tick now) {
  RenewOutcome outcome;
  const std::uint32_t hash = session_clock_hash(session, columns.index_seed);
  if (columns.over_capacity != 0 &&
      columns.over_index.find(hash, IsOver{columns.over_ring, session}) != 0) {
    outcome.code = RenewCode::Lost;
    return outcome;
  }
  const SessionRow first{columns.first_of_session.find(hash, IsCellOf{columns.cells, session})};
  // Each row is in the list once, so a session has fewer than row_end of them.
  SessionRow row = first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < columns.row_end && row.value != 0; ++i) {
    const SessionCell& cell = columns.cells[row.value];
    if (cell.dying || cell.proposed) {
      return {.code = RenewCode::Lost};
    }
    row = cell.next;
  }
  row = first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < columns.row_end && row.value != 0; ++i) {
    const SessionCell& cell = columns.cells[row.value];
    renew_row(columns, row, now);
    const bool shortest = outcome.registration_count == 0 || cell.ttl_ms < outcome.ttl_ms_min;
    outcome.ttl_ms_min = shortest ? cell.ttl_ms : outcome.ttl_ms_min;
    outcome.broken = outcome.broken || cell.broken_count != 0;
    ++outcome.registration_count;
    outcome.code = RenewCode::Renewed;
    row = cell.next;
  }
  return outcome;
}

GCOORD_HD inline bool is_due(const SessionColumns& columns, SessionRow row, Tick now) {
  return columns.deadline[row.value] <= now;
}

// Marks a row that is due as proposed.
GCOORD_HD inline ExpiryProposal take_due(const SessionColumns& columns, SessionRow row) {
  SessionCell& cell = columns.cells[row.value];
  GCOORD_ASSERT(cell.present);
  cell.proposed = true;
  columns.deadline[row.value] = kTickNever;
  return {row, cell.shard, cell.session, cell.serial};
}

}  // namespace gcoord::sessions
