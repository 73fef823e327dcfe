#include "chaos/world/bad_moments.h"

#include "chaos/world/world.h"

#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

constexpr FaultClass kClasses[] = {FaultClass::MajorityRestart,
                                   FaultClass::TransferCut,
                                   FaultClass::RequestRepeat,
                                   FaultClass::LateCopy,
                                   FaultClass::NodeLost};

}  // namespace

BadMoments::BadMoments(World& world, Hands hands, std::uint32_t pause_tenths)
    : world_(world),
      hands_(std::move(hands)),
      pause_tenths_(pause_tenths),
      random_(world.options().seed, 5) {
  for (const FaultClass fault : kClasses) {
    if ((world.options().faults & mask_of(fault)) != 0) {
      next_us_[static_cast<std::size_t>(fault)] =
          world.now_us() + some_ms(20, 20 + pause_tenths) * 1000;
    }
  }
}

std::uint64_t BadMoments::some_ms(std::uint32_t low_tenths, std::uint32_t high_tenths) {
  return world_.options().election_ms() * random_.between(low_tenths * 10, high_tenths * 10) / 100;
}

void BadMoments::pass() {
  for (const FaultClass fault : kClasses) {
    std::uint64_t& next_us = next_us_[static_cast<std::size_t>(fault)];
    if ((world_.options().faults & mask_of(fault)) != 0 && world_.now_us() >= next_us) {
      next_us = world_.now_us() + some_ms(pause_tenths_ / 2, pause_tenths_ * 3 / 2) * 1000;
      strike(fault);
    }
  }
}

void BadMoments::strike(FaultClass fault) {
  switch (fault) {
    case FaultClass::MajorityRestart:
      return restart_majority();
    case FaultClass::TransferCut:
      return cut_transfer();
    case FaultClass::LateCopy:
      return deliver_late();
    case FaultClass::NodeLost:
      return lose_machine();
    default:
      return repeat_requests();
  }
}

// How often it happened is counted by the wire.
void BadMoments::repeat_requests() {
  world_.wire().repeat_ppm = random_.between(50'000, 500'000);
  hands_.after(some_ms(5, 30), [this] { world_.wire().repeat_ppm = 0; });
}

// Copied for a while; then nobody keeps a session alive for longer than its TTL and what may come
// upon it; then all nodes restart.
void BadMoments::deliver_late() {
  if (world_.wire().has_copies()) {
    return;
  }
  const std::uint64_t copied_ms = some_ms(5, 15);
  const std::uint64_t over_ms = copied_ms + world_.options().ttl_ms + some_ms(20, 30);
  const std::uint64_t restart_ms = over_ms + some_ms(5, 10);
  const std::uint64_t over_us = world_.now_us() + over_ms * 1000;
  world_.wire().copies_acquires = true;
  hands_.after(copied_ms, [this, over_us] { end_sessions(over_us); });
  hands_.after(over_ms, [this] {
    for (std::uint32_t index = 0; index < world_.node_count(); ++index) {
      if (hands_.idle(index)) {
        world_.node(index).engine().request_checkpoint();
      }
    }
  });
  hands_.after(restart_ms, [this] { restart_all(); });
  hands_.after(restart_ms + some_ms(20, 40), [this] {
    if (world_.wire().deliver_copies(world_.node_count(), world_.now_us()) != 0) {
      hands_.count(FaultClass::LateCopy);
    }
  });
}

void BadMoments::end_sessions(std::uint64_t until_us) {
  world_.wire().copies_acquires = false;
  for (const auto& client : world_.clients()) {
    client->fall_silent(until_us);
  }
}

void BadMoments::restart_all() {
  for (std::uint32_t index = 0; index < world_.node_count(); ++index) {
    if (hands_.idle(index)) {
      hands_.restart(index, false, random_.between(1, world_.options().tick_ms * 4));
    }
  }
}

// One at a time: the next one only when the node of the last one has left the cluster.
void BadMoments::lose_machine() {
  const std::uint32_t first = random_.below(world_.node_count());
  for (std::uint32_t k = 0; k < world_.node_count(); ++k) {
    const std::uint32_t index = (first + k) % world_.node_count();
    if (hands_.idle(index) && world_.may_lose(NodeId{index + 1})) {
      hands_.lose(index);
      return hands_.count(FaultClass::NodeLost);
    }
  }
}

// A machine that leads and that no other fault has, if there is any.
std::optional<std::uint32_t> BadMoments::pick_leader() {
  const std::uint32_t count = world_.node_count();
  const std::uint32_t first = random_.below(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t index = (first + k) % count;
    if (hands_.idle(index) && world_.node(index).engine().view().leader_count != 0) {
      return index;
    }
  }
  return std::nullopt;
}

// The leader's lease and the promises to it stand when its voters end. They come back before the
// lease is over, and must not help to elect another until it is.
void BadMoments::restart_majority() {
  const std::uint32_t count = world_.node_count();
  const auto leader = pick_leader();
  std::vector<std::uint32_t> others;
  for (std::uint32_t index = 0; leader && index < count; ++index) {
    if (index != *leader && hands_.idle(index)) {
      others.push_back(index);
    }
  }
  if (others.size() * 2 <= count) {
    return;
  }
  const std::uint64_t ms = some_ms(10, 20);
  for (std::uint32_t index = 0; index < count; ++index) {
    if (index != *leader) {
      hands_.cut_for(NodeId{*leader + 1}, NodeId{index + 1}, ms);
      hands_.cut_for(NodeId{index + 1}, NodeId{*leader + 1}, ms);
    }
  }
  for (const std::uint32_t index : others) {
    const bool power_lost = random_.below(4) == 0;
    hands_.restart(index, power_lost, random_.between(1, world_.options().tick_ms * 4));
  }
  hands_.count(FaultClass::MajorityRestart);
}

// The voters let go of their promise to a leader that orders another to take over. It hears of
// nothing any more, and soon nobody hears of it.
void BadMoments::cut_transfer() {
  const auto leader = pick_leader();
  if (!leader) {
    return;
  }
  const std::uint32_t count = world_.node_count();
  const std::uint32_t heir = (*leader + 1 + random_.below(count - 1)) % count;
  server::HostReplicas& engine = world_.node(*leader).engine();
  for (std::uint32_t shard = 0; shard < world_.options().shard_count; ++shard) {
    if (engine.view(ShardId{shard}).role == consensus::Role::Leader) {
      engine.transfer(ShardId{shard}, NodeId{heir + 1});
    }
  }
  const std::uint64_t ms = some_ms(8, 20);
  const std::uint64_t orders_ms = random_.between(10, world_.options().tick_ms * 2);
  for (std::uint32_t index = 0; index < count; ++index) {
    if (index == *leader) {
      continue;
    }
    const NodeId self{*leader + 1};
    const NodeId other{index + 1};
    hands_.cut_for(other, self, ms);
    hands_.after(orders_ms, [this, self, other, ms] { hands_.cut_for(self, other, ms); });
  }
  hands_.count(FaultClass::TransferCut);
}

}  // namespace gcoord::chaos
