// The clock of a node whose turn runs on a device: ticks, heartbeats, liveness, and the word to
// leave.
//
// What: one group per node reads the time, turns it into a tick, takes in the peers' liveness
// words, pushes its own, and publishes the input of every step until the next reading (TurnClock).
// The step itself sees no clock. Why a group of its own: a stripe that is busy with rows must not
// make the node look dead, and an idle one must not pay for looking at every peer. Contract: one
// group, one call at a time; the time never falls. Memory orders: readings.h.
// Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "common/incarnation.h"
#include "netcore/gpu_channel/device.h"
#include "netcore/memory/order.h"
#include "server/device_turn/readings.h"
#include "server/device_turn/view.h"

#include <cstdint>

namespace gcoord::server {

// What the owner decides once for a node's life.
struct TurnTiming {
  std::uint64_t tick_ns = 1'000'000;
  std::uint32_t heartbeat_ticks = 1;
  consensus::Timing timing;
  consensus::StepLimits limits;
  Incarnation incarnation{1};
  std::uint64_t seed = 1;
  Tick vote_after;  // See StepInput.
  // See StepInput. 0: the host makes durable what it is told to store.
  std::uint32_t stored_at_once = 1;
  std::uint64_t life_ns = 0;  // The node leaves so long after its start at the latest; 0: never.
  // What keeps the promises of rows. In memory mode every start is a life of its own.
  consensus::Durability durability = consensus::Durability::Durable;
  // The node falls silent while its host's word (TurnControl::host) has stood still for so long:
  // whoever cannot answer clients or store what is decided must not lead. 0: nobody watches.
  std::uint64_t host_patience_ns = 0;
  // 1: whoever drives the turn reads the time after whatever lies in the clients' rings was pushed,
  // so a reading is never older than a read that it serves. 0: nobody does, and a row asks the
  // clock of the device whether the reading's tick is over before it answers under a lease.
  std::uint32_t reads_before_readings = 0;
};

// A liveness word as consensus understands it.
GCOORD_HD inline consensus::Heartbeat heartbeat_of(const netcore::Heartbeat& word) {
  return {word.incarnation, word.echoed_incarnation, word.send_tick, word.echoed_peer_send_tick};
}

template <typename Service>
class NodeClock {
 public:
  GCOORD_HD NodeClock(const TurnNode<Service>& node, const TurnTiming& timing)
      : node_(node), timing_(timing) {}

  // One reading at `now_ns`. False: the node is to leave, and every stripe will be told.
  GCOORD_HD bool read(std::uint64_t now_ns) {
    std::uint32_t publish = 0;
    if (warp_rank() == 0) {
      publish = advance(now_ns) ? 1 : 0;
    }
    warp_sync();
    push_heartbeats();
    publish = warp_broadcast(publish, 0);
    if (publish != 0 && warp_rank() == 0) {
      publish_reading();
    }
    warp_sync();
    return state().leave == 0;
  }

 private:
  GCOORD_HD ClockState& state() const { return *node_.clock_state; }

  // By one member. Whether there is something new for the stripes.
  GCOORD_HD bool advance(std::uint64_t now_ns) {
    ClockState& s = state();
    const bool first = s.start_ns == 0;
    if (first) {
      start(now_ns);
    }
    ++s.readings;
    const Tick tick{1 + (now_ns - s.start_ns) / timing_.tick_ns};
    const bool ticked = tick > s.tick || first;
    s.tick = max_id(s.tick, tick);
    bool changed = hear(now_ns, ticked);
    const std::uint64_t asked = netcore::SystemOrder::peek(node_.control->wakes);
    changed = changed || asked != s.wakes_seen;
    s.wakes_seen = asked;
    s.wakes += changed ? 1 : 0;
    watch_host(now_ns);
    const bool overdue = timing_.life_ns != 0 && now_ns - s.start_ns >= timing_.life_ns;
    s.leave = overdue || netcore::SystemOrder::peek(node_.control->abort) != 0 ? 1 : 0;
    return ticked || changed || s.leave != 0;
  }

  GCOORD_HD void start(std::uint64_t now_ns) {
    ClockState& s = state();
    s.start_ns = now_ns;
    s.tick = Tick{1};
    s.beat = Tick{1};
    s.wakes = 1;
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      s.peer[p].node = node_.peer[p];
      s.peer[p].lives_by_start = timing_.durability == consensus::Durability::Memory ? 1 : 0;
    }
  }

  GCOORD_HD void watch_host(std::uint64_t now_ns) {
    ClockState& s = state();
    const std::uint64_t word = netcore::SystemOrder::peek(node_.control->host);
    if (word != s.host || s.host_ns == 0) {
      s.host = word;
      s.host_ns = now_ns;
    }
    silent_ = timing_.host_patience_ns != 0 && now_ns - s.host_ns >= timing_.host_patience_ns;
  }

  // Takes in liveness words, and notices silence once per tick. Whether a peer came or went.
  GCOORD_HD bool hear(std::uint64_t now_ns, bool ticked) {
    ClockState& s = state();
    bool changed = false;
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      auto change = consensus::LivenessChange::None;
      netcore::Heartbeat word;
      if (netcore::pull_heartbeat(node_.channel[p], word, s.heard[p])) {
        change = consensus::on_heartbeat(
            s.peer[p], heartbeat_of(word), timing_.incarnation, s.tick, timing_.timing);
      }
      if (change == consensus::LivenessChange::None && ticked) {
        change = consensus::refresh(s.peer[p], s.tick, timing_.timing);
      }
      if (change == consensus::LivenessChange::Lost) {
        s.lost_ns[p] = now_ns;
      } else if (change == consensus::LivenessChange::Returned) {
        s.returned_ns[p] = now_ns;
      }
      changed = changed || change != consensus::LivenessChange::None;
    }
    return changed;
  }

  // By the whole group.
  GCOORD_HD void push_heartbeats() {
    ClockState& s = state();
    if (s.tick < s.beat || warp_broadcast(silent_ ? 1u : 0u, 0) != 0) {
      return;
    }
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      netcore::Heartbeat word;
      word.incarnation = timing_.incarnation;
      word.send_tick = s.tick;
      word.echoed_peer_send_tick = s.peer[p].peer_tick;
      word.echoed_incarnation = s.peer[p].incarnation;
      netcore::push_heartbeat(node_.channel[p], word, s.sequence + 1);
    }
    warp_sync();
    if (warp_rank() == 0) {
      ++s.sequence;
      s.beat = s.tick + timing_.heartbeat_ticks;
    }
    warp_sync();
  }

  // By one member.
  GCOORD_HD void publish_reading() {
    const ClockState& s = state();
    TurnClock& clock = *node_.clock;
    const std::uint64_t version = netcore::SystemOrder::own(clock.version) + 1;
    before_overwrite();  // Pairs with copy_newest()'s second look.
    TurnInput& reading = clock.input[version % kTurnInputs];
    reading.input.tick = s.tick;
    reading.input.seed = timing_.seed;
    reading.input.self = node_.self;
    reading.input.vote_after = timing_.vote_after;
    reading.input.timing = timing_.timing;
    reading.input.limits = timing_.limits;
    reading.input.stored_at_once = timing_.stored_at_once;
    reading.input.decided_at_once = 1;
    reading.input.incarnation = timing_.incarnation;
    reading.input.durability = timing_.durability;
    reading.input.peer = nullptr;
    reading.input.peer_count = kPeersOf<Service>;
    bool replaced = generation_of(timing_.incarnation) != 0;
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      reading.peer[p] = s.peer[p];
      replaced = replaced || generation_of(s.peer[p].incarnation) != 0;
    }
    reading.input.lives_end = replaced ? 1 : 0;
    reading.wakes = s.wakes;
    reading.leave = s.leave;
    reading.tick_end_ns = timing_.reads_before_readings != 0
                              ? ~std::uint64_t{0}
                              : s.start_ns + s.tick.value * timing_.tick_ns;
    reading.order = netcore::SystemOrder::peek(node_.control->order);
    // Pairs with copy_newest().
    netcore::SystemOrder::publish(clock.version, version);
  }

  const TurnNode<Service>& node_;
  TurnTiming timing_;
  bool silent_ = false;  // Of the member that reads.
};

}  // namespace gcoord::server
