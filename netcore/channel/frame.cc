#include "netcore/channel/frame.h"

#include "common/assert.h"
#include "common/crc32c.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace gcoord::netcore {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are copied as they lie");

constexpr std::size_t kHeaderCrcOffset = offsetof(FrameHeader, header_crc32c);
static_assert(kHeaderCrcOffset == 60);

constexpr std::size_t padded_to_line(std::size_t bytes) {
  return (bytes + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
}

std::byte* append(std::byte* at, const void* from, std::size_t bytes) {
  if (bytes != 0) {
    std::memcpy(at, from, bytes);
  }
  return at + bytes;
}

std::byte* append_zeros(std::byte* at, std::size_t bytes) {
  if (bytes != 0) {
    std::memset(at, 0, bytes);
  }
  return at + bytes;
}

// Sums the extents of a table whose own length is already checked; BadExtent on any contradiction.
DropReason measure_extents(const FrameHeader& header, const std::byte* table, std::size_t& total) {
  const std::uint32_t length_max = kExtentBytesMax[static_cast<std::size_t>(header.band)];
  std::uint32_t previous_slot = 0;
  total = 0;
  for (std::uint32_t i = 0; i < header.extent_count; ++i) {
    ExtentRow row;
    std::memcpy(&row, table + i * sizeof(row), sizeof(row));
    if (row.slot_index >= header.slot_count || row.slot_index < previous_slot ||
        row.length_bytes > length_max) {
      return DropReason::BadExtent;
    }
    previous_slot = row.slot_index;
    total += padded_extent_bytes(row.length_bytes);
  }
  return DropReason::None;
}

}  // namespace

std::size_t frame_bytes(std::size_t slot_count, std::span<const PayloadExtent> extents) {
  std::size_t body = slot_count * kSlotBytes + extents.size() * sizeof(ExtentRow);
  for (const PayloadExtent& extent : extents) {
    body += padded_extent_bytes(extent.bytes.size());
  }
  return kFrameHeaderBytes + padded_to_line(body);
}

void encode_frame(FrameHeader header,
                  std::span<const Slot> slots,
                  std::span<const PayloadExtent> extents,
                  std::uint32_t first_slot_index,
                  std::span<std::byte> out) {
  GCOORD_ASSERT(slots.size() <= kFrameSlotsMax);
  GCOORD_ASSERT(extents.size() <= kFrameExtentsMax);
  GCOORD_ASSERT(out.size() <= kFrameBytesMax);
  std::byte* at = append(out.data() + kFrameHeaderBytes, slots.data(), slots.size_bytes());
  for (const PayloadExtent& extent : extents) {
    GCOORD_ASSERT(extent.slot_index - first_slot_index < slots.size());
    const ExtentRow row{extent.slot_index - first_slot_index,
                        static_cast<std::uint32_t>(extent.bytes.size())};
    at = append(at, &row, sizeof(row));
  }
  for (const PayloadExtent& extent : extents) {
    at = append(at, extent.bytes.data(), extent.bytes.size());
    at = append_zeros(at, padded_extent_bytes(extent.bytes.size()) - extent.bytes.size());
  }
  GCOORD_ASSERT(at <= out.data() + out.size());
  append_zeros(at, static_cast<std::size_t>(out.data() + out.size() - at));

  header.magic = kFrameMagic;
  header.version = kFrameVersion;
  header.slot_count = static_cast<std::uint16_t>(slots.size());
  header.extent_count = static_cast<std::uint16_t>(extents.size());
  header.body_bytes = static_cast<std::uint32_t>(out.size() - kFrameHeaderBytes);
  header.body_crc32c = crc32c(out.subspan(kFrameHeaderBytes));
  header.header_crc32c = crc32c({reinterpret_cast<const std::byte*>(&header), kHeaderCrcOffset});
  std::memcpy(out.data(), &header, sizeof(header));
}

DropReason decode_header(std::span<const std::byte, kFrameHeaderBytes> bytes, FrameHeader& header) {
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kFrameMagic) {
    return DropReason::BadMagic;
  }
  if (header.version != kFrameVersion) {
    return DropReason::BadVersion;
  }
  if (header.header_crc32c != crc32c(bytes.first<kHeaderCrcOffset>())) {
    return DropReason::BadChecksum;
  }
  if (static_cast<std::uint8_t>(header.kind) >= kFrameKindCount ||
      static_cast<std::size_t>(header.band) >= kBandCount || header.flags != 0) {
    return DropReason::BadField;
  }
  if (header.slot_count > kFrameSlotsMax || header.extent_count > kFrameExtentsMax ||
      header.body_bytes > kFrameBytesMax - kFrameHeaderBytes ||
      header.body_bytes % kSlotBytes != 0) {
    return DropReason::BadLength;
  }
  return DropReason::None;
}

DropReason decode_frame(std::span<const std::byte> bytes, FrameView& view) {
  GCOORD_ASSERT(reinterpret_cast<std::uintptr_t>(bytes.data()) % kSlotBytes == 0);
  if (bytes.size() < kFrameHeaderBytes) {
    return DropReason::BadLength;
  }
  FrameHeader& header = view.header;
  const DropReason reason = decode_header(bytes.first<kFrameHeaderBytes>(), header);
  if (reason != DropReason::None) {
    return reason;
  }
  const std::span<const std::byte> body = bytes.subspan(kFrameHeaderBytes);
  const std::size_t slot_bytes = header.slot_count * kSlotBytes;
  const std::size_t table_bytes = header.extent_count * sizeof(ExtentRow);
  if (body.size() != header.body_bytes || body.size() < slot_bytes + table_bytes) {
    return DropReason::BadLength;
  }
  if (header.body_crc32c != crc32c(body)) {
    return DropReason::BadChecksum;
  }
  const std::byte* table = body.data() + slot_bytes;
  std::size_t extent_bytes = 0;
  const DropReason extent_reason = measure_extents(header, table, extent_bytes);
  if (extent_reason != DropReason::None) {
    return extent_reason;
  }
  if (padded_to_line(slot_bytes + table_bytes + extent_bytes) != body.size()) {
    return DropReason::BadLength;
  }
  view.slots = {reinterpret_cast<const Slot*>(body.data()), header.slot_count};
  view.payloads = PayloadView{table, table + table_bytes, header.extent_count};
  return DropReason::None;
}

}  // namespace gcoord::netcore
