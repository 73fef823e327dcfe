#include "security/roles/part.h"

#include "common/marked_part.h"

namespace gcoord::security {

void append_access_part(const AccessCpu& state, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  state.serialize(bytes);
  end_marked_part(bytes, begin, PartMark::Access);
}

std::optional<AccessPart> split_access_part(std::span<const std::byte> bytes) {
  const auto parts = split_marked_part(bytes, PartMark::Access);
  return parts ? std::optional(AccessPart{parts->before, parts->part}) : std::nullopt;
}

}  // namespace gcoord::security
