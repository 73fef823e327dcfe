// The host's part of a resident cluster: clocks, heartbeats between nodes, and node-level faults.
//
// What: makes the input of one turn after the other. Heartbeats run through
// consensus/step/liveness.h as on a real node, over links that chance cuts in one direction for a
// while; nodes restart; channels run out of credit. All of it follows from the seed, so two
// steppers that are given the same turns must end with the same bytes. Not thread-safe; host code
// only; a turn is one tick.
#pragma once

#include "chaos/parity/turn_input.h"
#include "consensus/step/liveness.h"

#include <cstdint>

namespace gcoord::chaos {

struct ResidentDriveOptions {
  std::uint64_t seed = 1;
  ResidentRates rates;
  consensus::Timing timing;
  consensus::StepLimits limits;
  // Turns between two of a kind, on average; 0: never.
  std::uint32_t turns_per_cut = 0;
  std::uint32_t turns_per_restart = 0;
  std::uint32_t turns_per_stall = 0;  // A link without credit for one turn.
};

// Chance, losses and faults of every kind, for parity. `entries_max` is ResidentShape's.
ResidentDriveOptions hostile_drive(std::uint64_t seed, std::uint32_t entries_max);

// Nothing is lost and nobody fails; commands only as `rates` say later.
ResidentDriveOptions quiet_drive(std::uint64_t seed, std::uint32_t entries_max);

class ResidentDrive {
 public:
  explicit ResidentDrive(const ResidentDriveOptions& options);

  // The next turn. `rates` of the options may be changed in between.
  ResidentTurn next();

  ResidentRates& rates() { return options_.rates; }

  std::uint64_t restarts() const { return restarts_; }

  std::uint64_t cuts() const { return cuts_; }

 private:
  struct Node {
    Incarnation incarnation{1};
    Tick vote_after;
    consensus::PeerLiveness peer[kResidentNodes - 1];
    consensus::Heartbeat arriving[kResidentNodes - 1];  // incarnation 0: none.
    std::uint64_t cut_until[kResidentNodes - 1]{};      // Turn until which nothing arrives.
  };

  Tick tick_of(std::uint32_t node) const;
  bool happens(std::uint32_t what, std::uint32_t node, std::uint32_t turns_per_one) const;
  void restart(std::uint32_t node);
  void exchange_heartbeats();
  bool hear(std::uint32_t node);
  void fill(std::uint32_t node, NodeTurn& turn);

  ResidentDriveOptions options_;
  std::uint64_t number_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t cuts_ = 0;
  Node node_[kResidentNodes];
};

}  // namespace gcoord::chaos
