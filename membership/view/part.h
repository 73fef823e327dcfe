// The view's state at the end of shard 0's bytes: the state, its length u32, and a mark u32.
//
// Without a view nothing stands there. The mark (common/marked_part.h) cannot be taken for what
// stood there in earlier releases, the length of what is before it
// (server/history/publication_service.h). Pure; thread-safe.
#pragma once

#include "membership/view/cpu.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::membership {

struct ViewPart {
  std::span<const std::byte> before;
  std::span<const std::byte> view;  // As ViewCpu::serialize gives it; empty: no view.
};

void append_view_part(const ViewCpu& state, std::vector<std::byte>& bytes);

// Nothing for bytes with a mark and an impossible length. Does not look into the parts.
std::optional<ViewPart> split_view_part(std::span<const std::byte> bytes);

}  // namespace gcoord::membership
