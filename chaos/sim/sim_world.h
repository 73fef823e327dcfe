// A whole simulated cluster under load and faults, then healed: one seed decides all of it.
//
// Phase one draws faults and load tick by tick; phase two heals everything and demands convergence:
// every shard has one leader, and all voters of its configuration applied the same prefix, in
// bounded time. Safety is judged throughout.
#pragma once

#include "chaos/sim/sim_node.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct SimResult {
  std::string violation;      // Empty: every invariant held and the cluster converged.
  std::uint64_t digest = 0;   // Equal for equal seeds, bit for bit.
  std::uint64_t applied = 0;  // Distinct (shard, index) decided and applied.
  std::uint64_t elections = 0;
  std::uint64_t messages = 0;
  SimCounts counts;
};

class SimWorld {
 public:
  explicit SimWorld(const SimOptions& options);

  SimResult run();

 private:
  struct Process {
    std::unique_ptr<SimNode> node;
    std::uint32_t starts = 0;
    std::uint32_t generation = 0;
    bool rejoining = false;
    std::optional<SimDisk> image;
    consensus::MembersTarget target;  // As far as the node has heard of it; outlives its lives.
    std::uint64_t target_number = 0;
    std::uint64_t paused_until = 0;
    std::uint64_t down_until = 0;
  };

  void boot(std::uint32_t k);
  void crash(std::uint32_t k);
  void draw_disk_faults();
  void replace_disk(std::uint32_t k, const SimDisk& found);
  bool remembers(std::uint32_t k, std::uint32_t shard) const;
  void note_rejoined(Process& process);
  void run_quantum();
  void draw_faults();
  consensus::SlotMask rememberers(std::uint32_t shard, std::uint32_t without) const;
  bool decidable(std::uint32_t shard, std::uint32_t without) const;
  bool may_crash(std::uint32_t k);
  Process* busiest_leader();
  void cut_leader();
  void draw_partition();
  void draw_load();
  consensus::Configuration first_configuration(std::uint32_t k) const;
  void draw_target();
  void spread_target(std::uint32_t ppm);
  void draw_reconfiguration(std::uint32_t shard, SimNode& leader);
  void heal();
  void judge_leases();
  bool converged() const;
  bool shard_converged(std::uint32_t shard) const;
  SimResult result() const;

  SimOptions options_;
  SimRandom faults_;
  SimRandom load_;
  SimRandom disk_faults_;
  SimRandom leader_faults_;
  SimRandom members_;
  netcore::SimulatedNetwork network_;
  SimChecker checker_;
  SimCounts counts_;
  SimWorldParts parts_;
  std::vector<SimDisk> disks_;
  std::vector<Process> processes_;
  std::uint64_t quantum_ = 1;
  std::uint64_t next_value_ = 1;
  consensus::MembersTarget target_;  // The newest one.
  std::uint64_t target_number_ = 0;
  bool chaos_ = true;
};

}  // namespace gcoord::chaos
