#include "common/assert.h"
#include "common/crc32c.h"
#include "common/wipe.h"
#include "protocol/frame.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

namespace gcoord::protocol {

namespace {

// Room for so many bytes more. Passwords, tokens and keys pass through here, so memory is wiped
// before it is given back: a buffer that grew, and payloads that were sent on.
void grow(std::vector<std::byte>& bytes, std::size_t count) {
  if (bytes.capacity() - bytes.size() >= count) {
    return;
  }
  // Doubled where frames wait already: each would copy all of them anew.
  std::vector<std::byte> larger;
  larger.reserve(std::max(bytes.size() + count, 2 * bytes.size()));
  larger.assign(bytes.begin(), bytes.end());
  wipe(bytes);
  bytes.swap(larger);
}

}  // namespace

bool FrameBuilder::fits(std::size_t payload_bytes) const {
  const std::size_t begun_bytes = std::max(slots_.size(), kFrameHeaderBytes) + payloads_.size();
  return slot_count() < std::numeric_limits<std::uint16_t>::max() &&
         begun_bytes + kSlotBytes + payload_bytes <= kFrameBytesMax;
}

void FrameBuilder::add(RequestSlot slot, std::span<const std::byte> payload) {
  GCOORD_ASSERT(direction_ == FrameDirection::Requests);
  slot.payload_offset = static_cast<std::uint32_t>(payload.empty() ? 0 : payloads_.size());
  slot.payload_bytes = static_cast<std::uint32_t>(payload.size());
  add_bytes(&slot, payload);
}

void FrameBuilder::add(ReplySlot slot, std::span<const std::byte> payload) {
  GCOORD_ASSERT(direction_ == FrameDirection::Replies);
  slot.payload_offset = static_cast<std::uint32_t>(payload.empty() ? 0 : payloads_.size());
  slot.payload_bytes = static_cast<std::uint32_t>(payload.size());
  add_bytes(&slot, payload);
}

void FrameBuilder::add_bytes(const void* slot, std::span<const std::byte> payload) {
  GCOORD_ASSERT(fits(payload.size()));
  const auto* start = static_cast<const std::byte*>(slot);
  if (slots_.empty()) {
    slots_.resize(kFrameHeaderBytes);
  }
  slots_.insert(slots_.end(), start, start + kSlotBytes);
  grow(payloads_, payload.size());
  payloads_.insert(payloads_.end(), payload.begin(), payload.end());
}

std::size_t FrameBuilder::finish(std::vector<std::byte>& out) {
  GCOORD_ASSERT(!empty());
  FrameHeader header;
  header.flags = direction_ == FrameDirection::Replies
                     ? static_cast<std::uint8_t>(FrameFlag::Replies)
                     : std::uint8_t{0};
  header.slot_count = static_cast<std::uint16_t>(slot_count());
  header.frame_bytes = static_cast<std::uint32_t>(slots_.size() + payloads_.size());
  header.body_crc32c =
      crc32c(payloads_, crc32c(std::span<const std::byte>{slots_}.subspan(kFrameHeaderBytes)));
  header.sequence = next_sequence_;
  const auto bytes = std::as_bytes(std::span{&header, 1});
  header.header_crc32c = crc32c(bytes.first(offsetof(FrameHeader, header_crc32c)));

  std::ranges::copy(bytes, slots_.begin());

  std::size_t copied_bytes = payloads_.size();
  if (out.empty()) {
    out.swap(slots_);
    grow(out, payloads_.size());
  } else {
    grow(out, header.frame_bytes);
    out.insert(out.end(), slots_.begin(), slots_.end());
    copied_bytes += slots_.size();
  }
  out.insert(out.end(), payloads_.begin(), payloads_.end());
  ++next_sequence_;
  slots_.clear();
  wipe(payloads_);
  payloads_.clear();
  return copied_bytes;
}

void FrameBuilder::restart() {
  next_sequence_ = 1;
  slots_.clear();
  payloads_.clear();
}

void FrameBuilder::release() {
  if (empty()) {
    slots_ = std::vector<std::byte>();  // {} would keep the memory.
    payloads_ = std::vector<std::byte>();
  }
}

}  // namespace gcoord::protocol
