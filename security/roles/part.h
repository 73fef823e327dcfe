// The state of users and roles at the end of shard 0's bytes: the state, its length u32, and a
// mark u32.
//
// As the cluster view before it (membership/view/part.h), with a mark of its own: without users
// and roles nothing stands there, as in earlier releases. Pure; thread-safe.
#pragma once

#include "security/roles/role_cpu.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::security {

struct AccessPart {
  std::span<const std::byte> before;
  std::span<const std::byte> access;  // As AccessCpu::serialize gives it; empty: none.
};

void append_access_part(const AccessCpu& state, std::vector<std::byte>& bytes);

// Nothing for bytes with a mark and an impossible length. Does not look into the parts.
std::optional<AccessPart> split_access_part(std::span<const std::byte> bytes);

}  // namespace gcoord::security
