// Sessions end by a majority's silence while nodes come and go: no live one, and every dead one.
#include "protocol/session_messages.h"
#include "server/sessions/expiry_message.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kSession = 5;
constexpr int kTtlTicks = 50;

ClusterMembers members(std::uint64_t epoch,
                       const std::set<std::uint32_t>& voters,
                       const std::vector<std::vector<NodeId>>& earlier = {}) {
  ClusterMembers result{.view = {.epoch = epoch}, .earlier_voters = earlier};
  for (const std::uint32_t id : voters) {
    protocol::Member node;
    node.id = NodeId{id};
    result.view.nodes.push_back(node);
  }
  return result;
}

// Five lock services, of which three are the fixed list; node 1 leads, all apply the same log.
class FiveNodesTest : public testing::Test {
 protected:
  FiveNodesTest() {
    all_[0].lead_all();
    for (std::size_t k = 1; k < all_.size(); ++k) {
      all_[k].engine.other_leader = NodeId{1};
    }
  }

  LockBench& leader() { return all_[0]; }

  void set_members(const ClusterMembers& members) {
    for (LockBench& bench : all_) {
      bench.service->set_members(members);
    }
  }

  void pass() {
    for (LockBench& bench : all_) {
      bench.pass_ms(10);
    }
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t from = 1; from <= all_.size(); ++from) {
        for (const auto& [to, bytes] : std::exchange(all_[from - 1].engine.messages, {})) {
          asked_.insert(to.value);
          if (!cut_.contains(to.value) && !cut_.contains(from)) {
            all_[to.value - 1].service->on_peer_message(NodeId{from}, bytes);
          }
        }
      }
    }
  }

  void decide() {
    for (std::size_t k = 1; k < all_.size(); ++k) {
      for (const auto& proposal : leader().engine.proposals) {
        all_[k].engine.proposals.push_back({proposal.shard, proposal.command, 0});
      }
      all_[k].decide();
    }
    leader().decide();
  }

  void take_lock() {
    leader().acquire(kSession, 1, "a", 0, kTtlTicks * 10);
    decide();
  }

  // Keeps the session at these nodes alone; whether its end was proposed within so many ticks.
  bool ends_although_kept_at(const std::set<std::uint32_t>& nodes, int ticks) {
    for (int tick = 0; tick < ticks && leader().engine.proposals.empty(); ++tick) {
      for (const std::uint32_t node : nodes) {
        keep_alive(node);
      }
      pass();
    }
    return !leader().engine.proposals.empty();
  }

  // The acknowledgement's epoch.
  std::uint64_t keep_alive(std::uint32_t node) {
    LockBench& bench = all_[node - 1];
    const std::vector<SessionId> sessions = {SessionId{kSession}};
    return bench.sink
        .take(bench.send(bench.slot(protocol::RequestKind::KeepAlive),
                         protocol::encode_keep_alive(sessions)))
        .slot.extra;
  }

  const std::vector<NodeId> fixed_{NodeId{1}, NodeId{2}, NodeId{3}};
  std::array<LockBench, 5> all_{LockBench{fixed_, NodeId{1}},
                                LockBench{fixed_, NodeId{2}},
                                LockBench{fixed_, NodeId{3}},
                                LockBench{{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}}, NodeId{4}},
                                LockBench{{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{5}}, NodeId{5}}};
  std::set<std::uint32_t> cut_;
  std::set<std::uint32_t> asked_;
};

TEST_F(FiveNodesTest, AnAcknowledgementSaysTheEpochOfItsNode) {
  EXPECT_EQ(keep_alive(1), 0u);
  leader().service->set_members(members(7, {1, 2, 3}));
  EXPECT_EQ(keep_alive(1), 7u);
  EXPECT_EQ(keep_alive(2), 0u);
  leader().service->set_members(members(6, {1, 2, 3}));
  EXPECT_EQ(keep_alive(1), 7u) << "epochs only grow";
}

TEST_F(FiveNodesTest, AClusterThatGrewAsksThoseWhoCame) {
  set_members(members(2, {1, 2, 3, 4, 5}));
  take_lock();
  EXPECT_FALSE(ends_although_kept_at({3, 4, 5}, 4 * kTtlTicks));
  EXPECT_TRUE(asked_.contains(5));
}

TEST_F(FiveNodesTest, ASessionThatNobodyHearsEndsInAClusterThatGrew) {
  set_members(members(2, {1, 2, 3, 4, 5}, {fixed_}));
  take_lock();
  EXPECT_TRUE(ends_although_kept_at({}, kTtlTicks + 12));
}

TEST_F(FiveNodesTest, AMajorityOfTheEarlierListKeepsASessionForItsTtlAfterNobodyGoesByIt) {
  set_members(members(2, {1, 2, 3, 4, 5}, {fixed_}));
  take_lock();
  EXPECT_FALSE(ends_although_kept_at({2, 3}, 4 * kTtlTicks));
  set_members(members(2, {1, 2, 3, 4, 5}));
  EXPECT_FALSE(ends_although_kept_at({2, 3}, kTtlTicks));
  EXPECT_TRUE(ends_although_kept_at({2, 3}, kTtlTicks / 2));
}

TEST_F(FiveNodesTest, AnAnswerOfANodeWithANewerViewCountsOnceTheLeaderHasIt) {
  set_members(members(2, {1, 2, 3}));
  take_lock();
  for (const std::uint32_t node : {2u, 3u, 4u, 5u}) {
    all_[node - 1].service->set_members(members(3, {1, 2, 3, 4, 5}));
  }
  EXPECT_FALSE(ends_although_kept_at({}, 2 * kTtlTicks)) << "4 and 5 may hear it";
  leader().service->set_members(members(3, {1, 2, 3, 4, 5}, {fixed_}));
  EXPECT_TRUE(ends_although_kept_at({}, 12));
}

TEST_F(FiveNodesTest, ALeaderThatIsBehindGoesByTheListThatItHas) {
  set_members(members(2, {1, 2, 3}));
  take_lock();
  for (const std::uint32_t node : {4u, 5u}) {
    all_[node - 1].service->set_members(members(3, {1, 2, 3, 4, 5}));
  }
  EXPECT_FALSE(ends_although_kept_at({2, 3}, 2 * kTtlTicks));
  EXPECT_TRUE(ends_although_kept_at({3}, 2 * kTtlTicks));
}

TEST_F(FiveNodesTest, NodesThatLeftAreNotAskedAndDoNotHoldUpWhatIsDead) {
  set_members(members(1, {1, 2, 3, 4, 5}));
  take_lock();
  cut_ = {4, 5};
  set_members(members(3, {1, 2, 3}, {{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}, NodeId{5}}}));
  asked_.clear();
  EXPECT_TRUE(ends_although_kept_at({}, kTtlTicks + 12));
  EXPECT_FALSE(asked_.contains(4));
}

TEST_F(FiveNodesTest, AQuestionOfALeaderThatIsNotKnownYetIsAnsweredAndAnAnswerOfOneIsDropped) {
  LockBench& second = all_[1];
  ExpiryMessage question{.kind = ExpiryMessageKind::Question,
                         .round = 9,
                         .cases = {{.session = kSession}},
                         .with_epoch = true};
  second.service->on_peer_message(NodeId{6}, encode_expiry(question));
  ASSERT_EQ(second.engine.messages.size(), 1u);
  EXPECT_EQ(second.engine.messages.front().first, NodeId{6});
  const auto answer = decode_expiry(second.engine.messages.front().second);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->with_epoch);
  EXPECT_EQ(answer->epoch, 0u);
  EXPECT_EQ(answer->cases.front().silent_ms, kSilenceUnknown);
  question.with_epoch = false;
  second.service->on_peer_message(NodeId{6}, encode_expiry(question));
  question.kind = ExpiryMessageKind::Answer;
  second.service->on_peer_message(NodeId{6}, encode_expiry(question));
  EXPECT_EQ(second.engine.messages.size(), 1u);
}

TEST(ExpiryMessageTest, WithoutAnEpochTheBytesAreThoseOfEarlierReleases) {
  const ExpiryMessage plain{
      .kind = ExpiryMessageKind::Answer, .round = 3, .cases = {{1, 2, 3, 4}, {5, 6, 7, 8}}};
  const auto bytes = encode_expiry(plain);
  EXPECT_EQ(bytes.size(), 16u + 2 * 24u);
  EXPECT_EQ(bytes[1], std::byte{0});
  ExpiryMessage more = plain;
  more.with_epoch = true;
  more.epoch = 0x1122334455667788u;
  auto longer = encode_expiry(more);
  ASSERT_EQ(longer.size(), bytes.size() + 8);
  const auto decoded = decode_expiry(longer);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->epoch, more.epoch);
  EXPECT_EQ(decoded->cases.size(), 2u);
  EXPECT_EQ(decode_expiry(bytes)->epoch, 0u);
  longer.pop_back();
  EXPECT_FALSE(decode_expiry(longer).has_value());
}

}  // namespace
}  // namespace gcoord::server
