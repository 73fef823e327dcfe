// Layout of the memory that a client and a node of one host share: a ring of requests and a ring of
// replies, each with one writer and one reader.
//
//   page of words, 4096 bytes | bytes of the request ring | bytes of the reply ring
//
// A ring carries the byte stream that a TCP connection would carry (protocol/frame.h), cut into
// pieces. A piece begins on a line of 64 bytes with a header of 32 bytes; so the slots of a frame
// that begins a piece lie on lines of their own, as a kernel stores them. Cursors count bytes, only
// grow and are multiples of 64; a place is cursor % capacity. Each word has one writer, so no
// atomic read-modify-write is needed that a device and a host do not share (O8 of
// docs/internals/memory_order.md).
//
// Both ends may be of different builds: never renumber, and count kClientRingLayout up when
// anything here changes. Host and device; no state.
#pragma once

#include "common/hd.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::uint32_t kClientRingLayout = 1;

inline constexpr std::uint32_t kRingLineBytes = 64;
inline constexpr std::uint32_t kRingPageBytes = 4096;

// Capacity of one ring: powers of two. A piece never has more bytes than the largest, so a reader
// with that much room takes any.
inline constexpr std::uint32_t kRingBytesMin = 4096;
inline constexpr std::uint32_t kRingBytesMax = 64 << 10;

// The words of one ring.
struct ClientRingWords {
  // So many bytes were written. The writer's.
  alignas(kRingLineBytes) std::uint64_t written = 0;
  // So many of them were read. The reader's.
  alignas(kRingLineBytes) std::uint64_t read = 0;
  // Odd: the reader sleeps, and wants a bell when something is written. Only grows. The reader's.
  alignas(kRingLineBytes) std::uint64_t reader_sleep = 0;
  // Odd: the writer waits, and wants a bell when something is read. Only grows. The writer's.
  alignas(kRingLineBytes) std::uint64_t writer_wait = 0;
};

static_assert(sizeof(ClientRingWords) == 256);

struct ClientRingPage {
  ClientRingWords request;  // The client writes, the node reads.
  ClientRingWords reply;    // The node writes, the client reads.
};

static_assert(sizeof(ClientRingPage) <= kRingPageBytes);

// What a piece begins with; behind it lie `bytes` of the stream, and zeros or anything up to the
// next line.
struct RingPiece {
  std::uint64_t stamp = 0;  // piece_stamp() of the cursor at which it begins.
  std::uint32_t bytes = 0;  // At least 1.
  std::uint32_t reserved[5] = {};
};

static_assert(sizeof(RingPiece) == kRingLineBytes / 2);

// The number of the line, from 1: 0 is never valid (O3).
GCOORD_HD constexpr std::uint64_t piece_stamp(std::uint64_t cursor) {
  return cursor / kRingLineBytes + 1;
}

// Bytes of the ring that a piece takes.
GCOORD_HD constexpr std::uint64_t piece_span(std::uint64_t bytes) {
  return (sizeof(RingPiece) + bytes + kRingLineBytes - 1) / kRingLineBytes * kRingLineBytes;
}

struct ClientRingShape {
  std::uint32_t request_bytes = kRingBytesMax;
  std::uint32_t reply_bytes = kRingBytesMax;

  friend constexpr bool operator==(const ClientRingShape&, const ClientRingShape&) = default;
};

GCOORD_HD constexpr bool is_ring_capacity(std::uint32_t bytes) {
  return bytes >= kRingBytesMin && bytes <= kRingBytesMax && (bytes & (bytes - 1)) == 0;
}

constexpr bool is_sound(const ClientRingShape& shape) {
  return is_ring_capacity(shape.request_bytes) && is_ring_capacity(shape.reply_bytes);
}

constexpr std::size_t mapped_bytes(const ClientRingShape& shape) {
  return std::size_t{kRingPageBytes} + shape.request_bytes + shape.reply_bytes;
}

// One ring, as either of its ends has it mapped. Passed by value.
struct ClientRingView {
  ClientRingWords* words = nullptr;
  std::byte* bytes = nullptr;
  std::uint32_t capacity = 0;
};

}  // namespace gcoord::netcore
