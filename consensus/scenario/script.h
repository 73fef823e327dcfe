// The command language of the golden scenarios: one command a line, its effects as lines of trace.
//
// tests/consensus/testdata/raft/README.md lists the commands. A script owns the cluster that its
// `cluster` command makes. A command that cannot be understood fails with a sentence; one that
// breaks an invariant leaves a line that begins with "VIOLATION". Host only; one thread.
#pragma once

#include "common/status.h"
#include "consensus/scenario/scene.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::consensus::scenario {

class Script {
 public:
  Script() : Script(make_cpu_stepper) {}

  // Steps with other steppers than the CPU's.
  explicit Script(StepperFactory make_stepper) : scene_(std::move(make_stepper)) {}

  // Runs one command and lets the cluster settle.
  Status run(std::string_view line);

  // What the commands act on; null before `cluster`.
  Cluster* cluster() { return scene_.built() ? &scene_.cluster() : nullptr; }

  // The lines since the last call: trace, answers, violations.
  std::vector<std::string> take_output() { return scene_.take_output(); }

 private:
  Status repeat(std::string_view text);

  Scene scene_;
};

}  // namespace gcoord::consensus::scenario
