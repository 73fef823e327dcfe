// Faults of leaders at a bad moment, and of requests that come once more: those of kFaultsApart.
//
// A majority restarts while its leader is cut off and its lease stands; a leader is cut off while
// it hands its shards over. They draw from random numbers of their own, so that worlds without them
// are what they were. The nemesis lends its hands, and ends what is begun. One thread.
//
// Copies of acquires wait until their sessions are over and no node remembers that: the ends are in
// checkpoints, and all nodes have restarted.
#pragma once

#include "chaos/random/sim_random.h"
#include "chaos/world/fault_class.h"
#include "common/ids.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace gcoord::chaos {

class World;

class BadMoments {
 public:
  // Of the nemesis, which outlives this.
  struct Hands {
    // Whether the machine's node runs and no other fault has it.
    std::function<bool(std::uint32_t index)> idle;
    std::function<void(std::uint32_t index, bool power_lost, std::uint64_t after_ms)> restart;
    std::function<void(NodeId from, NodeId to, std::uint64_t ms)> cut_for;
    std::function<void(std::uint64_t ms, std::function<void()>)> after;
    std::function<void(FaultClass)> count;
    // The machine is gone for ever, with its disk.
    std::function<void(std::uint32_t index)> lose;
  };

  // Faults of a class are so many tenths of an election timeout apart, on average.
  BadMoments(World& world, Hands hands, std::uint32_t pause_tenths);

  // Begins what is due.
  void pass();

 private:
  void strike(FaultClass fault);
  std::optional<std::uint32_t> pick_leader();
  void restart_majority();
  void cut_transfer();
  void repeat_requests();
  void deliver_late();
  void end_sessions(std::uint64_t until_us);
  void restart_all();
  void lose_machine();
  std::uint64_t some_ms(std::uint32_t low_tenths, std::uint32_t high_tenths);

  World& world_;
  Hands hands_;
  std::uint32_t pause_tenths_;
  SimRandom random_;
  std::array<std::uint64_t, kFaultClassCount> next_us_{};
};

}  // namespace gcoord::chaos
