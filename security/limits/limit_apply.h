// The effect of one command on the table of limits.
//
// Deterministic: it looks at the table and the command only. A command that is refused changes
// nothing; one that is taken raises the epoch by one, and takes denials and orders to prune out
// that have ended by the command's time. Pure; thread-safe.
#pragma once

#include "security/limits/command.h"
#include "security/limits/limit_table.h"

#include <cstdint>

namespace gcoord::security {

enum class LimitCode : std::uint8_t {
  Applied,
  Malformed,  // No command that this release knows.
  Stale,      // The table has another epoch.
  LimitInvalid,
  LimitUnknown,
  DenialInvalid,
  DenialUnknown,
  PruneExists,      // There is such an order, or somebody has confirmed it.
  PruneUnknown,     // There is no such order.
  PruneSamePerson,  // Who ordered it confirms it.
  PruneUnproven,    // Nobody is proven to order it, or its bounds are none.
  TableFull,        // More than kLimitsMax, kDenialsMax, kPruneOrdersMax or kLimitTableBytesMax.
};

LimitCode apply(LimitTable& table, const LimitCommand& command);

}  // namespace gcoord::security
