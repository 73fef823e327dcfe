// The effect of one command on the table of limits.
//
// Deterministic: it looks at the table and the command only. A command that is refused changes
// nothing; one that is taken raises the epoch by one, and takes denials out that have ended by the
// command's time. Pure; thread-safe.
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
  TableFull,  // More than kLimitsMax, kDenialsMax or kLimitTableBytesMax.
};

LimitCode apply(LimitTable& table, const LimitCommand& command);

}  // namespace gcoord::security
