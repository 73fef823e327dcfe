#include "common/device/staged_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace gcoord {
namespace {

// What a device would copy, and from or to where on the host.
class StagedCopyTest : public testing::Test {
 protected:
  StagedCopyTest() { std::iota(from_.begin(), from_.end(), std::uint8_t{1}); }

  bool is_staging(const void* place) const { return place == staging_.data(); }

  std::vector<std::byte> staging_ = std::vector<std::byte>(16);
  const StagedCopy copy_{staging_};
  std::vector<std::uint8_t> from_ = std::vector<std::uint8_t>(50);
  std::vector<std::uint8_t> to_ = std::vector<std::uint8_t>(50);
  std::vector<std::size_t> pieces_;
};

TEST_F(StagedCopyTest, NothingButStagingIsGivenToTheDeviceAndAllArrives) {
  const Status written = copy_.write(
      to_.data(), from_.data(), to_.size(), [&](void* to, const void* from, std::size_t bytes) {
        EXPECT_TRUE(is_staging(from));
        pieces_.push_back(bytes);
        std::memcpy(to, from, bytes);
        return Status{};
      });
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(to_, from_);
  EXPECT_EQ(pieces_, (std::vector<std::size_t>{16, 16, 16, 2}));
}

TEST_F(StagedCopyTest, TheSameBackToTheHost) {
  const Status read = copy_.read(
      to_.data(), from_.data(), to_.size(), [&](void* to, const void* from, std::size_t bytes) {
        EXPECT_TRUE(is_staging(to));
        std::memcpy(to, from, bytes);
        return Status{};
      });
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(to_, from_);
}

TEST_F(StagedCopyTest, AfterAnErrorNothingIsCopiedAndStagingIsLeftAlone) {
  int calls = 0;
  const auto overrun = [&](void*, const void*, std::size_t) {
    return ++calls == 2 ? Status{StatusCode::DeadlineExceeded, "late"} : Status{};
  };
  EXPECT_FALSE(copy_.write(to_.data(), from_.data(), from_.size(), overrun).ok());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(static_cast<std::uint8_t>(staging_[0]), from_[16]);
  calls = 0;
  EXPECT_FALSE(copy_.read(to_.data(), from_.data(), from_.size(), overrun).ok());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(to_[16], 0);
}

TEST_F(StagedCopyTest, NothingIsNoCall) {
  EXPECT_TRUE(copy_
                  .write(nullptr,
                         nullptr,
                         0,
                         [](void*, const void*, std::size_t) {
                           return Status{StatusCode::Internal, "called"};
                         })
                  .ok());
}

}  // namespace
}  // namespace gcoord
