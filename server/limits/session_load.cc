#include "server/limits/session_load.h"

#include "locks/state/delay.h"

#include <algorithm>

namespace gcoord::server {

SessionLoad session_load(const locks::LockCpu& locks, SessionId session) {
  SessionLoad load;
  for (const sessions::Registration& each : locks.clock().registrations_of(session)) {
    const locks::LockView view = locks.view(each.shard);
    const locks::LockTables& tables = view.tables();
    const locks::SessionRecord& record = tables.sessions[view.row(each.row)];
    load.known = load.known || record.phase == locks::SessionPhase::Live;
    // Less what stays of those that were broken by force.
    load.locks +=
        record.hold_count - std::min(record.hold_count, locks.clock().broken_count(each.row));
    locks::RequestRow row = locks::first_request(record);
    for (; row.value != 0; row = tables.requests[row].next) {
      load.waiters += tables.requests[row].code == locks::LockCode::Waiting ? 1 : 0;
    }
  }
  return load;
}

// By the index, since a session may be registered in as many shards as there are.
std::uint32_t session_ttl_ms(const locks::LockCpu& locks, SessionId session, ShardId shard) {
  const locks::LockView view = locks.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, session);
  const bool lives = row.value != 0 && tables.sessions[row].phase == locks::SessionPhase::Live;
  return lives ? locks.clock().ttl_ms(view.outside(row)) : 0;
}

}  // namespace gcoord::server
