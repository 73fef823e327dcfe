#include "locks/state/delay_clock.h"

namespace gcoord::locks {
namespace {

// The first key of a shard; tokens begin at 1.
std::pair<std::uint32_t, std::uint64_t> first_of(ShardId shard) {
  return {shard.value, 0};
}

}  // namespace

bool DelayClock::on_delayed(const DelayedLock& lock, Tick now, bool led) {
  const Key key{lock.shard.value, lock.token.value};
  const std::uint64_t ticks = (std::uint64_t{lock.delay_ms} + tick_ms_ - 1) / tick_ms_ + 1;
  const Delay delay{.lock = lock, .until = now + ticks, .led = led};
  const bool added = delays_.try_emplace(key, delay).second;
  if (added && led) {
    due_.insert({delay.until.value, key});
  }
  return added;
}

void DelayClock::on_ended(ShardId shard, FencingToken token) {
  const auto found = delays_.find({shard.value, token.value});
  if (found != delays_.end()) {
    due_.erase({found->second.until.value, found->first});
    delays_.erase(found);
  }
}

void DelayClock::drop(ShardId shard) {
  auto each = delays_.lower_bound(first_of(shard));
  while (each != delays_.end() && each->first.first == shard.value) {
    due_.erase({each->second.until.value, each->first});
    each = delays_.erase(each);
  }
}

void DelayClock::on_led(ShardId shard) {
  auto each = delays_.lower_bound(first_of(shard));
  for (; each != delays_.end() && each->first.first == shard.value; ++each) {
    each->second.led = true;
    each->second.proposed = false;
    due_.insert({each->second.until.value, each->first});
  }
}

void DelayClock::on_not_led(ShardId shard) {
  auto each = delays_.lower_bound(first_of(shard));
  for (; each != delays_.end() && each->first.first == shard.value; ++each) {
    each->second.led = false;
    due_.erase({each->second.until.value, each->first});
  }
}

std::size_t DelayClock::due(Tick now, std::span<DelayedLock> out) {
  std::size_t count = 0;
  while (count < out.size() && !due_.empty() && due_.begin()->first <= now.value) {
    Delay& delay = delays_.at(due_.begin()->second);
    due_.erase(due_.begin());
    delay.proposed = true;
    out[count] = delay.lock;
    ++count;
  }
  return count;
}

void DelayClock::on_refused(ShardId shard, FencingToken token, Tick again) {
  const auto found = delays_.find({shard.value, token.value});
  if (found != delays_.end() && found->second.led && found->second.proposed) {
    found->second.proposed = false;
    found->second.until = max_id(found->second.until, again);
    due_.insert({found->second.until.value, found->first});
  }
}

Tick DelayClock::next_deadline() const {
  return due_.empty() ? kTickNever : Tick{due_.begin()->first};
}

}  // namespace gcoord::locks
