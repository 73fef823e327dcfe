// What LockCpu keeps beside its tables of holds that were broken and locks in their delay.
#include "locks/cpu/lock_cpu.h"
#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/names.h"
#include "locks/state/share.h"

#include <array>

namespace gcoord::locks {

std::vector<LockCpu::BreakTarget> LockCpu::break_targets(ShardId shard,
                                                         const LockCommand& command) const {
  const LockRow row = find_held(tables_, shard, command.name_hash);
  if (row.value == 0) {
    return {};
  }
  const LockRecord& lock = tables_.locks[row];
  const LockExtra extra = is_marked(lock) ? load_extra(tables_, lock) : LockExtra{};
  if (extra.share_count == 0) {
    return {{lock.holder, lock.token}};
  }
  std::vector<BreakTarget> targets;
  for (LockRow share = extra.share_first; share.value != 0;
       share = share_next(tables_.locks[share])) {
    targets.push_back({tables_.locks[share].holder, tables_.locks[share].token});
  }
  return targets;
}

// Whoever has lost a hold, its next keep-alive says so.
void LockCpu::follow_break(const std::vector<BreakTarget>& targets,
                           ShardId shard,
                           const LockCommand& command) {
  for (const BreakTarget& target : targets) {
    if (find_broken(tables_, shard, command.name_hash, target.token).value != 0) {
      clock_.on_broken(target.session, 1);
    }
  }
}

void LockCpu::follow_force(const LockCommand& command, const LockReply& reply, ShardId shard) {
  const bool released = command.kind == LockCommandKind::Release && !reply.replayed;
  if (released && reply.code == LockCode::HoldBroken && (command.flags & kReleaseByToken) == 0) {
    clock_.on_broken(find_session(tables_, shard, command.session), -1);
  }
  // A break ends a delay too.
  if (reply.code == LockCode::DelayEnded || reply.code == LockCode::Broken) {
    delays_.on_ended(shard, reply.token);
  }
}

// The newest stand first, up to those that are known.
void LockCpu::follow_delays(SessionRow row, ShardId shard, Tick now) {
  LockRow each = delayed_first(tables_.sessions[row]);
  for (; each.value != 0; each = tables_.locks[each].hold_next) {
    const LockRecord& lock = tables_.locks[each];
    const DelayedLock delayed{
        shard, lock.name_hash, lock.token, load_extra(tables_, lock).delay_ms};
    if (!delays_.on_delayed(delayed, now, leads(shard))) {
      return;
    }
  }
}

void LockCpu::follow_restored(SessionRow row, Tick now) {
  const SessionRecord& session = tables_.sessions[row];
  follow_delays(row, session.shard, now);
  const bool delays = delayed_first(session).value != 0;
  if (delays && session.hold_first.value == 0) {
    clock_.on_delaying(row);
  }
  std::int32_t broken = 0;
  for (LockRow each = session.hold_first; each.value != 0; each = tables_.locks[each].hold_next) {
    broken += is_broken(tables_.locks[each]) ? 1 : 0;
  }
  clock_.on_broken(row, broken);
}

std::vector<LostLock> LockCpu::losses(SessionId session) const {
  std::vector<LostLock> lost;
  for (const sessions::Registration& registration : clock_.registrations_of(session)) {
    LockRow row = tables_.sessions[registration.row].hold_first;
    for (std::uint32_t i = 0; i < kLossesLookedAt && row.value != 0; ++i) {
      const LockRecord& hold = tables_.locks[row];
      if (is_broken(hold)) {
        std::array<char, kNameBytesMax> name{};
        const std::uint32_t bytes = load_name(tables_, lost_name(hold), name.data());
        lost.push_back({.shard = hold.shard,
                        .name = std::string(name.data(), bytes),
                        .token = hold.token,
                        .broken_at = hold.granted_at});
      }
      row = hold.hold_next;
    }
  }
  return lost;
}

}  // namespace gcoord::locks
