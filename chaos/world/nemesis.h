// Fault injector of a simulated world: it draws faults of the enabled classes, with times and
// targets from the seed, ends them again, and counts each that took effect.
//
// A fault that needs an opportunity (a node that runs, a bit to flip) counts only when it struck.
// One thread.
#pragma once

#include "chaos/disks/world_disk.h"
#include "chaos/random/sim_random.h"
#include "chaos/world/bad_moments.h"
#include "chaos/world/fault_class.h"
#include "chaos/world/power_count.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/power_supply.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class World;
class WorldNode;

class Nemesis {
 public:
  Nemesis(World& world, FaultCounts& counts, PowerCounts& power);

  // Ends what is over and begins what is due.
  void pass();

  // A node's process is about to end: what it promised is noted, if it is on its own disk.
  void note(std::uint32_t index);

  // A node ended by itself, as it must when its disk fails or its peers refuse it.
  void on_node_failed(std::uint32_t index, const Status& failure);

  // A machine more, whose node joins; it has a disk that is new, and there is none before.
  void add_machine(std::uint32_t index);

  // After the node's pass: whether its power went in it (WorldOptions::cuts_power).
  void look_at_power(std::uint32_t index);

  // Ends everything: all machines are whole, all nodes run, all links work.
  void heal();

  // Why a node ended or did not start the last time, if it ever did.
  const std::string& why_down(std::uint32_t index) const { return machines_[index].why_down; }

  // Adds what the network and the clients' wire counted themselves. Once, at the end.
  void count_messages();

 private:
  // A node that must not be touched by another fault of machines meanwhile.
  struct Machine {
    bool busy = false;
    bool absent = false;                   // Not there yet, or gone for ever.
    std::unique_ptr<WorldDisk> true_disk;  // While another one is in its place.
    std::unique_ptr<WorldDisk> old_disk;   // As it was at some earlier crash.
    std::string why_down;                  // The last reason.
    std::uint32_t lives_at_old = 0;
    bool forgot = false;                  // Memory mode: until it votes everywhere again.
    std::optional<FaultClass> of_device;  // Injected and not found yet.
  };

  void strike(FaultClass fault);
  void strike_machine(FaultClass fault);
  void strike_disk(FaultClass fault, WorldNode& node);
  void strike_device(FaultClass fault);
  void settle_device(std::uint32_t index, const Status& failure);
  void strike_links(FaultClass fault);
  void strike_messages(FaultClass fault);
  void strike_clients(FaultClass fault);
  void pause_client(std::uint32_t chosen);
  void stop_client(std::uint32_t chosen, std::uint64_t length_ms, std::uint32_t waits);

  void count(FaultClass fault);
  void tell(std::uint32_t index, const std::string& what) const;

  void after(std::uint64_t delay_ms, std::function<void()> act);
  std::uint64_t some_ms(std::uint32_t low_tenths, std::uint32_t high_tenths);
  bool idle(std::uint32_t index) const;
  bool may_forget();
  bool pick_machine(std::uint32_t& index);
  void stop(std::uint32_t index, bool power_lost);
  void start(std::uint32_t index);
  void restart_later(std::uint32_t index, std::uint64_t delay_ms);
  void lose_power_of_all();
  void on_removed(std::uint32_t index);
  void flip_bit(std::uint32_t index);
  void bring_disk(std::uint32_t index, FaultClass fault);
  void intrude(std::uint32_t index, FaultClass fault, std::unique_ptr<WorldDisk> disk);
  void bring_true_disk(std::uint32_t index);
  void miss_snapshot(std::uint32_t index);
  void partition();
  void swizzle();
  void cut_for(NodeId from, NodeId to, std::uint64_t ms);
  void watch_memory();

  // nemesis_power.cc: losses of power between two operations.
  void pass_power();
  void plan_cut();
  void cut_in_recovery(std::uint32_t index);
  void count_cut(const ledger::PowerSupply& power);
  bool all_up();

  World& world_;
  FaultCounts& counts_;
  SimRandom random_;
  BadMoments bad_moments_;
  std::array<std::uint64_t, kFaultClassCount> next_us_{};
  std::multimap<std::uint64_t, std::function<void()>> later_;
  std::vector<Machine> machines_;
  PowerCounts& power_;
  std::shared_ptr<ledger::PowerSupply> cut_;  // That is planned, and has not struck.
  bool cut_of_all_ = false;
  std::uint64_t next_cut_us_ = 0;  // 0: not all is up since the last one.
  bool healed_ = false;
};

}  // namespace gcoord::chaos
