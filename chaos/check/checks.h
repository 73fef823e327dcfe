// Every checker over a run: its histories, its traces, one verdict.
//
// A run is right only if something was judged, nothing is broken and nothing is undecided. Lines
// that could not be read make every verdict that depends on them undecided. Pure, but for the time
// bound of the search.
#pragma once

#include "chaos/check/history_file.h"
#include "chaos/check/linearizability.h"
#include "chaos/check/trace.h"
#include "chaos/check/verdict.h"
#include "common/json/value.h"

#include <string>
#include <vector>

namespace gcoord::chaos {

struct CheckSummary : LineFaults {
  Verdict verdict = Verdict::Undecided;
  std::uint64_t operations = 0;
  std::uint64_t trace_lines = 0;
  std::vector<CheckReport> reports;

  // What was broken first, in one line; empty when nothing was.
  std::string first_finding() const;
};

// I8, I9 (I11, I12 by model), I10, I11, I18.
std::vector<CheckReport> check_history(const std::vector<Operation>& operations,
                                       const LinearOptions& options = {});

CheckSummary check_run(const History& history, const Trace& trace, const LinearOptions& options);

Json to_json(const CheckSummary& summary);
std::string to_text(const CheckSummary& summary);

}  // namespace gcoord::chaos
