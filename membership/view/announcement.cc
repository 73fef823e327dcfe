#include "membership/view/announcement.h"

#include "common/bytes.h"

#include <utility>

namespace gcoord::membership {

namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

std::vector<std::byte> encode_announcement(const ViewAnnouncement& said) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(kVersion);
  writer.integer(said.epoch);
  protocol::write_settings(writer, said.settings);
  protocol::write_member(writer, said.self);
  return bytes;
}

std::optional<ViewAnnouncement> decode_announcement(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  const auto version = reader.integer<std::uint8_t>();
  ViewAnnouncement said;
  said.epoch = reader.integer<std::uint64_t>();
  said.settings = protocol::read_settings(reader);
  auto self = protocol::read_member(reader);
  if (!self || version != kVersion) {
    return std::nullopt;
  }
  said.self = *std::move(self);
  return said;
}

}  // namespace gcoord::membership
