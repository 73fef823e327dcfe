// One node of three, by what it says; clusters of them are in
// tests/server/peers/coordinator_driver_test.cc.
#include "membership/coordinator/elector.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gcoord::coordinator {
namespace {

constexpr std::uint64_t kPatience = 100;

class ElectorTest : public testing::Test, private ElectorOutput {
 protected:
  struct Sent {
    NodeId to;
    ElectorMessage message;
  };

  ElectorTest()
      : elector_({.node = NodeId{2},
                  .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                  .method = Method::Bully,
                  .election_ticks = kPatience},
                 *this) {}

  void send(NodeId to, const ElectorMessage& message) override { sent_.push_back({to, message}); }

  void on_new_coordinator(NodeId node) override { coordinators_.push_back(node); }

  // Ticks until `end`, with the highest node alive or not.
  void run_until(Tick end, bool highest_lives) {
    const std::array<ElectorPeer, 2> peers = {
        {{.node = NodeId{1}, .life = Incarnation{1}, .live = true, .understands = true},
         {.node = NodeId{3}, .life = Incarnation{1}, .live = highest_lives, .understands = true}}};
    for (; now_ < end; now_ = now_ + 1) {
      if (elector_.on_tick(now_)) {
        elector_.on_peers(peers, now_);
      }
    }
  }

  Elector elector_;
  Tick now_{1000};
  std::vector<Sent> sent_;
  std::vector<NodeId> coordinators_;
};

TEST_F(ElectorTest, Row111StandsWhereNobodyIsHeardAndTellsTheLowerOnes) {
  run_until(Tick{2000}, false);
  EXPECT_EQ(elector_.coordinator(), NodeId{2});
  EXPECT_EQ(coordinators_, std::vector<NodeId>{NodeId{2}});
  EXPECT_EQ(elector_.counts().won, 1u);
  ASSERT_FALSE(sent_.empty());
  EXPECT_EQ(sent_.back().to, NodeId{1});
  EXPECT_EQ(sent_.back().message.word, Word::Coordinator);
}

TEST_F(ElectorTest, Row111FollowsAHigherOneAsLongAsItIsHeard) {
  run_until(Tick{1050}, true);
  elector_.on_message(
      NodeId{3},
      {.method = Method::Bully, .word = Word::Coordinator, .hops = 1, .subject = NodeId{3}},
      now_);
  EXPECT_EQ(elector_.coordinator(), NodeId{3});
  run_until(now_ + Elector::kSilencePatiences * kPatience, true);
  EXPECT_EQ(elector_.coordinator(), NodeId{3});
  run_until(now_ + 1, true);
  EXPECT_EQ(elector_.coordinator(), NodeId{}) << "it was silent for too long";
}

TEST_F(ElectorTest, Row111DropsAndCountsWhatCannotBe) {
  const ElectorMessage hearsay{
      .method = Method::Bully, .word = Word::Coordinator, .hops = 1, .subject = NodeId{3}};
  elector_.on_message(NodeId{1}, hearsay, now_);
  elector_.on_message(NodeId{9}, hearsay, now_);
  elector_.on_bad_message();
  EXPECT_EQ(elector_.counts().dropped, 3u);
  EXPECT_TRUE(coordinators_.empty());
}

TEST_F(ElectorTest, Row111AnswersAnotherMethodOnceInAPatience) {
  const ElectorMessage other{
      .method = Method::Ring, .word = Word::Election, .hops = 1, .subject = NodeId{1}};
  elector_.on_message(NodeId{1}, other, now_);
  elector_.on_message(NodeId{1}, other, now_ + 1);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].message.word, Word::Method);
  EXPECT_EQ(sent_[0].message.method, Method::Bully);
  EXPECT_EQ(elector_.counts().other_method, 2u);
  ASSERT_EQ(elector_.others().size(), 1u);
  EXPECT_EQ(elector_.others()[0].second, Method::Ring);
}

}  // namespace
}  // namespace gcoord::coordinator
