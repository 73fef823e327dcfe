// Verdict of a checker: ok only for a history that was judged to its end. Never "ok" about what it
// did not judge to the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

enum class Verdict : std::uint8_t {
  Ok,
  Violation,
  Undecided,  // A bound was reached, or the input is not whole; a run with one of these failed.
  Idle,       // The input holds nothing of what this checker judges.
};

std::string_view verdict_name(Verdict verdict);

// One broken promise, with its evidence.
struct Finding {
  std::string invariant;  // Its number in docs/internals/faults.md, for example "I10".
  std::string key;        // Or "shard 7".
  std::string what;
  std::vector<std::string> evidence;  // Operations or trace lines, then what was allowed.
};

struct CheckReport {
  std::string checker;
  std::string invariants;  // All that it judges, for example "I9 I10".
  Verdict verdict = Verdict::Idle;
  std::uint64_t judged = 0;      // Operations or lines that it looked at.
  std::uint64_t violations = 0;  // All of them; findings keep the first kFindingsMax.
  std::string undecided_reason;
  std::vector<Finding> findings;

  // Counts it, and keeps it while there is room.
  void violate(Finding finding);

  // Undecided, unless it is a violation already.
  void undecide(const std::string& reason);

  // Ok if anything was looked at and nothing worse is known.
  void conclude();
};

inline constexpr std::size_t kFindingsMax = 10;

}  // namespace gcoord::chaos
