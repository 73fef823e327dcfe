#include "ledger/publication/mailbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

namespace gcoord::server {
namespace {

TEST(PublicationMailbox, OfManySizesThatWaitOneOfEachShardIsKept) {
  PublicationMailbox desk;
  constexpr std::uint64_t kBatches = 1024;
  for (std::uint64_t batch = 1; batch <= kBatches; ++batch) {
    PublicationInput input;
    for (std::uint64_t k = 1; k <= 1024; ++k) {
      input.applied.emplace_back(ShardId{static_cast<std::uint32_t>(k % 5)}, batch * 1024 + k);
    }
    desk.put(std::move(input));
  }
  const auto input = desk.wait(0, 0);
  ASSERT_TRUE(input);
  EXPECT_LE(input->applied.size(), PublicationMailbox::kAppliedMax);
  std::map<ShardId, std::uint64_t> sizes;
  for (const auto& [shard, size] : input->applied) {
    sizes[shard] = std::max(sizes[shard], size);
  }
  EXPECT_EQ(sizes.size(), 5u);
  EXPECT_EQ(sizes[ShardId{4}], kBatches * 1024 + 1024);
}

TEST(PublicationMailbox, SizesLieAsLongAsTheyMayAndAMessageDoesNotWaitForThem) {
  constexpr std::uint64_t kSizesWaitMs = 20;
  PublicationInput sizes;
  sizes.applied.emplace_back(ShardId{1}, 7);
  PublicationMailbox desk;
  desk.put(PublicationInput{sizes});
  const auto begin = std::chrono::steady_clock::now();
  const auto lain = desk.wait(0, kSizesWaitMs);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kSizesWaitMs));
  ASSERT_TRUE(lain);
  EXPECT_EQ(lain->applied, sizes.applied);

  // For ever, were it to wait.
  desk.put(PublicationInput{sizes});
  PublicationInput message;
  message.messages.push_back({NodeId{2}, {std::byte{1}}});
  desk.put(std::move(message));
  const auto at_once = desk.wait(0, ~std::uint32_t{0});
  ASSERT_TRUE(at_once);
  EXPECT_EQ(at_once->applied, sizes.applied);
  EXPECT_EQ(at_once->messages.size(), 1u);
}

}  // namespace
}  // namespace gcoord::server
