// All that is said of a run, whatever it is written as. Plain values.
#pragma once

#include "cli/bench/load/open_loop.h"
#include "cli/bench/load/plan.h"
#include "cli/bench/report/verdict.h"

#include <string>
#include <vector>

namespace gcoord::cli {

// One system under the plan's load.
struct BenchTarget {
  std::string name;  // "gcoord" or "etcd".
  OpenLoopResult result;
};

struct BenchReport {
  BenchPlan plan;
  std::vector<BenchTarget> targets;  // gcoord first; one or two.
  std::string endpoints;             // Of gcoord.
  std::string compared;              // Of etcd; empty: it was not asked for.
  std::string when;                  // In UTC.
  std::string version;               // Of this program.

  bool compares() const { return targets.size() > 1; }
};

// "lock at 150/s for 60 s: 50 clients, 4 connections, 1 thread, 1000 names, uniform".
std::string plan_sentence(const BenchPlan& plan);

// Sentences for the reader: how it was measured.
std::vector<std::string> method_sentences(const BenchReport& report);

}  // namespace gcoord::cli
