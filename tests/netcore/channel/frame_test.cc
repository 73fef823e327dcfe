#include "netcore/channel/frame.h"

#include "common/crc32c.h"
#include "tests/netcore/frame_samples.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>

namespace gcoord::netcore {
namespace {

// Puts right checksums on a frame that was tampered with, as an attacker would.
void sign(SampleFrame& sample) {
  FrameHeader header;
  std::memcpy(&header, sample.bytes.data(), sizeof(header));
  header.body_crc32c = crc32c(sample.span().subspan(kFrameHeaderBytes));
  header.header_crc32c = crc32c({reinterpret_cast<const std::byte*>(&header), 60});
  std::memcpy(sample.bytes.data(), &header, sizeof(header));
}

template <typename T>
void poke(SampleFrame& sample, std::size_t offset, T value) {
  std::memcpy(sample.bytes.data() + offset, &value, sizeof(value));
}

DropReason verdict(const SampleFrame& sample) {
  FrameView view;
  return decode_frame(sample.span(), view);
}

TEST(Frame, ComesBackAsItWasEncoded) {
  rc::check([] {
    const auto slot_count = *rc::gen::inRange<std::uint32_t>(1, 200);
    const auto lengths =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 700));
    const SampleFrame sample = make_sample(slot_count, lengths);
    FrameView view;
    RC_ASSERT(decode_frame(sample.span(), view) == DropReason::None);
    RC_ASSERT(view.header.epoch == sample.header.epoch);
    RC_ASSERT(view.header.consumed == sample.header.consumed);
    RC_ASSERT(view.slots.size() == sample.slots.size());
    RC_ASSERT(std::equal(view.slots.begin(), view.slots.end(), sample.slots.begin(), same_slot));
    RC_ASSERT(view.payloads.size() == sample.extents.size());
    std::size_t i = 0;
    for (const PayloadExtent extent : view.payloads) {
      RC_ASSERT(extent.slot_index == sample.extents[i].slot_index);
      RC_ASSERT(std::equal(extent.bytes.begin(),
                           extent.bytes.end(),
                           sample.extents[i].bytes.begin(),
                           sample.extents[i].bytes.end()));
      RC_ASSERT(reinterpret_cast<std::uintptr_t>(extent.bytes.data()) % kExtentAlignment == 0);
      ++i;
    }
  });
}

TEST(Frame, HasLengthOfWholeLines) {
  for (std::size_t length = 0; length < 200; ++length) {
    EXPECT_EQ(make_sample(1, {length}).length % kSlotBytes, 0u);
  }
}

TEST(Frame, CutAnywhereIsRejected) {
  const SampleFrame sample = make_sample(3, {10, 100, 0, 33});
  FrameView view;
  for (std::size_t length = 0; length < sample.length; ++length) {
    EXPECT_NE(decode_frame(sample.span().first(length), view), DropReason::None) << length;
  }
}

TEST(Frame, WithAnyBitFlippedIsRejected) {
  SampleFrame sample = make_sample(2, {20, 70});
  for (std::size_t bit = 0; bit < sample.length * 8; ++bit) {
    sample.bytes.data()[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    EXPECT_NE(verdict(sample), DropReason::None) << "bit " << bit;
    sample.bytes.data()[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
  EXPECT_EQ(verdict(sample), DropReason::None);
}

TEST(Frame, SignedLiesAboutLengthsAreRejected) {
  SampleFrame slots = make_sample(2, {20, 70});
  poke<std::uint16_t>(slots, offsetof(FrameHeader, slot_count), 3);
  sign(slots);
  EXPECT_NE(verdict(slots), DropReason::None);

  SampleFrame many_slots = make_sample(2);
  poke<std::uint16_t>(many_slots, offsetof(FrameHeader, slot_count), kFrameSlotsMax + 1);
  sign(many_slots);
  EXPECT_EQ(verdict(many_slots), DropReason::BadLength);

  SampleFrame extents = make_sample(2, {20, 70});
  poke<std::uint16_t>(extents, offsetof(FrameHeader, extent_count), 60000);
  sign(extents);
  EXPECT_EQ(verdict(extents), DropReason::BadLength);

  SampleFrame body = make_sample(2, {20, 70});
  poke<std::uint32_t>(body, offsetof(FrameHeader, body_bytes), 0x7fffffc0);
  sign(body);
  EXPECT_EQ(verdict(body), DropReason::BadLength);
}

TEST(Frame, SignedLiesAboutExtentsAreRejected) {
  const std::size_t table = kFrameHeaderBytes + 2 * kSlotBytes;
  SampleFrame slot = make_sample(2, {20, 70});
  poke<std::uint32_t>(slot, table, 2);
  sign(slot);
  EXPECT_EQ(verdict(slot), DropReason::BadExtent);

  SampleFrame order = make_sample(2, {20, 70});
  poke<std::uint32_t>(order, table, 1);
  poke<std::uint32_t>(order, table + sizeof(ExtentRow), 0);
  sign(order);
  EXPECT_EQ(verdict(order), DropReason::BadExtent);

  SampleFrame too_long = make_sample(2, {20, 70});
  poke<std::uint32_t>(too_long, table + 4, 0xffffffff);
  sign(too_long);
  EXPECT_EQ(verdict(too_long), DropReason::BadExtent);

  SampleFrame past_end = make_sample(2, {20, 70});
  poke<std::uint32_t>(past_end, table + 4, 60000);
  sign(past_end);
  EXPECT_EQ(verdict(past_end), DropReason::BadLength);
}

TEST(Frame, SignedUnknownFieldsAreRejected) {
  SampleFrame kind = make_sample(1);
  poke<std::uint8_t>(kind, offsetof(FrameHeader, kind), kFrameKindCount);
  sign(kind);
  EXPECT_EQ(verdict(kind), DropReason::BadField);

  SampleFrame band = make_sample(1);
  poke<std::uint8_t>(band, offsetof(FrameHeader, band), kBandCount);
  sign(band);
  EXPECT_EQ(verdict(band), DropReason::BadField);

  SampleFrame flags = make_sample(1);
  poke<std::uint8_t>(flags, offsetof(FrameHeader, flags), 1);
  sign(flags);
  EXPECT_EQ(verdict(flags), DropReason::BadField);

  SampleFrame version = make_sample(1);
  poke<std::uint8_t>(version, offsetof(FrameHeader, version), kFrameVersion + 1);
  EXPECT_EQ(verdict(version), DropReason::BadVersion);
}

}  // namespace
}  // namespace gcoord::netcore
