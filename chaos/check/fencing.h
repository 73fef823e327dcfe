// Judges a history of locks: was a lock ever given twice, was anything acknowledged and then lost?
//
// Only what clients saw counts. A hold lasts from the moment its grant was told until its release
// was asked for, until the client's own lease ended, or for ever. In real time:
//   - two holds of one name never overlap;
//   - a token is granted once, and a grant asked for after another was told has a higher token;
//   - a held lock's token is valid, a released one's is not, and after everything nobody holds.
// Unknown outcomes are given the benefit of the doubt. Pure.
#pragma once

#include "chaos/demo/history.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct Verdicts {
  std::uint64_t grants = 0;
  std::uint64_t double_grants = 0;
  std::uint64_t lost_acks = 0;
  std::string first_fault;  // What, which name, which tokens; empty when there is none.

  bool hold() const { return double_grants == 0 && lost_acks == 0; }
};

// The operations of all processes, in any order.
Verdicts check_history(const std::vector<Operation>& operations);

}  // namespace gcoord::chaos
