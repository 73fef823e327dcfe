// The reads of LockPart: applied state only, nothing changes.
#include "locks/cpu/part.h"
#include "locks/state/broken.h"
#include "locks/state/extra.h"
#include "locks/state/keys.h"
#include "locks/state/names.h"
#include "locks/state/requests.h"
#include "locks/state/share.h"

#include <array>

namespace gcoord::locks {
namespace {

std::string name_text(const LockTables& tables, const LockRecord& lock) {
  std::array<char, kNameBytesMax> bytes{};
  return std::string(bytes.data(), load_name(tables, name_of(tables, lock), bytes.data()));
}

std::string note_text(const LockTables& tables, NameBlockRow first) {
  std::array<char, kNameBytesMax> bytes{};
  return first.value == 0 ? std::string{}
                          : std::string(bytes.data(), load_name(tables, first, bytes.data()));
}

std::vector<HeldLock::Holder> holders_of(const LockTables& tables, const LockExtra& extra) {
  std::vector<HeldLock::Holder> holders;
  LockRow row = extra.share_first;
  for (; row.value != 0; row = share_next(tables.locks[row])) {
    const LockRecord& share = tables.locks[row];
    holders.push_back({.session = tables.sessions[share.holder].session,
                       .token = share.token,
                       .granted_at = share.granted_at,
                       .permits = share_permits(share)});
  }
  return holders;
}

}  // namespace

bool LockPart::registered(ShardId shard, SessionId session) const {
  return find_session(tables(), shard, session).value != 0;
}

bool LockPart::stands_in_line(ShardId shard, const LockCommand& acquire) const {
  const SessionRow session = find_session(tables(), shard, acquire.session);
  if (session.value == 0 || tables().sessions[session].phase != SessionPhase::Live) {
    return false;
  }
  const RequestRow row = find_request(tables(), tables().sessions[session], acquire.sequence);
  return row.value != 0 && tables().requests[row].code == LockCode::Waiting &&
         tables().requests[row].argument_hash == argument_hash(acquire);
}

bool LockPart::knows_request(ShardId shard, SessionId session, RequestSequence sequence) const {
  const SessionRow row = find_session(tables(), shard, session);
  return row.value != 0 && find_request(tables(), tables().sessions[row], sequence).value != 0;
}

HeldLock LockPart::describe(LockRow row) const {
  const LockRecord& lock = tables().locks[row];
  const SessionRecord& holder = tables().sessions[lock.holder];
  const LockExtra extra = is_marked(lock) ? load_extra(tables(), lock) : LockExtra{};
  return {.name = name_text(tables(), lock),
          .shard = lock.shard,
          .name_hash = lock.name_hash,
          .holder = holder.session,
          .token = lock.token,
          .granted_at = lock.granted_at,
          .waiter_count = lock.waiter_count,
          .holder_ttl_ms = holder.ttl_ms,
          .holder_row = lock.holder,
          .hold_count = extra.hold_count,
          .note = note_text(tables(), extra.note_first),
          .permits_limit = extra.share_count != 0 ? extra.permits_limit : 0,
          .holders = holders_of(tables(), extra)};
}

std::optional<HeldLock> LockPart::get(ShardId shard, NameHash name) const {
  const LockRow row = find_held(tables(), shard, name);
  if (row.value == 0) {
    return std::nullopt;
  }
  return describe(row);
}

std::vector<QueuedWaiter> LockPart::waiters(ShardId shard,
                                            NameHash name,
                                            const Queued& places) const {
  std::vector<QueuedWaiter> found;
  const LockRow lock = find_held(tables(), shard, name);
  RequestRow row = lock.value == 0 ? RequestRow{} : tables().locks[lock].queue_first;
  for (std::uint32_t place = 0; row.value != 0 && found.size() < places.limit; ++place) {
    const RequestRecord& waiter = tables().requests[row];
    if (place >= places.first) {
      found.push_back({.queue_place = place,
                       .session = tables().sessions[waiter.session_row].session,
                       .sequence = waiter.sequence,
                       .enqueued_at = waiter.enqueued_at,
                       .ask = unpack_ask(waiter.token.value),
                       .note = note_text(tables(), note_of(waiter))});
    }
    row = waiter.queue_next;
  }
  return found;
}

void LockPart::add_losses(SessionId session, std::vector<LostLock>& lost) const {
  for (const sessions::Registration& registration : clock().registrations_of(session)) {
    LockRow row = tables().sessions[registration.row].hold_first;
    for (std::uint32_t i = 0; i < kLossesLookedAt && row.value != 0; ++i) {
      const LockRecord& hold = tables().locks[row];
      if (is_broken(hold)) {
        std::array<char, kNameBytesMax> name{};
        const std::uint32_t bytes = load_name(tables(), lost_name(hold), name.data());
        lost.push_back({.shard = hold.shard,
                        .name = std::string(name.data(), bytes),
                        .token = hold.token,
                        .broken_at = hold.granted_at});
      }
      row = hold.hold_next;
    }
  }
}

}  // namespace gcoord::locks
