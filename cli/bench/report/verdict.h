// Loads of one size for everybody, and the verdict about a run: those of `etcdctl check perf`.
//
// etcd's own self-test writes at these rates with this many clients for a minute, and passes when
// the throughput is at least 90 % of the rate, the slowest answer took half a second at most and
// the standard deviation is a tenth of a second at most, without errors. Pure.
#pragma once

#include "cli/bench/load/open_loop.h"
#include "cli/bench/load/plan.h"

#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

struct StandardLoad {
  const char* name;
  std::uint32_t rate;
  std::uint32_t clients;
};

// "s", "m", "l" and "xl".
const std::vector<StandardLoad>& standard_loads();
std::optional<StandardLoad> standard_load(const std::string& name);

inline constexpr std::chrono::milliseconds kStandardLength{60'000};

// One condition of a verdict.
struct BenchCheck {
  std::string name;   // "throughput".
  std::string value;  // "149.8/s".
  std::string limit;  // "at least 135/s".
  bool pass = false;
};

enum class BenchVerdict : std::uint8_t {
  Pass,
  Fail,
  Unsure,  // A check failed, but this program was the bound, or was stopped.
};

// "PASS", "FAIL", "UNSURE".
const char* verdict_text(BenchVerdict verdict);

std::vector<BenchCheck> checks_of(const BenchPlan& plan, const OpenLoopResult& result);

BenchVerdict verdict_of(const OpenLoopResult& result, const std::vector<BenchCheck>& checks);

// One sentence: who limited the run, by which figure, and what to change.
std::string bound_sentence(const OpenLoopResult& result);

}  // namespace gcoord::cli
