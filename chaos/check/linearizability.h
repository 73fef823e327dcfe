// Is there, for every key, one order of its operations that explains what all clients were told?
//
// I9 of docs/internals/faults.md. Keys are independent, so each is judged by itself (Horn and
// Kroening 2015: that loses nothing). Unknown outcomes stay open to the end of the history. Pure,
// but for the time bound.
#pragma once

#include "chaos/check/key_calls.h"
#include "chaos/check/linear_prefix.h"
#include "chaos/check/operation.h"
#include "chaos/check/verdict.h"

#include <vector>

namespace gcoord::chaos {

struct LinearOptions {
  ModelKind model = ModelKind::ByOperations;
  SearchBounds bounds;  // time_max is for all keys together, the others are for each.
};

// Invariants: I9; for guarded stores I11, for what a lease was told about its end I12.
CheckReport check_linearizability(const std::vector<Operation>& operations,
                                  const LinearOptions& options = {});

// "process 3 acquire -> ok, token 7, session 5 [1.250 ms to 1.501 ms]", counted from `origin_ns`.
std::string describe(const Operation& operation, std::uint64_t origin_ns);

}  // namespace gcoord::chaos
