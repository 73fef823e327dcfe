#include "membership/view/announcement.h"

#include "common/bytes.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::membership {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kProgressVersion = 2;
constexpr std::uint8_t kOthersVersion = 3;
constexpr std::uint8_t kSumVersion = 4;

std::optional<ShardProgress> read_progress(ByteReader& reader) {
  ShardProgress progress;
  progress.epoch = reader.integer<std::uint64_t>();
  progress.led = reader.integer<std::uint32_t>();
  progress.settled = reader.integer<std::uint32_t>();
  progress.ready = reader.integer<std::uint32_t>();
  return reader.ok() ? std::optional(progress) : std::nullopt;
}

void read_sum(ByteReader& reader, std::optional<ShardProgress>& progress) {
  const auto sum = reader.integer<std::uint64_t>();
  if (progress && reader.ok()) {
    progress->settled_sum = sum;
  }
}

std::vector<Acquaintance> read_others(ByteReader& reader) {
  const auto count = reader.integer<std::uint8_t>();
  std::vector<Acquaintance> others;
  for (std::size_t k = 0; k < count && k < kAcquaintancesMax; ++k) {
    const NodeId node{reader.integer<std::uint32_t>()};
    const std::string_view address = reader.text(protocol::kMemberAddressBytesMax);
    if (!reader.ok() || node.value == 0) {
      return {};
    }
    others.push_back({node, std::string(address)});
  }
  return others;
}

// What follows the node itself: blocks by their versions, up to one that this release does not
// know.
void read_blocks(ByteReader& reader, ViewAnnouncement& said) {
  while (reader.ok() && reader.rest_bytes() != 0) {
    switch (reader.integer<std::uint8_t>()) {
      case kProgressVersion:
        said.progress = read_progress(reader);
        break;
      case kOthersVersion:
        said.others = read_others(reader);
        break;
      case kSumVersion:
        read_sum(reader, said.progress);
        break;
      default:
        return;
    }
  }
}

void write_others(ByteWriter& writer,
                  const std::vector<std::byte>& bytes,
                  const std::vector<Acquaintance>& others) {
  constexpr std::size_t kBlockBytes = 2;
  constexpr std::size_t kEachBytes = 6;
  std::size_t room = kAnnouncementBytesMax - std::min(kAnnouncementBytesMax, bytes.size());
  room -= std::min(room, kBlockBytes);
  std::uint8_t count = 0;
  for (const Acquaintance& other : others) {
    const std::size_t need = kEachBytes + other.peer_address.size();
    if (need > room || count == kAcquaintancesMax) {
      break;
    }
    room -= need;
    ++count;
  }
  if (count == 0) {
    return;
  }
  writer.integer(kOthersVersion);
  writer.integer(count);
  for (std::size_t k = 0; k < count; ++k) {
    writer.integer(others[k].node.value);
    writer.text(others[k].peer_address);
  }
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
    if (said.progress->settled_sum) {
      writer.integer(kSumVersion);
      writer.integer(*said.progress->settled_sum);
    }
  }
  write_others(writer, bytes, said.others);
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
  read_blocks(reader, said);
  return said;
}

}  // namespace gcoord::membership
