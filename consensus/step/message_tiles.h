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
#include "consensus/step/message.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gcoord::consensus {

// The widest load and store of one thread. May name memory that holds another type: messages and
// packed rows (packed_words.h) are moved by it.
struct alignas(16) [[gnu::may_alias]] MessageChunk {
  std::uint64_t word[2];
};

inline constexpr std::uint32_t kMessageChunks = sizeof(Message) / sizeof(MessageChunk);
static_assert(kMessageChunks == 4);

// Places of one tile: the lanes of a warp.
inline constexpr std::uint32_t kTilePlaces = 32;

// One chunk between aligned memory and two words; compiles to one wide access.
GCOORD_HD inline MessageChunk load_chunk(const void* from) {
  return *static_cast<const MessageChunk*>(from);
}

GCOORD_HD inline void store_chunk(void* to, std::uint64_t low, std::uint64_t high) {
  *static_cast<MessageChunk*>(to) = MessageChunk{{low, high}};
}

// The first two words of a message, field by field: a message that is copied as bytes would have to
// lie in memory, and a thread's memory is far away. Little-endian, as in memory (message.h).
GCOORD_HD inline std::uint64_t first_word(const Message& m) {
  return m.shard.value | static_cast<std::uint64_t>(m.kind) << 32 |
         static_cast<std::uint64_t>(m.flags) << 40 | static_cast<std::uint64_t>(m.count) << 48;
}

GCOORD_HD inline std::uint64_t second_word(const Message& m) {
  return m.from.value | static_cast<std::uint64_t>(m.to.value) << 32;
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

  GCOORD_HD void store(std::uint32_t k, const Message& m) const {
    GCOORD_ASSERT(k < message_count_max);
    store_chunk(chunk(k, 0), first_word(m), second_word(m));
    store_chunk(chunk(k, 1), m.term.value, m.index.value);
    store_chunk(chunk(k, 2), m.log_term.value, m.commit.value);
    store_chunk(chunk(k, 3), m.entry_term, m.context);
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
struct MessageSlot {
  const std::byte* start = nullptr;
  std::uint32_t chunk_stride = 0;

  GCOORD_HD MessageChunk chunk(std::uint32_t c) const {
    return load_chunk(start + static_cast<std::size_t>(c) * chunk_stride * sizeof(MessageChunk));
  }

  // Kind and receiver without the rest: enough to pass over a message for somebody else.
  GCOORD_HD MessageKind kind() const {
    return static_cast<MessageKind>(chunk(0).word[0] >> 32 & 0xffu);
  }

  GCOORD_HD NodeId receiver() const {
    return NodeId{static_cast<std::uint32_t>(chunk(0).word[1] >> 32)};
  }

  GCOORD_HD Message load() const {
    const MessageChunk names = chunk(0);
    const MessageChunk position = chunk(1);
    const MessageChunk decided = chunk(2);
    const MessageChunk rest = chunk(3);
    Message m;
    m.shard = ShardId{static_cast<std::uint32_t>(names.word[0])};
    m.kind = static_cast<MessageKind>(names.word[0] >> 32 & 0xffu);
    m.flags = static_cast<std::uint8_t>(names.word[0] >> 40);
    m.count = static_cast<std::uint16_t>(names.word[0] >> 48);
    m.from = NodeId{static_cast<std::uint32_t>(names.word[1])};
    m.to = NodeId{static_cast<std::uint32_t>(names.word[1] >> 32)};
    m.term = Term{position.word[0]};
    m.index = LogIndex{position.word[1]};
    m.log_term = Term{decided.word[0]};
    m.commit = LogIndex{decided.word[1]};
    m.entry_term = rest.word[0];
    m.context = rest.word[1];
    return m;
  }
};

}  // namespace gcoord::consensus
