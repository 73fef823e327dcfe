// Random histories that are right: a service of the imagination answers concurrent clients, one
// moment after another. For the tests of the checkers and for measuring them.
//
// Each key is a model that is asked one thing at a time; each client calls, is served at a random
// moment, and is told later. One seed decides all. Pure.
#pragma once

#include "chaos/check/key_calls.h"
#include "chaos/check/operation.h"

#include <cstdint>
#include <vector>

namespace gcoord::chaos {

struct GeneratedHistoryOptions {
  ModelKind model = ModelKind::Register;
  std::uint64_t seed = 1;
  std::uint32_t operations = 100;
  std::uint32_t keys = 1;
  std::uint32_t clients = 4;  // Of each key; how many of them are busy changes.
  std::uint32_t unknown_thousandths = 10;
  std::uint32_t values = 5;  // Different values that are written; 0: each is new.
};

std::vector<Operation> generate_history(const GeneratedHistoryOptions& options);

}  // namespace gcoord::chaos
