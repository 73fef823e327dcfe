#include "locks/cpu/moved_locks.h"

#include "locks/state/move.h"
#include "locks/state/names.h"

#include <array>

namespace gcoord::locks {
namespace {

// As a MoveIn has it.
void append_session(const MovedSession& moved, std::string& text) {
  for (std::uint32_t k = 0; k < 8; ++k) {
    text.push_back(static_cast<char>(moved.session.value >> (8 * k)));
  }
  for (std::uint32_t k = 0; k < 4; ++k) {
    text.push_back(static_cast<char>(moved.ttl_ms >> (8 * k)));
  }
}

DepartedLock describe_departed(const LockTables& tables,
                               const LockRecord& lock,
                               const LockExtra& extra) {
  std::array<char, kNameBytesMax> name{};
  const std::uint32_t bytes = load_name(tables, name_of(tables, lock), name.data());
  NameBlock block = tables.name_blocks[extra.export_first];
  const MoveExport head = load_export(block);
  DepartedLock departed{.text = std::string(name.data(), bytes),
                        .name_bytes = static_cast<std::uint16_t>(bytes),
                        .to = extra.away_to,
                        .number = extra.move_number,
                        .token = head.token,
                        .token_last = head.token_last};
  if (head.token.value != 0) {
    append_session(head.holder, departed.text);
  }
  while (block.next != NameBlock::kEnd) {
    block = tables.name_blocks[NameBlockRow{block.next}];
    append_session(moved_of(block), departed.text);
  }
  return departed;
}

// Adds the request if it is an unclaimed place of the lock.
void add_unclaimed(const LockTables& tables,
                   LockRow lock_row,
                   RequestRow row,
                   std::vector<OrphanedWait>& places) {
  if (is_unclaimed(tables, row, lock_row)) {
    const RequestRecord& request = tables.requests[row];
    const SessionRecord& session = tables.sessions[request.session_row];
    places.push_back({.session = session.session,
                      .sequence = request.sequence,
                      .name = tables.locks[lock_row].name_hash,
                      .ttl_ms = session.ttl_ms});
  }
}

void add_unclaimed_grants(const LockTables& tables,
                          LockRow lock_row,
                          std::vector<OrphanedWait>& places) {
  RequestRow row = tables.sessions[tables.locks[lock_row].holder].request_oldest;
  for (; row.value != 0; row = tables.requests[row].next) {
    if (tables.requests[row].code == LockCode::Granted) {
      add_unclaimed(tables, lock_row, row, places);
    }
  }
}

}  // namespace

std::vector<OrphanedWait> MovedLocks::unclaimed(ShardId shard, NameHash name) const {
  std::vector<OrphanedWait> places;
  const LockRow lock_row = find_held(tables_, shard, name);
  if (lock_row.value == 0) {
    return places;
  }
  add_unclaimed_grants(tables_, lock_row, places);
  RequestRow row = tables_.locks[lock_row].queue_first;
  for (; row.value != 0; row = tables_.requests[row].queue_next) {
    add_unclaimed(tables_, lock_row, row, places);
  }
  return places;
}

std::vector<OrphanedWait> MovedLocks::unclaimed(ShardId shard) const {
  std::vector<OrphanedWait> places;
  if (find_session(tables_, shard, kKeeperSession).value == 0) {
    return places;
  }
  SessionRow session_row = tables_.shard(shard).session_first;
  for (; session_row.value != 0; session_row = tables_.sessions[session_row].shard_next) {
    const SessionRecord& session = tables_.sessions[session_row];
    bool granted = false;
    RequestRow row = session.request_oldest;
    for (; row.value != 0; row = tables_.requests[row].next) {
      const RequestRecord& request = tables_.requests[row];
      granted = granted || (import_lapses(request.sequence) && request.code == LockCode::Granted);
      if (request.code == LockCode::Waiting) {
        add_unclaimed(tables_, request.lock, row, places);
      }
    }
    LockRow held = granted ? session.hold_first : LockRow{};
    for (; held.value != 0; held = tables_.locks[held].hold_next) {
      if (!is_share(tables_.locks[held]) && !is_broken(tables_.locks[held])) {
        add_unclaimed_grants(tables_, held, places);
      }
    }
  }
  return places;
}

bool MovedLocks::still_unclaimed(ShardId shard, const OrphanedWait& place) const {
  const SessionRow session_row = find_session(tables_, shard, place.session);
  const LockRow lock_row = find_lock(tables_, shard, place.name);
  if (session_row.value == 0 || lock_row.value == 0) {
    return false;
  }
  const RequestRow row = find_request(tables_, tables_.sessions[session_row], place.sequence);
  return row.value != 0 && is_unclaimed(tables_, row, lock_row);
}

std::optional<NameResidence> MovedLocks::residence(ShardId shard, NameHash name) const {
  const LockRow row = find_lock(tables_, shard, name);
  if (row.value == 0 || !is_marked(tables_.locks[row])) {
    return std::nullopt;
  }
  const LockExtra extra = load_extra(tables_, tables_.locks[row]);
  if (extra.residence == Residence::Native) {
    return std::nullopt;
  }
  return NameResidence{.residence = extra.residence,
                       .move_number = extra.move_number,
                       .away_to = extra.away_to,
                       .departing = extra.export_first.value != 0};
}

KeptRows MovedLocks::kept(ShardId shard) const {
  const SessionRow keeper = find_session(tables_, shard, kKeeperSession);
  return keeper.value == 0 ? KeptRows{}
                           : KeptRows{.locks = tables_.sessions[keeper].hold_count, .sessions = 1};
}

std::vector<DepartedLock> MovedLocks::departed(ShardId shard) const {
  std::vector<DepartedLock> found;
  const SessionRow keeper = find_session(tables_, shard, kKeeperSession);
  LockRow row = keeper.value == 0 ? LockRow{} : tables_.sessions[keeper].hold_first;
  for (; row.value != 0; row = tables_.locks[row].hold_next) {
    const LockRecord& lock = tables_.locks[row];
    const LockExtra extra = load_extra(tables_, lock);
    if (extra.export_first.value != 0) {
      found.push_back(describe_departed(tables_, lock, extra));
    }
  }
  return found;
}

}  // namespace gcoord::locks
