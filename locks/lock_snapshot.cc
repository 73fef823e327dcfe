#include "locks/lock_snapshot.h"

#include "locks/byte_codec.h"
#include "locks/lock_command.h"
#include "locks/lock_names.h"
#include "locks/lock_queue.h"
#include "locks/lock_requests.h"
#include "locks/lock_sessions.h"

#include <array>
#include <unordered_map>

namespace gcoord::locks {
namespace {

// Where a request stands in the snapshot: its session's place and its own place in that session.
struct RequestPlace {
  std::uint32_t session = 0;
  std::uint8_t request = 0;
};

using WaiterPlaces = std::unordered_map<std::uint32_t, RequestPlace>;  // By request row.

void write_session(ByteWriter& writer, const SessionRecord& session) {
  writer.integer(session.session.value);
  writer.integer(session.acked_below.value);
  writer.integer(session.forgotten_below.value);
  writer.integer(session.serial);
  writer.integer(session.ttl_ms);
  writer.integer(static_cast<std::uint8_t>(session.phase));
  writer.integer(session.request_count);
  writer.integer(session.hold_count);
}

void write_request(ByteWriter& writer, const RequestRecord& request) {
  writer.integer(request.sequence.value);
  writer.integer(request.token.value);
  writer.integer(request.holder.value);
  writer.integer(request.enqueued_at.value);
  writer.integer(request.argument_hash);
  writer.integer(static_cast<std::uint8_t>(request.code));
}

void write_requests(ByteWriter& writer,
                    const LockTables& tables,
                    const SessionRecord& session,
                    std::uint32_t session_place,
                    WaiterPlaces& places) {
  std::uint8_t place = 0;
  for (RequestRow row = session.request_oldest; row.value != 0; row = tables.requests[row].next) {
    write_request(writer, tables.requests[row]);
    if (tables.requests[row].code == LockCode::Waiting) {
      places[row.value] = RequestPlace{session_place, place};
    }
    ++place;
  }
}

void write_lock(ByteWriter& writer,
                const LockTables& tables,
                const LockRecord& lock,
                const WaiterPlaces& places) {
  std::array<char, kNameBytesMax> name{};
  const std::uint32_t name_bytes = load_name(tables, lock.name_first, name.data());
  writer.integer(lock.token.value);
  writer.integer(lock.granted_at.value);
  writer.integer(lock.waiter_count);
  writer.integer(static_cast<std::uint16_t>(name_bytes));
  writer.bytes(name.data(), name_bytes);
  for (RequestRow row = lock.queue_first; row.value != 0; row = tables.requests[row].queue_next) {
    const RequestPlace place = places.at(row.value);
    writer.integer(place.session);
    writer.integer(place.request);
  }
}

}  // namespace

std::vector<std::byte> write_snapshot(const LockTables& tables, ShardId shard_id) {
  const LockShardRow& shard = tables.shard(shard_id);
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(kLockSnapshotMagic);
  writer.integer(kLockSnapshotVersion);
  writer.integer(shard.token_last);
  writer.integer(shard.state_hash);
  writer.integer(shard.serial_last);
  writer.integer(shard.session_count);
  WaiterPlaces places;
  std::uint32_t session_place = 0;
  for (SessionRow row = shard.session_first; row.value != 0;
       row = tables.sessions[row].shard_next) {
    write_session(writer, tables.sessions[row]);
    write_requests(writer, tables, tables.sessions[row], session_place, places);
    ++session_place;
  }
  for (SessionRow row = shard.session_first; row.value != 0;
       row = tables.sessions[row].shard_next) {
    const SessionRecord& session = tables.sessions[row];
    for (LockRow lock = session.hold_first; lock.value != 0; lock = tables.locks[lock].hold_next) {
      write_lock(writer, tables, tables.locks[lock], places);
    }
  }
  return bytes;
}

namespace {

SessionRow install_session(const LockTables& tables,
                           ShardId shard_id,
                           const LockSnapshot::Session& source) {
  const SessionRow row = tables.sessions.take();
  SessionRecord& session = tables.sessions[row];
  session.session = source.session;
  session.acked_below = source.acked_below;
  session.forgotten_below = source.forgotten_below;
  session.shard = shard_id;
  session.serial = source.serial;
  session.ttl_ms = source.ttl_ms;
  session.phase = source.phase;
  link_session(tables, row, tables.session_hash(shard_id, source.session));
  return row;
}

RequestRow install_request(const LockTables& tables,
                           SessionRow session_row,
                           const LockSnapshot::Request& source) {
  const RequestRow row = tables.requests.take();
  RequestRecord& request = tables.requests[row];
  request.sequence = source.sequence;
  request.token = source.token;
  request.holder = source.holder;
  request.enqueued_at = source.enqueued_at;
  request.session_row = session_row;
  request.argument_hash = source.argument_hash;
  request.code = source.code;
  link_request(tables, row);
  return row;
}

// A parsed lock is held by `holder`; its waiters are rows of installed requests.
void install_lock(const LockTables& tables,
                  SessionRow holder,
                  const LockSnapshot& snapshot,
                  const LockSnapshot::Lock& source,
                  const std::vector<RequestRow>& request_rows) {
  const LockName name{
      source.name_hash, source.name.data(), static_cast<std::uint32_t>(source.name.size())};
  const ShardId shard_id = tables.sessions[holder].shard;
  const LockRow row =
      create_lock(tables, shard_id, name, tables.lock_hash(shard_id, source.name_hash));
  tables.locks[row].token = source.token;
  tables.locks[row].granted_at = source.granted_at;
  link_holder(tables, row, holder);
  for (std::uint32_t i = 0; i < source.waiter_count; ++i) {
    enqueue_waiter(tables, row, request_rows[snapshot.waiters[source.waiter_first + i]]);
  }
}

// Gives back one session with all that hangs on it; queues of the shard are going as a whole.
void drop_session(const LockTables& tables, SessionRow session_row) {
  SessionRecord& session = tables.sessions[session_row];
  for (LockRow row = session.hold_first; row.value != 0; row = session.hold_first) {
    LockRecord& lock = tables.locks[row];
    *tables.waiter_count -= lock.waiter_count;
    lock.waiter_count = 0;
    unlink_holder(tables, row);
    remove_lock(tables, row);
  }
  for (RequestRow row = session.request_oldest; row.value != 0; row = session.request_oldest) {
    unlink_request(tables, row);
    tables.requests.give_back(row);
  }
  remove_session(tables, session_row);
}

}  // namespace

LockDemand demand_of(const LockSnapshot& snapshot) {
  LockDemand demand;
  demand.locks = static_cast<std::uint32_t>(snapshot.locks.size());
  demand.sessions = static_cast<std::uint32_t>(snapshot.sessions.size());
  demand.requests = static_cast<std::uint32_t>(snapshot.requests.size());
  for (const LockSnapshot::Lock& lock : snapshot.locks) {
    demand.name_blocks += name_block_count(static_cast<std::uint32_t>(lock.name.size()));
  }
  return demand;
}

// Lists grow at their front, so what stands last is put in first.
void install_snapshot(const LockTables& tables, ShardId shard_id, const LockSnapshot& snapshot) {
  LockShardRow& shard = tables.shard(shard_id);
  GCOORD_ASSERT(shard.session_count == 0);
  GCOORD_ASSERT(shard.lock_count == 0);
  shard.token_last = snapshot.token_last;
  shard.state_hash = snapshot.state_hash;
  shard.serial_last = snapshot.serial_last;
  std::vector<SessionRow> session_rows(snapshot.sessions.size());
  std::vector<RequestRow> request_rows(snapshot.requests.size());
  for (std::size_t place = snapshot.sessions.size(); place-- > 0;) {
    const LockSnapshot::Session& source = snapshot.sessions[place];
    session_rows[place] = install_session(tables, shard_id, source);
    for (std::uint32_t i = source.request_first; i < source.request_first + source.request_count;
         ++i) {
      request_rows[i] = install_request(tables, session_rows[place], snapshot.requests[i]);
    }
  }
  std::size_t lock_end = snapshot.locks.size();
  for (std::size_t place = snapshot.sessions.size(); place-- > 0;) {
    for (std::uint32_t i = 0; i < snapshot.sessions[place].hold_count; ++i) {
      --lock_end;
      install_lock(tables, session_rows[place], snapshot, snapshot.locks[lock_end], request_rows);
    }
  }
}

void drop_shard(const LockTables& tables, ShardId shard_id) {
  LockShardRow& shard = tables.shard(shard_id);
  for (SessionRow row = shard.session_first; row.value != 0; row = shard.session_first) {
    drop_session(tables, row);
  }
  GCOORD_ASSERT(shard.lock_count == 0);
  shard = LockShardRow{};
}

}  // namespace gcoord::locks
