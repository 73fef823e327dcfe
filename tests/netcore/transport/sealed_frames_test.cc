#include "netcore/transport/sealed_frames.h"

#include "security/secret/keyed.h"
#include "tests/netcore/frame_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::netcore {
namespace {

using security::RecordSide;

class SealedFramesTest : public testing::Test {
 protected:
  static std::vector<std::byte> sealed(SealedFrames& end, std::span<const std::byte> frame) {
    std::vector<std::byte> record(SealedFrames::record_bytes(frame.size()));
    end.seal(frame, record, 0);
    return record;
  }

  const security::SecretBytes secret_ = security::random_secret(kFrameRecordsSecretBytes);
  SealedFrames caller_{secret_.bytes(), RecordSide::Caller};
  SealedFrames called_{secret_.bytes(), RecordSide::Called};
  const std::vector<std::byte> frame_ = sample_bytes(1, 192);
};

TEST_F(SealedFramesTest, BothEndsSealAndOpenAndFramesLieOnALine) {
  for (int k = 0; k < 3; ++k) {
    for (auto [from, to] : {std::pair{&caller_, &called_}, std::pair{&called_, &caller_}}) {
      const auto opened = to->open(sealed(*from, frame_));
      ASSERT_TRUE(opened.has_value());
      EXPECT_TRUE(std::ranges::equal(*opened, frame_));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(opened->data()) % kSlotBytes, 0u);
    }
  }
  EXPECT_EQ(caller_.take_refused(), 0u);
}

TEST_F(SealedFramesTest, WhatSomebodyElseSendsIsCountedAndTheLinkGoesOn) {
  const auto record = sealed(caller_, frame_);
  auto forged = record;
  forged.back() ^= std::byte{1};
  EXPECT_FALSE(called_.open(forged).has_value());
  EXPECT_FALSE(called_.open(frame_).has_value());  // A frame that was not sealed.
  EXPECT_FALSE(caller_.open(record).has_value());  // Sent back.
  ASSERT_TRUE(called_.open(record).has_value());
  EXPECT_FALSE(called_.open(record).has_value());  // Again.
  called_.refuse_length();
  EXPECT_TRUE(called_.failure().ok());
  EXPECT_EQ(called_.take_refused(), 4u);
  EXPECT_EQ(called_.take_refused(), 0u);
  EXPECT_EQ(caller_.take_refused(), 1u);
}

TEST_F(SealedFramesTest, ALostRecordEndsTheLink) {
  static_cast<void>(sealed(caller_, frame_));
  EXPECT_FALSE(called_.open(sealed(caller_, frame_)).has_value());
  EXPECT_EQ(called_.failure().detail(), 3136u);
}

TEST_F(SealedFramesTest, ForgeriesWithoutEndEndTheLink) {
  auto forged = sealed(caller_, frame_);
  forged.back() ^= std::byte{1};
  for (std::uint64_t k = 0; k < SealedFrames::kRefusedMax; ++k) {
    ASSERT_TRUE(called_.failure().ok()) << k;
    EXPECT_FALSE(called_.open(forged).has_value());
  }
  EXPECT_EQ(called_.failure().detail(), 3134u);
}

}  // namespace
}  // namespace gcoord::netcore
