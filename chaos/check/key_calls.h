// From the operations of one key to calls of a model: what was told becomes what must be legal,
// what is unknown becomes open, and what certainly did not happen and says nothing is left out.
// Pure.
#pragma once

#include "chaos/check/hold_ends.h"
#include "chaos/check/linear_calls.h"
#include "chaos/check/lock_model.h"
#include "chaos/check/operation.h"
#include "chaos/check/value_models.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcoord::chaos {

enum class ModelKind : std::uint8_t {
  ByOperations,  // What the operations on a key are of decides; one model for each key.
  Lock,
  Lease,  // A lock whose holds lapse ttl_ms after the call of the grant or the last renewal.
  Register,
  Counter,
  Guarded,
};

// The model that these operations, all of one key, speak of.
ModelKind model_of(std::span<const Operation* const> operations);

// Positions in `operations` are the sources of calls.
std::vector<TimedCall<LockModel::Action>> lock_calls(std::span<const Operation* const> operations,
                                                     const HoldEnds& ends,
                                                     ModelKind kind);

// Texts of values by their number; 0 is the value before the first write.
using ValueNames = std::vector<std::string>;

std::vector<TimedCall<RegisterModel::Action>> register_calls(
    std::span<const Operation* const> operations, ValueNames& names);

std::vector<TimedCall<GuardedModel::Action>> guarded_calls(
    std::span<const Operation* const> operations, ValueNames& names);

// `not_numbers` counts values that no counter has; their operations are left out.
std::vector<TimedCall<CounterModel::Action>> counter_calls(
    std::span<const Operation* const> operations, std::uint64_t& not_numbers);

}  // namespace gcoord::chaos
