// Messages in memory that many rows share: where a step puts them, and where it takes them from.
//
// What: a message is four chunks of 16 bytes. On the host the chunks of one message lie side by
// side, so that a sink over an array of Message fills it. On a device the messages of 32
// neighbouring places form a tile, chunk by chunk: the lanes of a warp, which emit their k-th
// message at the same time, then write 512 bytes in one piece, and read them the same way.
// Why strides instead of two classes: the step is compiled once, for host and device, and the
// distance between two chunks is all that differs.
// Contract: one writer per place and step; readers come after a barrier between kernels (or in the
// same thread). Memory is aligned to 16 bytes. Host and device; units are chunks unless said.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "consensus/message.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gcoord::consensus {

// The widest load and store of one thread.
struct alignas(16) MessageChunk {
  std::uint64_t word[2];
};

inline constexpr std::uint32_t kMessageChunks = sizeof(Message) / sizeof(MessageChunk);
static_assert(kMessageChunks == 4);

// Places of one tile: the lanes of a warp.
inline constexpr std::uint32_t kTilePlaces = 32;

// Copies one chunk between places that are both aligned; compiles to one wide access.
GCOORD_HD inline void copy_chunk(void* to, const void* from) {
  std::memcpy(__builtin_assume_aligned(to, sizeof(MessageChunk)),
              __builtin_assume_aligned(from, sizeof(MessageChunk)),
              sizeof(MessageChunk));
}

// Where one row's messages go: message k has its chunk c at
// start + k * message_stride + c * chunk_stride, for k below message_count_max.
struct MessageSink {
  std::byte* start = nullptr;
  std::uint32_t message_stride = 0;
  std::uint32_t chunk_stride = 0;
  std::uint32_t message_count_max = 0;

  GCOORD_HD std::byte* chunk(std::uint32_t k, std::uint32_t c) const {
    const std::size_t chunks =
        static_cast<std::size_t>(k) * message_stride + static_cast<std::size_t>(c) * chunk_stride;
    return start + chunks * sizeof(MessageChunk);
  }

  GCOORD_HD void store(std::uint32_t k, const Message& message) const {
    GCOORD_ASSERT(k < message_count_max);
    const auto* bytes = reinterpret_cast<const std::byte*>(&message);
    for (std::uint32_t c = 0; c < kMessageChunks; ++c) {
      copy_chunk(chunk(k, c), bytes + c * sizeof(MessageChunk));
    }
  }
};

// A sink over an ordinary array.
GCOORD_HD inline MessageSink sink_of(Message* messages, std::uint32_t message_count_max) {
  return {reinterpret_cast<std::byte*>(messages), kMessageChunks, 1, message_count_max};
}

// The messages of many places, as one side of a channel keeps them for one turn: plane k holds the
// k-th message of every place, as tiles. A POD view; pass by value.
struct MessageTiles {
  std::byte* start = nullptr;
  std::uint32_t place_count = 0;  // A multiple of kTilePlaces.
  std::uint32_t plane_count = 0;  // Messages per place at most.

  static constexpr std::size_t bytes_for(std::uint32_t places, std::uint32_t planes) {
    return static_cast<std::size_t>(places) * planes * sizeof(Message);
  }

  GCOORD_HD MessageSink sink(std::uint32_t place) const {
    GCOORD_ASSERT(place < place_count);
    const std::size_t first =
        static_cast<std::size_t>(place / kTilePlaces) * kTilePlaces * kMessageChunks +
        place % kTilePlaces;
    return {start + first * sizeof(MessageChunk),
            place_count * kMessageChunks,
            kTilePlaces,
            plane_count};
  }
};

// One message that lies in a tile (or beside another one), by its first chunk.
struct MessagePlace {
  const std::byte* start = nullptr;
  std::uint32_t chunk_stride = 0;

  // The chunk that names shard, kind, sender and receiver: enough to pass over a message that is
  // meant for somebody else. The other fields are as in a fresh message.
  GCOORD_HD Message header() const {
    Message m;
    copy_chunk(&m, start);
    return m;
  }

  GCOORD_HD Message load() const {
    Message m;
    auto* bytes = reinterpret_cast<std::byte*>(&m);
    for (std::uint32_t c = 0; c < kMessageChunks; ++c) {
      copy_chunk(bytes + c * sizeof(MessageChunk),
                 start + static_cast<std::size_t>(c) * chunk_stride * sizeof(MessageChunk));
    }
    return m;
  }
};

}  // namespace gcoord::consensus
