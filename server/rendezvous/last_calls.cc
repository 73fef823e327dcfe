#include "server/rendezvous/last_calls.h"

#include <iterator>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kAgainMs = 1'000;

}  // namespace

void LastCalls::update(const Spot& at, const membership::Rendezvous* rendezvous, Tick now) {
  const Key key{at.shard.value, at.name.low, at.name.high};
  const std::uint64_t number = rendezvous == nullptr ? 0 : rendezvous->call;
  const auto found = calls_.find(key);
  if (number == 0) {
    if (found != calls_.end()) {
      calls_.erase(found);
    }
    return;
  }
  if (found != calls_.end() && found->second.number == number) {
    return;
  }
  const Tick due = now + (rendezvous->bounds.last_call_ms / tick_ms_ + 1);
  calls_.insert_or_assign(key, Call{at, number, due});
  next_deadline_ = min_id(next_deadline_, due);
}

void LastCalls::reset(ShardId shard, const membership::RendezvousTable& table, Tick now) {
  calls_.erase(calls_.lower_bound(Key{shard.value, 0, 0}),
               calls_.lower_bound(Key{shard.value + 1, 0, 0}));
  if (const auto* const names = table.of_shard(shard)) {
    for (const auto& [key, each] : *names) {
      update({shard, {key.first, key.second}}, &each, now);
    }
  }
}

std::vector<LastCalls::Call> LastCalls::take_due(Tick now) {
  std::vector<Call> due;
  if (next_deadline_ > now) {
    return due;
  }
  next_deadline_ = kTickNever;
  for (auto& [key, call] : calls_) {
    if (call.due <= now) {
      due.push_back(call);
      call.due = now + (kAgainMs / tick_ms_ + 1);
    }
    next_deadline_ = min_id(next_deadline_, call.due);
  }
  return due;
}

void LastCalls::retry(ShardId shard, std::uint64_t number, Tick at) {
  for (auto each = calls_.lower_bound(Key{shard.value, 0, 0});
       each != calls_.end() && std::get<0>(each->first) == shard.value;
       ++each) {
    if (each->second.number == number) {
      each->second.due = at;
      next_deadline_ = min_id(next_deadline_, at);
    }
  }
}

}  // namespace gcoord::server
