// gcoord-step behind its program: one JSON object in, one JSON object out, over the scenario
// cluster.
//
// A request names its operation in "op"; docs/reference/machine_interfaces.md lists them with their
// members. An answer is
// {"ok": true, ..., "events": [...]} with what happened in order, or {"ok": false, "code":
// "GC1001", "error": "..."}; a broken invariant adds "violations". 64-bit numbers are strings in
// answers and may be strings in requests. Whatever the input, an answer comes. One thread.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "consensus/scenario/cluster.h"

#include <memory>
#include <string>
#include <string_view>

namespace gcoord::cli {

class StepEvents;

class StepShell {
 public:
  explicit StepShell(consensus::scenario::StepperFactory make_stepper);
  ~StepShell();

  // Answers one line of input with one line without its end.
  std::string answer(std::string_view line);

 private:
  // Runs the operation; what it returns joins the answer.
  Result<Json> run(const Json& request);

  consensus::scenario::StepperFactory make_stepper_;
  std::unique_ptr<StepEvents> events_;
  std::unique_ptr<consensus::scenario::Cluster> cluster_;
};

}  // namespace gcoord::cli
