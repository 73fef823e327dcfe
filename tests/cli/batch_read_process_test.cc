// R7 at its size: 100,000 keys over 10,000 shards of real nodes, in one call.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 10'000;
constexpr std::uint32_t kKeys = 100'000;
constexpr std::uint32_t kHeldEvery = 10;  // Of the keys; the others are free.

class BatchReadProcessTest : public ProcessCluster,
                             public testing::WithParamInterface<std::string> {
 protected:
  BatchReadProcessTest() : ProcessCluster(kShards, turn_of_all(GetParam())) {}

  void SetUp() override {
    ProcessCluster::SetUp();
    for (std::uint32_t key = 0; key < kKeys; ++key) {
      keys_.push_back("key/" + std::to_string(key));
      homes_.insert(home(keys_.back()));
    }
    ASSERT_GE(homes_.size(), kShards - 10) << "keys of (nearly) every shard";
  }

  // Takes every tenth key; what is read must show these grants.
  void take_some(client::Session& session) {
    std::vector<std::pair<std::uint32_t, client::Future<client::Result<client::Lock>>>> taking;
    for (std::uint32_t key = 0; key < kKeys; key += kHeldEvery) {
      taking.emplace_back(key, session.acquire_async(keys_[key]));
    }
    for (auto& [key, future] : taking) {
      auto lock = std::move(future).get();
      ASSERT_TRUE(lock.ok()) << lock.status().to_string();
      tokens_[key] = lock.value().fence();
      lock.value().detach();
    }
  }

  std::vector<client::TokenCheck> checks() const {
    std::vector<client::TokenCheck> checks;
    for (std::uint32_t key = 0; key < kKeys; ++key) {
      const auto held = tokens_.find(key);
      checks.push_back({keys_[key], held == tokens_.end() ? 1 : held->second});
    }
    return checks;
  }

  // Each shard of the keys once, at least where this client's own writes had left it.
  void expect_shards(const std::vector<client::Freshness>& shards,
                     const std::vector<client::Position>& written) {
    std::map<std::uint32_t, std::uint64_t> indexes;
    for (const client::Freshness& shard : shards) {
      EXPECT_TRUE(indexes.emplace(shard.shard, shard.index).second) << shard.shard << " twice";
      EXPECT_TRUE(homes_.contains(shard.shard)) << shard.shard;
    }
    EXPECT_EQ(indexes.size(), homes_.size());
    EXPECT_GE(written.size(), kKeys / kHeldEvery / 2) << "of the shards that locks were taken in";
    for (const client::Position& position : written) {
      EXPECT_GE(indexes[position.shard], position.index) << "of shard " << position.shard;
    }
  }

  std::vector<std::string> keys_;
  std::set<std::uint32_t> homes_;
  std::map<std::uint32_t, std::uint64_t> tokens_;
};

INSTANTIATE_TEST_SUITE_P(BothTurns, BatchReadProcessTest, both_turns(), turn_name);

TEST_P(BatchReadProcessTest, R7AHundredThousandKeysOfTenThousandShardsInOneCallWithEachIndex) {
  client::Client client = connect(1);
  client::Session session = open(client);
  take_some(session);
  ASSERT_EQ(tokens_.size(), kKeys / kHeldEvery);
  for (const auto how : {client::Consistency::Lease, client::Consistency::Monotonic}) {
    const std::vector<client::Position> written = client.positions();
    const auto read = client.read_check_batch(checks(), {.consistency = how});
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    ASSERT_EQ(read.value().answers.size(), kKeys);
    std::uint32_t valid = 0;
    for (std::uint32_t key = 0; key < kKeys; ++key) {
      const bool held = tokens_.contains(key);
      valid += read.value().answers[key] == client::Verdict::Valid ? 1 : 0;
      EXPECT_EQ(read.value().answers[key] == client::Verdict::Valid, held) << keys_[key];
    }
    EXPECT_EQ(valid, kKeys / kHeldEvery);
    expect_shards(read.value().shards, written);
  }
}

}  // namespace
}  // namespace gcoord::cli
