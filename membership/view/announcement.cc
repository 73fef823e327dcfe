#include "membership/view/announcement.h"

#include "common/bytes.h"

#include <utility>

namespace gcoord::membership {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kProgressVersion = 2;

// Nothing where the sender said nothing of it, or something that this release does not know.
std::optional<ShardProgress> read_progress(ByteReader& reader) {
  if (reader.rest_bytes() == 0 || reader.integer<std::uint8_t>() != kProgressVersion) {
    return std::nullopt;
  }
  ShardProgress progress;
  progress.epoch = reader.integer<std::uint64_t>();
  progress.led = reader.integer<std::uint32_t>();
  progress.settled = reader.integer<std::uint32_t>();
  progress.ready = reader.integer<std::uint32_t>();
  return reader.ok() ? std::optional(progress) : std::nullopt;
}

}  // namespace

std::vector<std::byte> encode_announcement(const ViewAnnouncement& said) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(kVersion);
  writer.integer(said.epoch);
  protocol::write_settings(writer, said.settings);
  protocol::write_member(writer, said.self);
  if (said.progress) {
    writer.integer(kProgressVersion);
    writer.integer(said.progress->epoch);
    writer.integer(said.progress->led);
    writer.integer(said.progress->settled);
    writer.integer(said.progress->ready);
  }
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
  said.progress = read_progress(reader);
  return said;
}

}  // namespace gcoord::membership
