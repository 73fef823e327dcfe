#include "server/sessions/gathered_ends.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gcoord::server {

namespace {

// A client renews after a third of the TTL, so those that die at once run out within a third.
constexpr std::uint64_t kRenewalsPerTtl = 3;

// Two ticks, because nodes round times to ticks.
constexpr std::uint64_t kSettleTicksMin = 2;
constexpr std::uint64_t kSettlesPerTtl = 20;

// Of the time until a group is looked at again: 1.6 seconds.
constexpr std::uint64_t kRecheckFactorMax = 32;

std::uint64_t settle_ticks(const DoubtedMember& member, std::uint64_t settle_ticks_max) {
  return std::clamp(member.ttl_ticks / kSettlesPerTtl,
                    kSettleTicksMin,
                    std::max(kSettleTicksMin, settle_ticks_max));
}

std::uint64_t window_ticks(const DoubtedMember& member, std::uint64_t settle_ticks_max) {
  return member.ttl_ticks / kRenewalsPerTtl + settle_ticks(member, settle_ticks_max);
}

bool is_due(const DoubtedMember& member) {
  return member.silent_ticks >= member.needed_ticks;
}

// Ticks since it was due.
std::uint64_t overdue(const DoubtedMember& member) {
  return member.silent_ticks - member.needed_ticks;
}

// How long the window stays open that the first one due has opened; none: there is none. Who is due
// for longer than a window lasts opens none: other nodes still hear it, so it may stay for ever.
std::optional<std::uint64_t> open_for(std::span<const DoubtedMember> doubted,
                                      std::uint64_t settle_ticks_max) {
  std::optional<std::uint64_t> left;
  for (const DoubtedMember& each : doubted) {
    const std::uint64_t window = window_ticks(each, settle_ticks_max);
    if (is_due(each) && overdue(each) <= window) {
      left = std::min(left.value_or(window), window - overdue(each));
    }
  }
  return left;
}

// Whether somebody may wait for what the session holds or waits for in the view's shard; `row` is
// one of its tables.
bool has_locks(const locks::LockTables& tables, locks::SessionRow row) {
  const locks::SessionRecord& session = tables.sessions[row];
  bool any = session.hold_count != 0;
  locks::RequestRow request = session.request_oldest;
  for (std::uint32_t i = 0; !any && i < session.request_count; ++i) {
    any = tables.requests[request].waits();
    request = tables.requests[request].next;
  }
  return any;
}

bool has_locks(const locks::LockCpu& locks, const sessions::ExpiryProposal& due) {
  const locks::LockView view = locks.view(due.shard);
  return has_locks(view.tables(), view.row(due.row));
}

}  // namespace

std::uint64_t gather_ticks(std::span<const DoubtedMember> doubted, std::uint64_t settle_ticks_max) {
  const auto window = open_for(doubted, settle_ticks_max);
  if (!window) {
    return 0;
  }
  std::size_t gathered = 0;
  std::uint64_t wait = 0;
  for (const DoubtedMember& each : doubted) {
    const std::uint64_t settle = settle_ticks(each, settle_ticks_max);
    if (!is_due(each)) {
      const std::uint64_t ready = each.needed_ticks - each.silent_ticks + settle;
      if (ready <= *window) {
        ++gathered;
        wait = std::max(wait, ready);
      }
    } else if (overdue(each) <= window_ticks(each, settle_ticks_max)) {
      ++gathered;
      wait = std::max(wait, std::min(settle - std::min(settle, overdue(each)), *window));
    }
  }
  return gathered < 2 ? 0 : wait;
}

GatheredEnds::GatheredEnds(locks::LockCpu& locks, MetricsRegistry& metrics, Environment environment)
    : locks_(locks), environment_(std::move(environment)) {
  waits_ = &metrics.counter({"gcoord_server_session_ends_gathered_total",
                             "Times that the expiry of a group's member waited for that of others.",
                             "",
                             ""});
}

Tick GatheredEnds::look_again(const sessions::ExpiryProposal& due, Tick now) {
  groups_.clear();
  if (environment_.groups.of_session) {
    environment_.groups.of_session(due.shard, due.session, groups_);
  }
  if (groups_.empty() || has_locks(locks_, due)) {
    return now;
  }
  std::uint64_t wait = 0;
  for (const std::uint32_t group : groups_) {
    wait = std::max(wait, wait_ticks(due.shard, group, now));
  }
  if (wait == 0) {
    return now;
  }
  // The window of another member may have been open for longer than this one is due, but never
  // shall this one wait for longer than a window of its own.
  const std::uint32_t ttl_ms = locks_.clock().ttl_ms(due.row);
  const DoubtedMember self{.ttl_ticks = ttl_ms / environment_.tick_ms,
                           .needed_ticks = environment_.silence_needed(ttl_ms),
                           .silent_ticks = locks_.clock().silent_ticks(due.row, now)};
  const std::uint64_t own = window_ticks(self, kGatherSettleMsMax / environment_.tick_ms);
  if (!is_due(self) || overdue(self) >= own) {
    return now;
  }
  waits_->add();
  return now + std::min({wait, recheck_ticks(), own - overdue(self)});
}

std::uint64_t GatheredEnds::recheck_ticks() const {
  return recheck_factor_ * std::max<std::uint64_t>(1, kGatherRecheckMs / environment_.tick_ms);
}

// Who is looked at comes in the order of shards. So as long as some are left out, the others come
// again less often, until all have their turn.
void GatheredEnds::begin_tick(Tick now) {
  if (known_at_ == now) {
    return;
  }
  recheck_factor_ = crowded_ ? std::min(2 * recheck_factor_, kRecheckFactorMax)
                             : std::max<std::uint64_t>(1, recheck_factor_ / 2);
  waits_by_group_.clear();
  looks_ = 0;
  crowded_ = false;
  known_at_ = now;
}

std::uint64_t GatheredEnds::wait_ticks(ShardId shard, std::uint32_t group, Tick now) {
  begin_tick(now);
  const auto known = waits_by_group_.find(group);
  if (known != waits_by_group_.end()) {
    return known->second;
  }
  if (looks_ >= kGatherLooksPerTick) {
    crowded_ = true;
    return 1;
  }
  find_doubted(shard, group, now);
  const std::uint64_t wait = gather_ticks(doubted_, kGatherSettleMsMax / environment_.tick_ms);
  waits_by_group_.emplace(group, wait);
  return wait;
}

void GatheredEnds::find_doubted(ShardId shard, std::uint32_t group, Tick now) {
  members_.clear();
  doubted_.clear();
  environment_.groups.members(group, members_);
  looks_ += members_.size();
  const locks::LockView view = locks_.view(shard);
  const locks::NodeClock& clock = locks_.clock();
  for (const SessionId session : members_) {
    const locks::SessionRow inside = locks::find_session(view.tables(), shard, session);
    const locks::SessionRow row = view.outside(inside);
    if (row.value == 0 || clock.dying(row) || clock.proposed(row)) {
      continue;
    }
    const std::uint32_t ttl_ms = clock.ttl_ms(row);
    const DoubtedMember member{.ttl_ticks = ttl_ms / environment_.tick_ms,
                               .needed_ticks = environment_.silence_needed(ttl_ms),
                               .silent_ticks = clock.silent_ticks(row, now)};
    if (2 * member.silent_ticks >= member.ttl_ticks && !has_locks(view.tables(), inside)) {
      doubted_.push_back(member);
    }
  }
}

}  // namespace gcoord::server
