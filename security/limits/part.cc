#include "security/limits/part.h"

#include "common/marked_part.h"

namespace gcoord::security {

void append_limits_part(const LimitCpu& state, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  state.serialize(bytes);
  end_marked_part(bytes, begin, PartMark::Limits);
}

std::optional<LimitsPart> split_limits_part(std::span<const std::byte> bytes) {
  const auto parts = split_marked_part(bytes, PartMark::Limits);
  return parts ? std::optional(LimitsPart{parts->before, parts->part}) : std::nullopt;
}

}  // namespace gcoord::security
