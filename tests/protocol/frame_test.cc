#include "protocol/frame.h"

#include "common/crc32c.h"
#include "protocol/lock_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

using Bytes = std::vector<std::byte>;

RequestSlot numbered(std::uint64_t request_id) {
  RequestSlot slot;
  slot.kind = RequestKind::LockGet;
  slot.request_id = request_id;
  return slot;
}

// Three requests, the middle one without payload.
Bytes small_frame(FrameBuilder& builder) {
  builder.add(numbered(1), bytes_of("first"));
  builder.add(numbered(2));
  builder.add(numbered(3), bytes_of("third name"));
  Bytes out;
  builder.finish(out);
  return out;
}

Bytes small_frame() {
  FrameBuilder builder{FrameDirection::Requests};
  return small_frame(builder);
}

BadFrame reason_of(const Bytes& bytes) {
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(bytes);
  FrameView frame;
  return decoder.next(frame) == DecodeStep::Bad ? decoder.bad() : BadFrame::None;
}

// Changes the header and makes its checksum right again.
template <typename Change>
Bytes with_header(Change change) {
  Bytes bytes = small_frame();
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  const auto checked = std::as_bytes(std::span{&header, 1});
  header.header_crc32c = crc32c(checked.first(offsetof(FrameHeader, header_crc32c)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST(Frame, CarriesSlotsAndPayloadsUnchanged) {
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(small_frame());
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  ASSERT_EQ(frame.slot_count(), 3u);
  EXPECT_EQ(frame.sequence(), 1u);
  EXPECT_EQ(frame.request(0).request_id, 1u);
  EXPECT_EQ(text_of(frame.payload(frame.request(0))), "first");
  EXPECT_TRUE(frame.payload(frame.request(1)).empty());
  EXPECT_EQ(text_of(frame.payload(frame.request(2))), "third name");
  EXPECT_EQ(decoder.next(frame), DecodeStep::NeedMore);
}

TEST(Frame, CarriesRepliesInTheOtherDirection) {
  FrameBuilder builder{FrameDirection::Replies};
  ReplySlot reply = reply_to(numbered(9));
  reply.token = 77;
  builder.add(reply, bytes_of("payload"));
  Bytes bytes;
  builder.finish(bytes);
  FrameDecoder decoder{FrameDirection::Replies};
  decoder.append(bytes);
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  EXPECT_EQ(frame.reply(0).token, 77u);
  EXPECT_EQ(frame.reply(0).request_id, 9u);
  EXPECT_EQ(text_of(frame.payload(frame.reply(0))), "payload");
  EXPECT_EQ(reason_of(bytes), BadFrame::Flags);
}

TEST(Frame, GivesASecretForOverwritingAndGoesOn) {
  FrameBuilder builder{FrameDirection::Requests};
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(small_frame(builder));
  decoder.append(small_frame(builder));
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  std::ranges::fill(frame.secret(frame.request(0)), std::byte{'x'});
  EXPECT_EQ(text_of(frame.payload(frame.request(0))), "xxxxx");
  EXPECT_EQ(text_of(frame.payload(frame.request(2))), "third name");
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  EXPECT_EQ(text_of(frame.payload(frame.request(0))), "first");
}

TEST(Frame, IsReadFromAStreamOfSingleBytes) {
  FrameBuilder builder{FrameDirection::Requests};
  Bytes stream = small_frame(builder);
  const Bytes second = small_frame(builder);
  stream.insert(stream.end(), second.begin(), second.end());
  FrameDecoder decoder{FrameDirection::Requests};
  FrameView frame;
  std::size_t frame_count = 0;
  for (const std::byte byte : stream) {
    decoder.writable()[0] = byte;
    decoder.written(1);
    const DecodeStep step = decoder.next(frame);
    ASSERT_NE(step, DecodeStep::Bad);
    frame_count += step == DecodeStep::Frame ? 1 : 0;
  }
  EXPECT_EQ(frame_count, 2u);
  EXPECT_EQ(frame.sequence(), 2u);
}

TEST(Frame, IsReadFromAStreamInPiecesOfEverySize) {
  FrameBuilder builder{FrameDirection::Requests};
  Bytes stream;
  for (int round = 0; round < 20; ++round) {
    const Bytes bytes = small_frame(builder);
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  for (std::size_t piece = 1; piece < stream.size(); piece = piece * 3 / 2 + 1) {
    FrameDecoder decoder{FrameDirection::Requests};
    FrameView frame;
    std::size_t frame_count = 0;
    for (std::size_t start = 0; start < stream.size(); start += piece) {
      decoder.append(std::span{stream}.subspan(start, std::min(piece, stream.size() - start)));
      while (decoder.next(frame) == DecodeStep::Frame) {
        ++frame_count;
      }
    }
    EXPECT_EQ(frame_count, 20u) << piece;
  }
}

TEST(Frame, OfWhichAnyTailIsMissingIsNotRead) {
  const Bytes bytes = small_frame();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    FrameDecoder decoder{FrameDirection::Requests};
    decoder.append(std::span{bytes}.first(length));
    FrameView frame;
    EXPECT_EQ(decoder.next(frame), DecodeStep::NeedMore) << length;
  }
}

TEST(Frame, WithAnyBitFlippedIsRefused) {
  const Bytes bytes = small_frame();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(reason_of(flipped), BadFrame::None) << bit;
  }
}

TEST(Frame, ThatBreaksARuleIsRefusedForThatReason) {
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.magic = 1; })), BadFrame::Magic);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.version = 2; })), BadFrame::Version);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.flags = 2; })), BadFrame::Flags);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.reserved = 1; })), BadFrame::Flags);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.slot_count = 0; })), BadFrame::Empty);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.slot_count = 9; })), BadFrame::Undersized);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.sequence = 0; })), BadFrame::Replayed);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.frame_bytes = kFrameBytesMax + 1; })),
            BadFrame::Oversized);
  EXPECT_EQ(reason_of(with_header([](FrameHeader& h) { h.body_crc32c ^= 1; })),
            BadFrame::BodyChecksum);
}

// Changes a 32-bit field of a slot and makes the checksums right again.
Bytes with_slot_field(std::size_t slot_index, std::size_t field_offset, std::uint32_t value) {
  Bytes bytes = small_frame();
  const std::size_t at = kFrameHeaderBytes + slot_index * kSlotBytes + field_offset;
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.body_crc32c = crc32c(std::span{bytes}.subspan(kFrameHeaderBytes));
  const auto checked = std::as_bytes(std::span{&header, 1});
  header.header_crc32c = crc32c(checked.first(offsetof(FrameHeader, header_crc32c)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST(Frame, WithAPayloadOutsideItsAreaIsRefused) {
  for (const std::uint32_t offset : {std::uint32_t{11}, std::uint32_t{0xffff'ffff}}) {
    const Bytes bytes = with_slot_field(0, offsetof(RequestSlot, payload_offset), offset);
    EXPECT_EQ(reason_of(bytes), BadFrame::PayloadRange) << offset;
  }
}

// A frame of 13,500 slots that shared one batch once stalled a node for minutes.
TEST(Frame, WhoseSlotsShareAPayloadIsRefused) {
  const auto bytes_of_second = [](std::uint32_t byte_count) {
    return reason_of(with_slot_field(1, offsetof(RequestSlot, payload_bytes), byte_count));
  };
  EXPECT_EQ(bytes_of_second(0), BadFrame::None);
  EXPECT_EQ(bytes_of_second(5), BadFrame::PayloadRange) << "the bytes of the first";
}

TEST(Frame, ThatIsReplayedEndsTheStreamForGood) {
  FrameDecoder decoder{FrameDirection::Requests};
  const Bytes bytes = small_frame();
  FrameView frame;
  decoder.append(bytes);
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  decoder.append(bytes);
  EXPECT_EQ(decoder.next(frame), DecodeStep::Bad);
  EXPECT_EQ(decoder.bad(), BadFrame::Replayed);
  FrameBuilder builder{FrameDirection::Requests};
  static_cast<void>(small_frame(builder));
  decoder.append(small_frame(builder));
  EXPECT_EQ(decoder.next(frame), DecodeStep::Bad);
}

TEST(Frame, ClaimedToBeLargeTakesNoMoreMemoryThanAFrame) {
  FrameDecoder decoder{FrameDirection::Requests};
  const std::size_t idle_bytes = decoder.writable().size();
  const Bytes bytes = with_header([](FrameHeader& h) { h.frame_bytes = kFrameBytesMax; });
  decoder.append(bytes);
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::NeedMore);
  static_cast<void>(decoder.writable());
  EXPECT_LE(decoder.capacity_bytes(), kFrameBytesMax + idle_bytes);
}

TEST(Frame, ThatComesInPiecesTakesMemoryAsItsBytesCome) {
  FrameBuilder builder{FrameDirection::Requests};
  builder.add(numbered(1), Bytes(kPayloadBytesMax));
  Bytes bytes;
  builder.finish(bytes);
  builder.release();
  EXPECT_EQ(builder.capacity_bytes(), 0u);
  FrameDecoder decoder{FrameDirection::Requests};
  FrameView frame;
  constexpr std::size_t kPiece = 5000;
  for (std::size_t sent = 0; sent < bytes.size(); sent += kPiece) {
    const std::size_t piece = std::min(kPiece, bytes.size() - sent);
    decoder.append(std::span(bytes).subspan(sent, piece));
    ASSERT_LE(decoder.capacity_bytes(), std::min(2 * (sent + piece), kFrameBytesMax));
    const bool whole = sent + piece == bytes.size();
    ASSERT_EQ(decoder.next(frame), whole ? DecodeStep::Frame : DecodeStep::NeedMore);
    ASSERT_EQ(decoder.begun(), !whole);
  }
  decoder.release();
  EXPECT_EQ(decoder.capacity_bytes(), 0u);
}

TEST(Frame, ThatIsFinishedIntoNothingTakesTheBuildersMemory) {
  FrameBuilder builder{FrameDirection::Requests};
  Bytes out;
  builder.add(numbered(1), Bytes(10));
  builder.add(numbered(2), Bytes(20));
  EXPECT_EQ(builder.slot_count(), 2u);
  EXPECT_EQ(builder.finish(out), 30u) << "payloads are copied, slots are not";
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.slot_count(), 0u);
  const std::size_t first_bytes = out.size();
  EXPECT_EQ(first_bytes, kFrameHeaderBytes + 2 * kSlotBytes + 30);
  builder.add(numbered(3));
  EXPECT_EQ(builder.finish(out), kFrameHeaderBytes + kSlotBytes) << "other frames wait there";
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(out);
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  EXPECT_EQ(frame.request(1).request_id, 2u);
  EXPECT_EQ(frame.payload(frame.request(1)).size(), 20u);
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  EXPECT_EQ(frame.request(0).request_id, 3u);
}

// The payload of the first makes the second one lie anywhere.
TEST(Frame, GivesSlotsWhereTheyLieIfTheyAreAligned) {
  FrameBuilder builder{FrameDirection::Requests};
  Bytes out;
  builder.add(numbered(1), Bytes(3));
  builder.finish(out);
  builder.add(numbered(2));
  builder.finish(out);
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(out);
  FrameView frame;
  RequestSlot copy;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  const RequestSlot& first = frame.request(0, copy);
  EXPECT_NE(&first, &copy);
  EXPECT_EQ(first.request_id, 1u);
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  EXPECT_EQ(&frame.request(0, copy), &copy);
  EXPECT_EQ(copy.request_id, 2u);
}

TEST(Frame, IsReadIntoSpareMemoryOnceThereIsSome) {
  FrameBuilder builder{FrameDirection::Requests};
  FrameDecoder decoder{FrameDirection::Requests};
  EXPECT_TRUE(decoder.spare().empty());
  FrameView frame;
  for (int round = 0; round < 3; ++round) {
    const Bytes bytes = small_frame(builder);
    const std::span<std::byte> spare = decoder.spare();
    const std::size_t placed = std::min(spare.size(), bytes.size());
    EXPECT_EQ(placed, round == 0 ? 0 : bytes.size());
    std::copy_n(bytes.begin(), placed, spare.begin());
    decoder.written(placed);
    decoder.append(std::span{bytes}.subspan(placed));
    ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
    EXPECT_EQ(decoder.next(frame), DecodeStep::NeedMore);
    EXPECT_EQ(decoder.capacity_bytes(), bytes.size());
  }
}

TEST(Frame, OfTheLargestSizeFitsAndOneByteMoreDoesNot) {
  FrameBuilder builder{FrameDirection::Requests};
  EXPECT_FALSE(builder.fits(kPayloadBytesMax + 1));
  ASSERT_TRUE(builder.fits(kPayloadBytesMax));
  builder.add(numbered(1), Bytes(kPayloadBytesMax));
  EXPECT_FALSE(builder.fits(0));
  Bytes bytes;
  builder.finish(bytes);
  EXPECT_EQ(bytes.size(), kFrameBytesMax);
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(bytes);
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  static_cast<void>(decoder.writable());
  EXPECT_LT(decoder.capacity_bytes(), kFrameBytesMax / 4)
      << "memory of a large frame is given back";
}

TEST(Frame, ReasonsHaveNamesOfTheirOwn) {
  for (std::uint8_t reason = 0; reason < static_cast<std::uint8_t>(BadFrame::Count); ++reason) {
    EXPECT_NE(bad_frame_name(static_cast<BadFrame>(reason)), "unknown");
  }
  EXPECT_EQ(bad_frame_name(BadFrame::Count), "unknown");
}

}  // namespace
}  // namespace gcoord::protocol
