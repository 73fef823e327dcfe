#include "membership/view/part.h"

#include "common/marked_part.h"

namespace gcoord::membership {

void append_view_part(const ViewCpu& state, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  state.serialize(bytes);
  end_marked_part(bytes, begin, PartMark::View);
}

std::optional<ViewPart> split_view_part(std::span<const std::byte> bytes) {
  const auto parts = split_marked_part(bytes, PartMark::View);
  return parts ? std::optional(ViewPart{parts->before, parts->part}) : std::nullopt;
}

}  // namespace gcoord::membership
