#include "common/crc32c.h"
#include "protocol/frame.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace gcoord::protocol {
namespace {

// One read of an idle connection: a few hundred requests, and small enough for 10,000 connections.
constexpr std::size_t kReadChunkBytes = 32 * 1024;

constexpr std::size_t kHeaderCheckedBytes = offsetof(FrameHeader, header_crc32c);

template <typename Slot>
Slot slot_at(std::span<const std::byte> slots, std::size_t index) {
  GCOORD_ASSERT(index < slots.size() / kSlotBytes);
  Slot slot;
  std::memcpy(static_cast<void*>(&slot), slots.data() + index * kSlotBytes, kSlotBytes);
  return slot;
}

bool range_fits(std::uint32_t offset, std::uint32_t bytes, std::size_t area_bytes) {
  return std::uint64_t{offset} + bytes <= area_bytes;
}

// Whether every slot's payload lies in the area, and together they take no more than it; Slot says
// where its reference stands. The sum stands for "no two overlap": slots that share one payload
// would make a node do a frame's work many thousand times over.
template <typename Slot>
bool ranges_fit(std::span<const std::byte> slots, std::size_t area_bytes) {
  std::uint64_t sum_bytes = 0;
  for (std::size_t start = 0; start < slots.size(); start += kSlotBytes) {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    std::memcpy(&offset, slots.data() + start + offsetof(Slot, payload_offset), sizeof(offset));
    std::memcpy(&bytes, slots.data() + start + offsetof(Slot, payload_bytes), sizeof(bytes));
    sum_bytes += bytes;
    if (!range_fits(offset, bytes, area_bytes) || sum_bytes > area_bytes) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string_view bad_frame_name(BadFrame reason) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(BadFrame::Count)> kNames =
      {"none",
       "magic",
       "version",
       "header_checksum",
       "flags",
       "oversized",
       "undersized",
       "empty",
       "body_checksum",
       "replayed",
       "payload_range"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kNames.size() ? kNames[index] : std::string_view{"unknown"};
}

RequestSlot FrameView::request(std::size_t index) const {
  return slot_at<RequestSlot>(slots_, index);
}

ReplySlot FrameView::reply(std::size_t index) const {
  return slot_at<ReplySlot>(slots_, index);
}

const RequestSlot& FrameView::request(std::size_t index, RequestSlot& copy) const {
  GCOORD_ASSERT(index < slot_count());
  const std::byte* const place = slots_.data() + index * kSlotBytes;
  if (reinterpret_cast<std::uintptr_t>(place) % alignof(RequestSlot) != 0) {
    copy = request(index);
    return copy;
  }
  return *reinterpret_cast<const RequestSlot*>(place);
}

std::span<const std::byte> FrameView::payload(const RequestSlot& slot) const {
  return secret(slot);
}

std::span<const std::byte> FrameView::payload(const ReplySlot& slot) const {
  return secret(slot);
}

std::span<std::byte> FrameView::secret(const RequestSlot& slot) const {
  GCOORD_ASSERT(range_fits(slot.payload_offset, slot.payload_bytes, payloads_.size()));
  return payloads_.subspan(slot.payload_offset, slot.payload_bytes);
}

std::span<std::byte> FrameView::secret(const ReplySlot& slot) const {
  GCOORD_ASSERT(range_fits(slot.payload_offset, slot.payload_bytes, payloads_.size()));
  return payloads_.subspan(slot.payload_offset, slot.payload_bytes);
}

std::span<std::byte> FrameDecoder::writable() {
  compact();
  // A believed header says how much is still to come; that and no more is made room for.
  const std::size_t wanted = std::max(end_ + 1, begin_ + needed_bytes_);
  const std::size_t capacity = std::max(kReadChunkBytes, wanted);
  if (buffer_.size() < capacity) {
    buffer_.resize(capacity);
  }
  return std::span{buffer_}.subspan(end_);
}

void FrameDecoder::written(std::size_t byte_count) {
  GCOORD_ASSERT(byte_count <= buffer_.size() - end_);
  end_ += byte_count;
}

std::span<std::byte> FrameDecoder::spare() {
  compact();
  buffer_.resize(buffer_.capacity());
  return std::span{buffer_}.subspan(end_);
}

std::span<std::byte> FrameDecoder::room_for(std::size_t byte_count) {
  compact();
  const std::size_t wanted = end_ + byte_count;
  if (buffer_.capacity() < wanted) {
    // Doubled, so that a large frame is not copied with each of its pieces, but not beyond its end.
    buffer_.reserve(std::max(wanted, std::min(2 * wanted, begin_ + needed_bytes_)));
  }
  if (buffer_.size() < wanted) {
    buffer_.resize(wanted);
  }
  return std::span{buffer_}.subspan(end_, byte_count);
}

void FrameDecoder::append(std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, room_for(bytes.size()).begin());
  end_ += bytes.size();
}

DecodeStep FrameDecoder::next(FrameView& frame) {
  if (bad_ != BadFrame::None) {
    return DecodeStep::Bad;
  }
  const auto bytes = std::span{buffer_}.subspan(begin_, end_ - begin_);
  if (bytes.size() < kFrameHeaderBytes) {
    return need_more(bytes.size());
  }
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (needed_bytes_ == 0) {
    if (const BadFrame reason = check_header(header, bytes); reason != BadFrame::None) {
      return fail(reason);
    }
    needed_bytes_ = header.frame_bytes;
  }
  if (bytes.size() < needed_bytes_) {
    return need_more(bytes.size());
  }
  const auto whole = bytes.first(needed_bytes_);
  if (const BadFrame reason = check_body(header, whole); reason != BadFrame::None) {
    return fail(reason);
  }
  const std::size_t slots_bytes = header.slot_count * kSlotBytes;
  const auto body = whole.subspan(kFrameHeaderBytes);
  frame = FrameView{header.sequence, body.first(slots_bytes), body.subspan(slots_bytes)};
  last_sequence_ = header.sequence;
  begin_ += needed_bytes_;
  needed_bytes_ = 0;
  begun_ = false;
  return DecodeStep::Frame;
}

BadFrame FrameDecoder::check_header(const FrameHeader& header,
                                    std::span<const std::byte> bytes) const {
  if (header.magic != kFrameMagic) {
    return BadFrame::Magic;
  }
  if (header.version != kFrameVersion) {
    return BadFrame::Version;
  }
  if (crc32c(bytes.first(kHeaderCheckedBytes)) != header.header_crc32c) {
    return BadFrame::HeaderChecksum;
  }
  const auto flags = direction_ == FrameDirection::Replies
                         ? static_cast<std::uint8_t>(FrameFlag::Replies)
                         : std::uint8_t{0};
  if (header.flags != flags || header.reserved != 0) {
    return BadFrame::Flags;
  }
  if (header.frame_bytes > kFrameBytesMax) {
    return BadFrame::Oversized;
  }
  if (header.slot_count == 0) {
    return BadFrame::Empty;
  }
  if (header.frame_bytes < kFrameHeaderBytes + header.slot_count * kSlotBytes) {
    return BadFrame::Undersized;
  }
  return header.sequence > last_sequence_ ? BadFrame::None : BadFrame::Replayed;
}

BadFrame FrameDecoder::check_body(const FrameHeader& header,
                                  std::span<const std::byte> frame) const {
  const auto body = frame.subspan(kFrameHeaderBytes);
  if (crc32c(body) != header.body_crc32c) {
    return BadFrame::BodyChecksum;
  }
  const std::size_t slots_bytes = header.slot_count * kSlotBytes;
  const auto slots = body.first(slots_bytes);
  const std::size_t area_bytes = body.size() - slots_bytes;
  const bool fits = direction_ == FrameDirection::Replies
                        ? ranges_fit<ReplySlot>(slots, area_bytes)
                        : ranges_fit<RequestSlot>(slots, area_bytes);
  return fits ? BadFrame::None : BadFrame::PayloadRange;
}

DecodeStep FrameDecoder::need_more(std::size_t byte_count) {
  begun_ = byte_count > 0;
  return DecodeStep::NeedMore;
}

void FrameDecoder::release() {
  if (begin_ == end_) {
    buffer_ = std::vector<std::byte>();  // {} would keep the memory.
    begin_ = 0;
    end_ = 0;
  }
}

DecodeStep FrameDecoder::fail(BadFrame reason) {
  bad_ = reason;
  return DecodeStep::Bad;
}

void FrameDecoder::compact() {
  if (begin_ == 0) {
    return;
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  // A large frame has passed: give its memory back rather than keep it for the connection's life.
  if (buffer_.size() > kReadChunkBytes && end_ <= kReadChunkBytes && needed_bytes_ == 0) {
    buffer_.resize(kReadChunkBytes);
    buffer_.shrink_to_fit();
  }
}

}  // namespace gcoord::protocol
