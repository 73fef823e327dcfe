// Frames of the client protocol: how bytes on a stream become a batch of fixed 64-byte slots.
//
//   header, 32 bytes | slot_count slots of 64 bytes | payload area
//
// Each slot names its payload as (offset, bytes) within the payload area. All integers are
// little-endian. The same frame carries requests (client to node) and replies (node to client); a
// flag says which. docs/reference/wire_format.md shows every byte.
//
// FrameBuilder writes frames, FrameDecoder reads them from a stream in pieces of any size. The
// decoder trusts nothing: it checks the header's own checksum before it believes a length, never
// holds more than one frame beyond what was read, and answers a bad stream with one reason, for
// ever. It is the reader's duty to close the connection and count the reason.
//
// Not thread-safe; one builder and one decoder per connection and direction.
#pragma once

#include "protocol/limits.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// The bytes "GCRP" as a little-endian word.
inline constexpr std::uint32_t kFrameMagic = 0x5052'4347;

// Version of the framing. What is inside slots is negotiated by Hello.
inline constexpr std::uint8_t kFrameVersion = 1;

// Never renumber: bits of FrameHeader::flags.
enum class FrameFlag : std::uint8_t {
  Replies = 1,  // The slots are ReplySlots.
};

// The first 32 bytes of a frame, as they lie on the wire.
struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint8_t version = kFrameVersion;
  std::uint8_t flags = 0;
  std::uint16_t slot_count = 0;
  std::uint32_t frame_bytes = 0;    // Header, slots and payloads.
  std::uint32_t body_crc32c = 0;    // Of everything after the header.
  std::uint64_t sequence = 0;       // Rises from 1 within a connection and direction.
  std::uint32_t reserved = 0;       // Zero.
  std::uint32_t header_crc32c = 0;  // Of the 28 bytes before it.
};

static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

enum class FrameDirection : std::uint8_t { Requests, Replies };

// Why a stream cannot be read any further. Never renumber: the numbers label a metric.
enum class BadFrame : std::uint8_t {
  None = 0,
  Magic = 1,
  Version = 2,  // Answer with ErrorCode::VersionUnsupported, then close.
  HeaderChecksum = 3,
  Flags = 4,  // Unknown bits, the wrong direction, or reserved bytes that are not zero.
  Oversized = 5,
  Undersized = 6,  // frame_bytes does not cover the header and the slots.
  Empty = 7,       // No slot: it would cost work and ask for nothing.
  BodyChecksum = 8,
  Replayed = 9,  // The sequence did not rise.
  PayloadRange =
      10,  // A slot names bytes outside the payload area, or slots name more than it has.
  Count = 11,
};

// "body_checksum" and the like, for metric labels and messages.
std::string_view bad_frame_name(BadFrame reason);

// A decoded frame; views into the decoder's buffer, valid until its next call.
class FrameView {
 public:
  FrameView() = default;

  FrameView(std::uint64_t sequence, std::span<const std::byte> slots, std::span<std::byte> payloads)
      : sequence_(sequence), slots_(slots), payloads_(payloads) {}

  std::uint64_t sequence() const { return sequence_; }

  std::size_t slot_count() const { return slots_.size() / kSlotBytes; }

  // A copy, because slots on a stream have no alignment. index < slot_count().
  RequestSlot request(std::size_t index) const;
  ReplySlot reply(std::size_t index) const;

  // The same where it lies, as long as the view is valid; `copy` where it is not aligned there.
  const RequestSlot& request(std::size_t index, RequestSlot& copy) const;

  // The payload of a slot of this frame; its range was checked by the decoder.
  std::span<const std::byte> payload(const RequestSlot& slot) const;
  std::span<const std::byte> payload(const ReplySlot& slot) const;

  // The same for whoever overwrites it once it was read (secret_kinds.h).
  std::span<std::byte> secret(const RequestSlot& slot) const;
  std::span<std::byte> secret(const ReplySlot& slot) const;

 private:
  std::uint64_t sequence_ = 0;
  std::span<const std::byte> slots_;
  std::span<std::byte> payloads_;
};

enum class DecodeStep : std::uint8_t { Frame, NeedMore, Bad };

class FrameDecoder {
 public:
  explicit FrameDecoder(FrameDirection direction) : direction_(direction) {}

  // Room for at least one byte to read into; follow with written(). Invalidates views.
  std::span<std::byte> writable();

  // The first byte_count bytes of the last writable() were filled.
  void written(std::size_t byte_count);

  // Memory behind what has come that is there already, perhaps none; follow with written().
  // Invalidates views.
  std::span<std::byte> spare();

  // Room for so many bytes, which are here and follow by written(). Invalidates views.
  std::span<std::byte> room_for(std::size_t byte_count);

  // Copies in; for tests, and for what had to be read elsewhere. Any size.
  void append(std::span<const std::byte> bytes);

  // The next frame, if whole. After Bad every further call says Bad.
  DecodeStep next(FrameView& frame);

  // Why next() said Bad.
  BadFrame bad() const { return bad_; }

  // Bytes of memory held; at most two frames, and one read chunk when the stream is idle. Where
  // writable() is not used it grows with what came, not with what a header announces.
  std::size_t capacity_bytes() const { return buffer_.capacity(); }

  // Whether the first bytes of a frame are here and its last are not, as of the last next().
  bool begun() const { return begun_; }

  // Of the last whole frame; 0 before the first.
  std::uint64_t last_sequence() const { return last_sequence_; }

  // Gives the memory back if no byte waits in it. Invalidates views, and the room of writable().
  void release();

 private:
  BadFrame check_header(const FrameHeader& header, std::span<const std::byte> bytes) const;
  BadFrame check_body(const FrameHeader& header, std::span<const std::byte> frame) const;
  DecodeStep fail(BadFrame reason);
  DecodeStep need_more(std::size_t byte_count);
  void compact();

  FrameDirection direction_;
  BadFrame bad_ = BadFrame::None;
  std::uint64_t last_sequence_ = 0;
  std::size_t begin_ = 0;         // First byte not yet consumed.
  std::size_t end_ = 0;           // First byte not yet filled.
  std::size_t needed_bytes_ = 0;  // Of the frame under way, once its header was believed.
  bool begun_ = false;
  std::vector<std::byte> buffer_;
};

// Collects slots and payloads and writes them out as frames. Reuse one: its memory is kept.
class FrameBuilder {
 public:
  explicit FrameBuilder(FrameDirection direction) : direction_(direction) {}

  // Whether one more slot with a payload of this size stays within a frame.
  bool fits(std::size_t payload_bytes) const;

  // Adds a slot; fits(payload.size()) must hold. Fills in the payload reference.
  void add(RequestSlot slot, std::span<const std::byte> payload = {});
  void add(ReplySlot slot, std::span<const std::byte> payload = {});

  bool empty() const { return slots_.empty(); }

  std::size_t slot_count() const {
    return empty() ? 0 : (slots_.size() - kFrameHeaderBytes) / kSlotBytes;
  }

  // Appends the frame to out, with the next sequence of this builder, and starts a new one. Not
  // empty. An `out` without bytes takes the builder's memory and gives its own, so that no slot is
  // copied. The bytes that were copied.
  std::size_t finish(std::vector<std::byte>& out);

  // Starts a new stream: forgets what was added and counts sequences from 1 again.
  void restart();

  // Bytes of memory held.
  std::size_t capacity_bytes() const { return slots_.capacity() + payloads_.capacity(); }

  // Gives the memory back if nothing was added since the last finish().
  void release();

 private:
  void add_bytes(const void* slot, std::span<const std::byte> payload);

  FrameDirection direction_;
  std::uint64_t next_sequence_ = 1;
  std::vector<std::byte> slots_;  // Behind room for the header, once there are any.
  std::vector<std::byte> payloads_;
};

}  // namespace gcoord::protocol
