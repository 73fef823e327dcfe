// When faults strike, and what ends them. What they do to machines is in nemesis_machines.cc.
#include "chaos/world/nemesis.h"

#include "chaos/world/world.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

namespace gcoord::chaos {
namespace {

bool has(FaultMask mask, FaultClass fault) {
  return (mask & mask_of(fault)) != 0;
}

// How often, a tick apart, a client that is to stand still is looked at for a lock: two seconds.
constexpr std::uint32_t kHoldWaits = 40;

// Many classes strike each more rarely, so that the world is never only in ruins.
std::uint32_t pause_tenths(FaultMask faults) {
  return static_cast<std::uint32_t>(std::clamp(std::popcount(faults & ~kFaultsApart), 3, 16)) * 10;
}

// Those that this class draws.
FaultMask own_faults(const World& world) {
  return world.options().faults & ~kFaultsApart;
}

}  // namespace

Nemesis::Nemesis(World& world, FaultCounts& counts, PowerCounts& power)
    : world_(world),
      counts_(counts),
      random_(world.options().seed, 4),
      bad_moments_(
          world,
          {.idle = [this](std::uint32_t index) { return idle(index); },
           .restart =
               [this](std::uint32_t index, bool power_lost, std::uint64_t ms) {
                 if (!healed_) {
                   stop(index, power_lost);
                   restart_later(index, ms);
                 }
               },
           .cut_for = [this](NodeId from, NodeId to, std::uint64_t ms) { cut_for(from, to, ms); },
           .after = [this](std::uint64_t ms,
                           std::function<void()> act) { after(ms, std::move(act)); },
           .count = [this](FaultClass fault) { count(fault); },
           .lose =
               [this](std::uint32_t index) {
                 stop(index, true);
                 machines_[index].absent = true;
                 machines_[index].old_disk = nullptr;
                 world_.note_lost(NodeId{index + 1});
                 tell(index, "is gone for ever");
               }},
          pause_tenths(world.options().faults)),
      machines_(world.node_count()),
      power_(power) {
  const std::uint32_t tenths = pause_tenths(world.options().faults);
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    // The cluster gets two election timeouts to begin with. What only some worlds have draws
    // nothing in the others.
    if (k < kFaultClassesDrawn || has(own_faults(world), static_cast<FaultClass>(k))) {
      next_us_[k] = world.now_us() + some_ms(20, 20 + tenths) * 1000;
    }
  }
}

std::uint64_t Nemesis::some_ms(std::uint32_t low_tenths, std::uint32_t high_tenths) {
  return world_.options().election_ms() * random_.between(low_tenths * 10, high_tenths * 10) / 100;
}

void Nemesis::after(std::uint64_t delay_ms, std::function<void()> act) {
  later_.emplace(world_.now_us() + delay_ms * 1000, std::move(act));
}

void Nemesis::pass() {
  while (!later_.empty() && later_.begin()->first <= world_.now_us()) {
    const auto act = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    act();
  }
  watch_memory();
  if (healed_) {
    return;
  }
  if (world_.options().cuts_power) {
    return pass_power();
  }
  bad_moments_.pass();
  const std::uint32_t tenths = pause_tenths(world_.options().faults);
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    const auto fault = static_cast<FaultClass>(k);
    if (has(own_faults(world_), fault) && world_.now_us() >= next_us_[k]) {
      next_us_[k] = world_.now_us() + some_ms(tenths / 2, tenths * 3 / 2) * 1000;
      strike(fault);
    }
  }
}

void Nemesis::count(FaultClass fault) {
  ++counts_[static_cast<std::size_t>(fault)];
  if (world_.options().tells) {
    std::fprintf(stderr,
                 "%10.3f s  %s\n",
                 static_cast<double>(world_.now_us()) / 1e6,
                 fault_class_name(fault));
  }
}

void Nemesis::tell(std::uint32_t index, const std::string& what) const {
  if (world_.options().tells) {
    std::fprintf(stderr,
                 "%10.3f s  node %u: %s\n",
                 static_cast<double>(world_.now_us()) / 1e6,
                 index + 1,
                 what.c_str());
  }
}

void Nemesis::strike(FaultClass fault) {
  if (fault == FaultClass::LockMove) {
    return strike_clients(fault);
  }
  if (fault >= FaultClass::DeviceFlip) {
    return strike_device(fault);
  }
  if (fault <= FaultClass::SlowDisk) {
    return strike_machine(fault);
  }
  if (fault <= FaultClass::Swizzle) {
    return strike_links(fault);
  }
  if (fault <= FaultClass::Corrupt) {
    return strike_messages(fault);
  }
  const bool of_clients = fault == FaultClass::PauseClient ||
                          (fault > FaultClass::OldDisk && fault != FaultClass::Snapshot);
  of_clients ? strike_clients(fault) : strike_machine(fault);
}

void Nemesis::cut_for(NodeId from, NodeId to, std::uint64_t ms) {
  if (healed_) {
    return;
  }
  world_.network().cut(from, to);
  after(ms, [this, from, to] { world_.network().heal(from, to); });
}

void Nemesis::partition() {
  const std::uint32_t nodes = world_.node_count();
  const std::uint32_t sides = 1 + random_.below((1u << nodes) - 2);  // Neither side is empty.
  const std::uint64_t ms = some_ms(5, 40);
  for (std::uint32_t a = 0; a < nodes; ++a) {
    for (std::uint32_t b = 0; b < nodes; ++b) {
      if ((sides >> a & 1u) != (sides >> b & 1u)) {
        cut_for(NodeId{a + 1}, NodeId{b + 1}, ms);
      }
    }
  }
}

// All links of one node go one by one, and come back in an order of their own.
void Nemesis::swizzle() {
  const NodeId node{1 + random_.below(world_.node_count())};
  for (std::uint32_t other = 1; other <= world_.node_count(); ++other) {
    if (NodeId{other} == node) {
      continue;
    }
    const std::uint64_t end_ms = some_ms(20, 40);
    after(some_ms(0, 15), [this, node, other, end_ms] {
      cut_for(node, NodeId{other}, end_ms);
      cut_for(NodeId{other}, node, end_ms);
    });
  }
}

void Nemesis::strike_links(FaultClass fault) {
  const std::uint32_t nodes = world_.node_count();
  const std::uint32_t a = random_.below(nodes);
  const std::uint32_t b = (a + 1 + random_.below(nodes - 1)) % nodes;
  const std::uint64_t ms = some_ms(5, 40);
  count(fault);
  switch (fault) {
    case FaultClass::Partition:
      return partition();
    case FaultClass::Swizzle:
      return swizzle();
    case FaultClass::Partial:
      cut_for(NodeId{b + 1}, NodeId{a + 1}, ms);
      [[fallthrough]];
    default:
      cut_for(NodeId{a + 1}, NodeId{b + 1}, ms);
  }
}

// For a while every link misbehaves; how often it did is counted by the network.
void Nemesis::strike_messages(FaultClass fault) {
  netcore::SimulatedLinkOptions options{.delay_ticks_min = 1, .delay_ticks_max = 12};
  switch (fault) {
    case FaultClass::Loss:
      options.loss_ppm = random_.between(10'000, 250'000);
      break;
    case FaultClass::Duplicate:
      options.duplicate_ppm = random_.between(10'000, 300'000);
      break;
    case FaultClass::Corrupt:
      options.corrupt_ppm = random_.between(1'000, 30'000);
      break;
    case FaultClass::Delay:
      options.delay_ticks_min = 20;
      options.delay_ticks_max = 20 + random_.below(world_.options().tick_ms * 8);
      // Between clients and nodes far more, up to an election timeout or so each way: a lease that
      // was counted from the receipt of an answer must show.
      world_.wire().delay_us_max = options.delay_ticks_max * 5'000;
      count(fault);
      break;
    default:
      options.delay_ticks_max = world_.options().tick_ms * 4;
      break;
  }
  world_.network().set_defaults(options);
  after(some_ms(5, 30), [this] {
    world_.network().set_defaults({.delay_ticks_min = 1, .delay_ticks_max = 12});
    world_.wire().delay_us_max = ClientWire::kDelayUsMax;
  });
}

void Nemesis::strike_clients(FaultClass fault) {
  auto& clients = world_.clients();
  const std::uint64_t ttl_ms = world_.options().ttl_ms;
  const std::uint64_t end_us = world_.now_us() + (ttl_ms + some_ms(1, 20)) * 1000;
  const std::size_t chosen = random_.below(static_cast<std::uint32_t>(clients.size()));
  switch (fault) {
    case FaultClass::PauseClient:
      return pause_client(static_cast<std::uint32_t>(chosen));
    case FaultClass::WaiterHerd: {
      const std::string key = "key/" + std::to_string(random_.below(world_.options().key_count));
      for (const auto& client : clients) {
        client->join_herd(key, end_us);
      }
      return count(fault);
    }
    case FaultClass::LeaseStorm:
      for (const auto& client : clients) {
        client->fall_silent(end_us);
      }
      return count(fault);
    case FaultClass::Abandon:
      clients[chosen]->fall_silent(end_us);
      return count(fault);
    case FaultClass::LockMove:
      for (const auto& client : clients) {
        client->move_locks(end_us);
      }
      return;
    case FaultClass::ClientRetry:
      world_.wire().reply_loss_ppm = random_.between(50'000, 500'000);
      return after(some_ms(5, 30), [this] { world_.wire().reply_loss_ppm = 0; });
    case FaultClass::ClientLoss:
      world_.wire().request_loss_ppm = random_.between(50'000, 500'000);
      return after(some_ms(5, 30), [this] { world_.wire().request_loss_ppm = 0; });
    default:
      return;
  }
}

// A client stands still. Half of them were told late before: whoever counts a lease from when an
// answer came, and not from when it asked, thinks that it is still the holder.
void Nemesis::pause_client(std::uint32_t chosen) {
  const std::uint64_t ttl_ms = world_.options().ttl_ms;
  std::uint64_t delay_ms = 0;
  if (random_.below(2) == 0) {
    delay_ms = ttl_ms / 2;
    world_.wire().tell_late(chosen, world_.now_us() + delay_ms * 1000);
  }
  const std::uint64_t length_ms =
      ttl_ms / 4 + random_.below(static_cast<std::uint32_t>(ttl_ms * 2));
  after(delay_ms, [this, chosen, length_ms] { stop_client(chosen, length_ms, kHoldWaits); });
}

// At the worst moment, if it comes soon: while it holds a lock.
void Nemesis::stop_client(std::uint32_t chosen, std::uint64_t length_ms, std::uint32_t waits) {
  WorldClient& client = *world_.clients()[chosen];
  if (healed_ || client.paused()) {
    return;
  }
  if (!client.holds() && waits > 0) {
    return after(world_.options().tick_ms,
                 [this, chosen, length_ms, waits] { stop_client(chosen, length_ms, waits - 1); });
  }
  client.set_paused(true);
  after(length_ms, [this, chosen] { world_.clients()[chosen]->set_paused(false); });
  count(FaultClass::PauseClient);
}

void Nemesis::count_messages() {
  const netcore::SimulatedCounts& counts = world_.network().counts();
  const auto set = [this](FaultClass fault, std::uint64_t value) {
    counts_[static_cast<std::size_t>(fault)] = value;
  };
  set(FaultClass::Loss, counts.lost);
  set(FaultClass::Duplicate, counts.duplicated);
  set(FaultClass::Reorder, counts.reordered);
  set(FaultClass::Corrupt, counts.corrupted);
  set(FaultClass::ClientRetry, world_.wire().replies_lost);
  set(FaultClass::ClientLoss, world_.wire().requests_lost);
  set(FaultClass::RequestRepeat, world_.wire().requests_repeated);
  std::uint64_t moves = 0;
  for (const auto& client : world_.clients()) {
    moves += client->moves();
  }
  set(FaultClass::LockMove, moves);
  power_[static_cast<std::size_t>(PowerCount::ShardsCompared)] = world_.audit().compared();
}

void Nemesis::heal() {
  healed_ = true;
  // What is planned ends its fault; what would begin one looks at healed_.
  for (auto& [due, act] : std::exchange(later_, {})) {
    act();
  }
  later_.clear();
  world_.network().heal_all();
  // In order from now on, as a connection that stands delivers: what is overtaken is lost, and a
  // bound on convergence holds where nothing is lost any more.
  world_.network().set_defaults({.delay_ticks_min = 4, .delay_ticks_max = 4});
  world_.wire().request_loss_ppm = world_.wire().reply_loss_ppm = world_.wire().repeat_ppm = 0;
  world_.wire().delay_us_max = ClientWire::kDelayUsMax;
  for (const auto& client : world_.clients()) {
    client->set_paused(false);
  }
  for (std::uint32_t index = 0; index < machines_.size(); ++index) {
    WorldNode& node = world_.node(index);
    node.set_disk_delay_ms(0);
    node.set_paused(false);
    machines_[index].busy = false;
    node.inject_device({});
    if (machines_[index].true_disk != nullptr) {
      node.stop();
      node.swap_disk(std::move(machines_[index].true_disk));
    }
    node.disk().set_full(false);
    node.disk().fail_writes(false);
    node.disk().log.fail_syncs(false);
    if (cut_ != nullptr) {
      cut_->restore();
    }
    if (!node.running()) {
      start(index);
    }
  }
}

}  // namespace gcoord::chaos
