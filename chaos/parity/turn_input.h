// Input that all rows share in one turn of a resident cluster: clocks, liveness, and the
// probabilities of random events.
//
// Made once per turn on the host (resident_drive.h) and given to every stepper alike; POD, passed
// by value to kernels. Chance is a pure function of the seed, the turn, the node and the row, so
// that nothing depends on the order in which rows run. Host and device.
#pragma once

#include "chaos/parity/view.h"
#include "common/hd.h"
#include "common/random.h"
#include "consensus/step/inbox.h"

#include <cstdint>

namespace gcoord::chaos {

// How often something happens, of 65,536.
struct ResidentRates {
  std::uint32_t by_chance = 0;  // 1: anything of what follows up to `wake` may be above 0.
  std::uint32_t lost = 0;       // A message, per message.
  std::uint32_t late = 0;       // A message by one turn, and by two with the same chance again.
  std::uint32_t campaign = 0;   // Per row and turn, like all that follow.
  std::uint32_t propose = 0;
  std::uint32_t read = 0;
  std::uint32_t transfer = 0;
  std::uint32_t configure = 0;
  std::uint32_t compact = 0;
  std::uint32_t wake = 0;
  std::uint32_t proposal_count = 1;  // Commands of one proposal.
  std::uint32_t fed = 0;             // 1: every leader is offered proposal_count in every turn.
  std::uint32_t first_leaders = 0;   // 1: node k campaigns for every third shard, from shard k on.
};

struct NodeTurn {
  consensus::StepInput input;  // `peer` is set by whoever reads it: step_input_of.
  consensus::PeerLiveness peer[kResidentNodes - 1];
  std::uint8_t wake_all = 0;  // Liveness changed: every row is stepped.
  std::uint8_t restart = 0;   // The node's process ends and begins again.
  std::uint8_t reserved[6]{};
};

struct ResidentTurn {
  std::uint64_t number = 0;  // Rises by one.
  std::uint64_t seed = 0;
  ResidentRates rates;
  NodeTurn node[kResidentNodes];
};

// Chances are told apart by their stream.
enum class Chance : std::uint32_t { Wish = 1, Fate = 2, Pick = 3, Command = 4 };

GCOORD_HD inline std::uint64_t chance(
    std::uint64_t seed, Chance what, std::uint32_t node, std::uint32_t row, std::uint64_t number) {
  const std::uint64_t stream =
      static_cast<std::uint64_t>(row) << 8 | static_cast<std::uint64_t>(what) << 4 | node;
  return random64(seed, stream, number);
}

GCOORD_HD inline consensus::StepInput step_input_of(const NodeTurn& node) {
  consensus::StepInput input = node.input;
  input.peer = node.peer;
  return input;
}

}  // namespace gcoord::chaos
