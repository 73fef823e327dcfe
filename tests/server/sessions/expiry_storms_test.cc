// Very many sessions that end together: whom the leader asks about them.
#include "server/sessions/expiry.h"
#include "tests/server/sessions/expiry_world.h"

#include <gtest/gtest.h>

#include <map>

namespace gcoord::server {
namespace {

class ExpiryStormsTest : public ThreeNodesTest {
 protected:
  // All nodes hear each other.
  ExpiryStormsTest() {
    for (LockBench* bench : all_) {
      for (const NodeId node : nodes_) {
        NodePeerView peer;
        peer.link.id = node;
        peer.live = true;
        bench->engine.node.peers.push_back(peer);
      }
    }
    auto& own = leader_.engine.node.peers;
    std::erase_if(own, [](const NodePeerView& peer) { return peer.link.id == NodeId{1}; });
  }

  // Registrations that the leader asks each node about, until so many are agreed to or 200 ticks.
  void end(std::size_t sessions) {
    for (int ticks = 0; ended_ < sessions && ticks < 200; ++ticks) {
      for (LockBench* bench : all_) {
        bench->pass_ms(10);
      }
      for (const auto& [to, message] : leader_.engine.messages) {
        const auto question = decode_expiry(message);
        if (question && question->kind == ExpiryMessageKind::Question) {
          asked_[to.value] += question->cases.size();
        }
      }
      deliver();
      ended_ += ends_proposed();
      decide();
    }
  }

  std::map<std::uint32_t, std::size_t> asked_;
  std::size_t ended_ = 0;
};

// Both others were asked about each: twice the questions and twice the answers.
TEST_F(ExpiryStormsTest, OfManyOnlyAsManyNodesAreAskedAsMakeAMajority) {
  constexpr std::size_t kSessions = 2 * kExpiriesPerPassMax;
  take_sessions(kSessions);
  end(kSessions);
  EXPECT_EQ(ended_, kSessions);
  EXPECT_EQ(asked_[2] + asked_[3], kSessions);
  EXPECT_GT(asked_[2], 0u);
  EXPECT_GT(asked_[3], 0u);
  expect_equal_states();
}

TEST_F(ExpiryStormsTest, OfFewAllNodesAreAsked) {
  constexpr std::size_t kSessions = kManyAsked - 1;
  take_sessions(kSessions);
  end(kSessions);
  EXPECT_EQ(ended_, kSessions);
  EXPECT_EQ(asked_[2], kSessions);
  EXPECT_EQ(asked_[3], kSessions);
}

// It is heard but does not answer, as one whose loop stands still.
TEST_F(ExpiryStormsTest, WhatANodeDoesNotAnswerIsAskedOfAll) {
  constexpr std::size_t kSessions = 2 * kExpiriesPerPassMax;
  take_sessions(kSessions);
  cut_.insert(3);
  end(kSessions);
  EXPECT_EQ(ended_, kSessions);
}

TEST_F(ExpiryStormsTest, ANodeThatIsNotHeardIsNotCountedOn) {
  constexpr std::size_t kSessions = kExpiriesPerPassMax;
  take_sessions(kSessions);
  leader_.engine.node.peers.back().live = false;
  cut_.insert(3);
  end(kSessions);
  EXPECT_EQ(ended_, kSessions);
  EXPECT_EQ(asked_[2], kSessions);
  EXPECT_EQ(asked_[3], 0u);
}

// Nobody ends whom another node hears, whoever was asked.
TEST_F(ExpiryStormsTest, WhoIsHeardElsewhereLives) {
  constexpr std::size_t kSessions = kExpiriesPerPassMax;
  take_sessions(kSessions);
  for (int ticks = 0; ticks < 100; ++ticks) {
    for (LockBench* bench : {&second_, &third_}) {
      keep_alive(*bench, 7);
    }
    pass_ms(10);
    decide();
  }
  EXPECT_FALSE(locks::find_session(leader_.service->locks().tables(),
                                   LockBench::shard_of_name("job/7"),
                                   SessionId{7})
                   .value == 0);
  EXPECT_EQ(leader_.service->locks().usage().locks, 1u);
}

}  // namespace
}  // namespace gcoord::server
