// Writes down configurations as people think of them: lists of nodes, not masks of slots.
//
// A node keeps its slot; one that joins takes the first free slot of the configuration before.
// Host only.
#pragma once

#include "common/status.h"
#include "consensus/step/configuration.h"

#include <cstdint>
#include <vector>

namespace gcoord::consensus::scenario {

struct Voter {
  NodeId node;
  std::uint8_t weight = 1;
};

struct Members {
  std::vector<Voter> voters;
  std::vector<NodeId> learners;
};

enum class Change : std::uint8_t {
  Simple,
  Joint,            // The leader leaves the joint configuration by itself.
  JointUntilLeave,  // It stays joint until somebody proposes leave_joint.
};

// The configuration after the change. InvalidArgument when there is no free slot or the result is
// not well formed; whether it may follow `before` is the step's to judge.
Result<Configuration> changed(const Configuration& before, const Members& after, Change change);

}  // namespace gcoord::consensus::scenario
