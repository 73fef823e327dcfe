#include "membership/view/part.h"

#include "common/bytes.h"

namespace gcoord::membership {

namespace {

constexpr std::size_t kTailBytes = 8;

}  // namespace

void append_view_part(const ViewCpu& state, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  state.serialize(bytes);
  if (bytes.size() == begin) {
    return;
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - begin);
  ByteWriter writer{bytes};
  writer.integer(length);
  writer.integer(kViewMark);
}

std::optional<ViewPart> split_view_part(std::span<const std::byte> bytes) {
  if (bytes.size() < kTailBytes || load<std::uint32_t>(&bytes[bytes.size() - 4]) != kViewMark) {
    return ViewPart{bytes, {}};
  }
  const auto length = load<std::uint32_t>(&bytes[bytes.size() - kTailBytes]);
  const auto body = bytes.first(bytes.size() - kTailBytes);
  if (length == 0 || length > body.size()) {
    return std::nullopt;
  }
  return ViewPart{body.first(body.size() - length), body.last(length)};
}

}  // namespace gcoord::membership
