#include "ledger/cluster/bound_pruning.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/merkle/tree_proof.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kSegmentLeaves = 256;

class BoundPruning : public testing::Test {
 protected:
  void grow(std::uint64_t size) {
    std::vector<ShardHead> heads;
    for (std::uint64_t at = log_->size(); at < size; ++at) {
      heads.push_back({ShardId{1}, at + 1, {}});
    }
    ASSERT_TRUE(log_->append(heads).ok());
  }

  SignedLog at(std::uint64_t size) const { return {size, root_at(*log_, size).value()}; }

  void sign(std::uint64_t size) {
    ASSERT_TRUE(log_->sync().ok());
    ASSERT_TRUE(signer_->advance(at(size), *log_).ok());
  }

  MemoryDisk disk_;
  std::unique_ptr<ClusterLog> log_ = ClusterLog::open(disk_, 0, kSegmentLeaves).value();
  std::unique_ptr<SignerState> signer_ = SignerState::open(disk_).value();
};

TEST_F(BoundPruning, WhoSignedLongAgoIsBoundToWhatGoesAndSignsOnBehindIt) {
  grow(1000);
  sign(100);
  const SignedLog bound = at(768);
  EXPECT_EQ(prune_bound(*log_, *signer_, 900).value(), 768u);
  EXPECT_EQ(log_->first(), 768u);
  EXPECT_EQ(signer_->last(), bound);
  disk_.lose_power(1);
  signer_ = SignerState::open(disk_).value();
  EXPECT_EQ(signer_->last(), bound);
  log_ = ClusterLog::open(disk_, bound.size, kSegmentLeaves).value();
  ASSERT_GE(log_->size(), bound.size);
  grow(1200);
  sign(1200);
  EXPECT_EQ(signer_->last(), at(1200));
}

TEST_F(BoundPruning, WhoSignedNothingOrEnoughOrLosesNothingStaysAsItIs) {
  grow(1000);
  EXPECT_EQ(prune_bound(*log_, *signer_, 300).value(), 256u);
  EXPECT_EQ(signer_->last(), SignedLog{});
  sign(600);
  EXPECT_EQ(prune_bound(*log_, *signer_, 500).value(), 0u);
  EXPECT_EQ(prune_bound(*log_, *signer_, 520).value(), 256u);
  EXPECT_EQ(prune_bound(*log_, *signer_, 767).value(), 0u);
  EXPECT_EQ(signer_->last(), at(600));
}

TEST_F(BoundPruning, ALogThatIsAnotherThanWhatWasSignedIsKeptWhole) {
  MemoryDisk elsewhere;
  const auto other = ClusterLog::open(elsewhere, 0, kSegmentLeaves).value();
  ASSERT_TRUE(other->append(std::vector<ShardHead>(100, ShardHead{ShardId{9}, 1, {}})).ok());
  const SignedLog another{100, root_at(*other, 100).value()};
  ASSERT_TRUE(signer_->advance(another, *other).ok());
  grow(1000);
  EXPECT_EQ(prune_bound(*log_, *signer_, 900).value(), 0u);
  EXPECT_EQ(log_->first(), 0u);
  EXPECT_EQ(signer_->last(), another);
}

}  // namespace
}  // namespace gcoord::ledger
