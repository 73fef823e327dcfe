// The frame: what travels between two nodes. 64-byte header, slots, extent table, extents, padding.
//
//   header            64 bytes, see FrameHeader
//   slot_count  x     64 bytes
//   extent_count x    {slot index u32, length u32}, ascending by slot index
//   extents           each padded with zeros to 8 bytes
//   padding           zeros, to a multiple of 64 bytes, so that the next frame starts on a line
//
// All numbers are little-endian. Encoding writes into the caller's buffer; decoding copies nothing
// and trusts nothing: every length is checked against every other before anything is read, and two
// CRC32C guard header and body apart, so that a length is believed only when the header is whole.
// Frames come from outside: the answer to a bad one is a DropReason, never an assertion. Host only.
#pragma once

#include "common/ids.h"
#include "netcore/channel/drop_reason.h"
#include "netcore/memory/payload.h"
#include "netcore/memory/slot.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::netcore {

inline constexpr std::uint32_t kFrameMagic = 0x4e464347;  // "GCFN" as bytes on the wire.
inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 64;
inline constexpr std::uint32_t kFrameSlotsMax = 4096;                // 256 KiB of slots.
inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;  // Bounds a receive buffer.
inline constexpr std::uint32_t kFrameExtentsMax = 16384;  // Four per slot of a full frame.
// A greeting or a refusal with its text; what an unknown party may make a node hold.
inline constexpr std::size_t kStrangerBytesMax = 1024;

// Longest extent per band: control words, a log entry's payload, a forwarded request, a snapshot
// chunk.
inline constexpr std::array<std::uint32_t, kBandCount> kExtentBytesMax = {
    4096, 64 * 1024, 64 * 1024, 256 * 1024};

// Never renumber.
enum class FrameKind : std::uint8_t {
  Slots = 0,      // Slots of the band; `sequence` is the ring cursor of the first.
  Grant = 1,      // No slots: only the consumed cursors count.
  Heartbeat = 2,  // One slot with the liveness word; `sequence` counts heartbeats.
  Hello = 3,      // First frame of the side that called.
  Welcome = 4,    // The answer that opens the channel.
  Refusal = 5,    // The answer that does not.
  Setup = 6,      // A transport's own talk on a trusted link; never reaches a channel.
  Challenge = 7,  // First frame of a handshake with proofs, and the answer to it.
  Proven = 8,     // A Hello, Welcome or Refusal with the proof of its sender.
};

inline constexpr std::uint8_t kFrameKindCount = 9;

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint8_t version = kFrameVersion;
  Band band = Band::Control;
  FrameKind kind = FrameKind::Slots;
  std::uint8_t flags = 0;  // None defined: must be 0.
  std::uint64_t cluster = 0;
  std::uint16_t from_node = 0;
  std::uint16_t to_node = 0;
  std::uint32_t incarnation = 0;  // Of the sender.
  std::uint32_t epoch = 0;        // Of the channel; in Hello the least that the caller accepts.
  std::uint32_t sequence = 0;     // Low 32 bits; meaning by kind.
  std::uint16_t slot_count = 0;
  std::uint16_t extent_count = 0;
  std::uint32_t body_bytes = 0;  // All that follows the header, padding included.
  std::array<std::uint32_t, kBandCount> consumed{};  // Credit: low 32 bits of absolute cursors.
  std::uint32_t body_crc32c = 0;
  std::uint32_t header_crc32c = 0;  // Of the 60 bytes before it.
};

static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

struct FrameView {
  FrameHeader header;
  std::span<const Slot> slots;
  PayloadView payloads;
};

// Bytes of the frame that would hold these, header and padding included.
std::size_t frame_bytes(std::size_t slot_count, std::span<const PayloadExtent> extents);

// Writes the frame; `header` needs kind, band, ids, epoch, sequence and cursors, the rest is filled
// in. `out` has exactly frame_bytes(...) bytes. The extents' slot indices are taken relative to
// `first_slot_index`. Asserts the limits: they are the sender's.
void encode_frame(FrameHeader header,
                  std::span<const Slot> slots,
                  std::span<const PayloadExtent> extents,
                  std::uint32_t first_slot_index,
                  std::span<std::byte> out);

// Judges the first 64 bytes of what arrived; None fills `header`, whose body_bytes can be believed.
DropReason decode_header(std::span<const std::byte, kFrameHeaderBytes> bytes, FrameHeader& header);

// Judges a whole frame of exactly header + body_bytes; None fills `view`, which points into
// `bytes`. Asserts that `bytes` starts on a 64-byte boundary: that is the transport's duty.
DropReason decode_frame(std::span<const std::byte> bytes, FrameView& view);

}  // namespace gcoord::netcore
