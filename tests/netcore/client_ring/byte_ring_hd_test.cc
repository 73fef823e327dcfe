// Both ends of a ring, on the host and in a kernel.
#include "common/random.h"
#include "tests/hd_test.h"
#include "tests/netcore/client_ring/byte_ring_samples.h"

namespace gcoord::netcore {
namespace {

// 12 rounds of up to 600 bytes go around a ring of 4,096 bytes more than once.
HD_TEST(ByteRing, BytesComeOutAsTheyWentInAroundTheRing) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  RingReader reader{ring.view()};
  std::byte taken[kSampleCapacity];
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (std::uint32_t round = 0; round < 12; ++round) {
    std::byte piece[600];
    const auto count = static_cast<std::uint32_t>(1 + random64(seed, round, 0) % sizeof(piece));
    for (std::uint32_t k = 0; k < count; ++k) {
      piece[k] = sample_byte(written + k);
    }
    HD_EXPECT(writer.write(piece, count) == count);
    written += count;
    HD_EXPECT(!reader.has_input());  // Not before it is published.
    HD_EXPECT(!writer.publish());    // Nobody sleeps.
    HD_EXPECT(reader.has_input());
    const RingTaken found = reader.take(taken, sizeof(taken));
    HD_EXPECT(found.bytes == count && !found.wakes);
    for (std::uint32_t k = 0; k < found.bytes; ++k) {
      HD_EXPECT(taken[k] == sample_byte(read + k));
    }
    read += found.bytes;
  }
  HD_EXPECT(!writer.broken() && !reader.broken());
}

HD_TEST(ByteRing, AFullRingTakesNothingAndGoesOnWhereItStopped) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  RingReader reader{ring.view()};
  std::byte piece[700];
  std::uint64_t offered = 0;
  std::uint32_t count = 0;
  const auto size = static_cast<std::uint32_t>(1 + seed % sizeof(piece));
  for (std::uint32_t k = 0; k < kSampleCapacity / kRingLineBytes + 1; ++k) {
    for (std::uint32_t at = 0; at < size; ++at) {
      piece[at] = sample_byte(offered + at);
    }
    count = writer.write(piece, size);
    offered += count;
    if (count < size) {
      break;
    }
  }
  HD_EXPECT(count < size);
  writer.publish();
  HD_EXPECT(!writer.has_room() && writer.arm() && writer.is_armed());
  std::byte taken[kSampleCapacity];
  const RingTaken found = reader.take(taken, sizeof(taken));
  HD_EXPECT(found.bytes == offered && found.wakes);
  for (std::uint32_t k = 0; k < found.bytes; ++k) {
    HD_EXPECT(taken[k] == sample_byte(k));
  }
  HD_EXPECT(writer.has_room() && !writer.arm() && !writer.is_armed());
}

HD_TEST(ByteRing, ASleeperIsWokenOncePerSleepAndNotBetween) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  RingReader reader{ring.view()};
  std::byte byte{1};
  std::byte taken[kSampleCapacity];
  for (std::uint32_t sleep = 0; sleep <= seed % 4; ++sleep) {
    HD_EXPECT(reader.arm());
    HD_EXPECT(writer.write(&byte, 1) == 1 && writer.publish());
    HD_EXPECT(writer.write(&byte, 1) == 1 && !writer.publish());
    HD_EXPECT(!reader.arm());  // Something is here.
    HD_EXPECT(reader.take(taken, sizeof(taken)).bytes == 2);
    HD_EXPECT(writer.write(&byte, 1) == 1 && !writer.publish());
    HD_EXPECT(reader.take(taken, sizeof(taken)).bytes == 1);
  }
}

// Any word from the other side is judged, and none leads outside the ring.
HD_TEST(ByteRing, WordsThatCannotBeBreakTheRingForEver) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  RingReader reader{ring.view()};
  std::byte bytes[100] = {};
  writer.write(bytes, sizeof(bytes));
  writer.publish();
  const std::uint64_t honest = ring.words.written;
  const std::uint64_t word = random64(seed, 1, 0) >> (seed % 64);
  ring.words.written = word;
  const bool may_be = word <= kSampleCapacity && word % kRingLineBytes == 0;
  std::byte taken[kSampleCapacity];
  const RingTaken found = reader.take(taken, sizeof(taken));
  HD_EXPECT(may_be || (reader.broken() && found.bytes == 0));
  HD_EXPECT(found.bytes <= kSampleCapacity);
  if (reader.broken()) {
    ring.words.written = honest;
    HD_EXPECT(reader.take(taken, sizeof(taken)).bytes == 0 && reader.has_input() && !reader.arm());
  }
  ring.words.read = word;
  const bool was_written = word <= honest && word % kRingLineBytes == 0;
  HD_EXPECT(writer.has_room());
  HD_EXPECT(writer.broken() == !was_written);
  HD_EXPECT(was_written || (writer.write(bytes, 1) == 0 && !writer.arm()));
}

HD_TEST(ByteRing, APieceThatCannotBeBreaksTheRing) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  RingReader reader{ring.view()};
  std::byte bytes[100] = {};
  writer.write(bytes, sizeof(bytes));
  writer.publish();
  // A bit of the stamp, or of the length: with 96 more bytes the piece would end behind what came.
  const std::uint32_t bit = seed % 96;
  const bool length = bit >= 64;
  std::byte& hit = ring.bytes[bit / 8];
  hit = static_cast<std::byte>(static_cast<unsigned>(hit) ^ 1u << bit % 8);
  RingPiece piece;  // As it is now: the reader overwrites what it takes.
  memcpy(&piece, ring.bytes, sizeof(piece));
  std::byte taken[kSampleCapacity];
  const RingTaken found = reader.take(taken, sizeof(taken));
  const bool may_be = length && piece.bytes > 0 && piece_span(piece.bytes) <= ring.words.written;
  HD_EXPECT(reader.broken() || may_be);
  HD_EXPECT(found.bytes == 0 || may_be);
}

}  // namespace
}  // namespace gcoord::netcore
