// The registrations of a shard: entered on first use, found by session, removed when nothing is
// left of them.
//
// Pure functions over the tables of a machine, which are a plain view with these members:
//
//   sessions             RowPool<SessionRecord, SessionRow>
//   session_index        MovingIndex over the rows of registered sessions
//   shard(ShardId)       the shard's row: serial_last, session_first, session_count
//   session_hash(ShardId, SessionId)
//
// So a machine lays its columns out as its device wants them, and these lines are the same for all.
// One writer per shard; no loops but those of the index. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/tables/row_list.h"
#include "sessions/record.h"

#include <cstdint>

namespace gcoord::sessions {

// Whether a row is the registration of this session in this shard.
template <typename Tables>
struct IsRegistration {
  const Tables* tables;
  ShardId shard;
  SessionId session;

  GCOORD_HD bool operator()(std::uint32_t row) const {
    const SessionRecord& record = tables->sessions[SessionRow{row}];
    return record.session == session && record.shard == shard;
  }
};

// The registration of this session in this shard, or none.
template <typename Tables>
GCOORD_HD inline SessionRow find_session(const Tables& tables, ShardId shard, SessionId session) {
  const std::uint32_t hash = tables.session_hash(shard, session);
  return SessionRow{
      tables.session_index.find(hash, IsRegistration<Tables>{&tables, shard, session})};
}

using SessionList = RowList<&SessionRecord::shard_next, &SessionRecord::shard_previous>;

// Puts a filled record at the newest end of its shard's list, and in the index under `hash`.
template <typename Tables>
GCOORD_HD inline void link_session(const Tables& tables, SessionRow row, std::uint32_t hash) {
  SessionRecord& session = tables.sessions[row];
  auto& shard = tables.shard(session.shard);
  SessionList::push_first(tables.sessions, row, shard.session_first);
  ++shard.session_count;
  tables.session_index.insert(hash, row.value);
}

// Registers a session that is not yet. `hash` is that of the index.
template <typename Tables>
GCOORD_HD inline SessionRow enter_session(
    const Tables& tables, ShardId shard, SessionId id, std::uint32_t ttl_ms, std::uint32_t hash) {
  const SessionRow row = tables.sessions.take();
  SessionRecord& session = tables.sessions[row];
  ++tables.shard(shard).serial_last;
  session.session = id;
  session.shard = shard;
  session.serial = tables.shard(shard).serial_last;
  session.ttl_ms = ttl_ms;
  link_session(tables, row, hash);
  return row;
}

// Removes a registration that holds nothing and remembers nothing.
template <typename Tables>
GCOORD_HD inline void remove_session(const Tables& tables, SessionRow row) {
  SessionRecord& session = tables.sessions[row];
  GCOORD_ASSERT(session.hold_count == 0);
  GCOORD_ASSERT(session.request_count == 0);
  auto& shard = tables.shard(session.shard);
  SessionList::unlink(tables.sessions, row, shard.session_first);
  --shard.session_count;
  tables.session_index.erase(tables.session_hash(session.shard, session.session), row.value);
  session.session = SessionId{};
  session.shard = kNoShard;
  tables.sessions.give_back(row);
}

// What became of a registration whose end took one step: removed once nothing is left of it.
template <typename Tables>
GCOORD_HD inline RegistrationChange settle_end(const Tables& tables, SessionRow row) {
  const SessionRecord& session = tables.sessions[row];
  if (session.hold_first.value != 0) {
    return RegistrationChange::Dying;
  }
  if (session.hold_count != 0) {
    return RegistrationChange::Delaying;
  }
  remove_session(tables, row);
  return RegistrationChange::Removed;
}

}  // namespace gcoord::sessions
