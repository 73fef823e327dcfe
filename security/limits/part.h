// The state of limits at the end of shard 0's bytes: the state, its length u32, and a mark u32.
//
// As users and roles before it (security/roles/part.h), with a mark of its own: without limits
// nothing stands there, as in earlier releases. Pure; thread-safe.
#pragma once

#include "security/limits/limit_cpu.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::security {

struct LimitsPart {
  std::span<const std::byte> before;
  std::span<const std::byte> limits;  // As LimitCpu::serialize gives it; empty: none.
};

void append_limits_part(const LimitCpu& state, std::vector<std::byte>& bytes);

// Nothing for bytes with a mark and an impossible length. Does not look into the parts.
std::optional<LimitsPart> split_limits_part(std::span<const std::byte> bytes);

}  // namespace gcoord::security
