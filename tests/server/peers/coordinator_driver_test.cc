// Bully and ring in nodes that fail, lose messages, are cut in two and meet again.
#include "server/peers/coordinator_driver.h"

#include "tests/server/peers/coordinator_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace gcoord::server {
namespace {

using Method = CoordinatorMethod;
using Word = CoordinatorWord;

// Until nodes that have just met agree: the wait of a start, an election, two rounds of words.
constexpr std::uint64_t kSettleSeconds = 10;

// What the table of docs/internals/coordinators.md says an election of n nodes costs at most, when
// several find the failure. Ranks rise along the ring.
std::uint64_t most_messages(Method method, std::uint64_t n) {
  return method == Method::Bully ? n * (n - 1) / 2 + (n - 1) * (n - 2) / 2 + n - 2
                                 : n * (n + 1) / 2 + n;
}

class CoordinatorDriverTest : public testing::TestWithParam<Method> {};

TEST_P(CoordinatorDriverTest, Row111And112AllFollowTheHighestAfterAStart) {
  for (const std::uint32_t count : {1u, 2u, 3u, 5u, 64u}) {
    CoordinatorWorld world(count, GetParam());
    world.run_seconds(kSettleSeconds);
    EXPECT_EQ(world.agreed(), 10 * count);
    for (std::uint32_t place = 0; place < count; ++place) {
      EXPECT_EQ(world.told(place), std::vector<NodeId>{NodeId{10 * count}}) << place;
    }
  }
}

TEST_P(CoordinatorDriverTest, Row111And112TheNextOneFollowsWhenTheCoordinatorFails) {
  for (const std::uint32_t count : {3u, 5u, 7u}) {
    CoordinatorWorld world(count, GetParam());
    world.run_seconds(kSettleSeconds);
    world.fail(count - 1);
    const std::uint64_t before = world.spent();
    world.run_seconds(5);
    EXPECT_EQ(world.agreed(), 10 * (count - 1));
    EXPECT_GE(world.spent() - before, count - 1) << "somebody was asked, and all were told";
    EXPECT_LE(world.spent() - before, most_messages(GetParam(), count));
    EXPECT_EQ(world.office(count - 2).view().won, 1u);
  }
}

TEST_P(CoordinatorDriverTest, NodesComeAndGoAndTheHighestThatTakesPartIsFollowed) {
  CoordinatorWorld world(4, GetParam());
  const auto take_part = [&world](std::uint32_t count) {
    std::vector<NodeId> nodes;
    for (std::uint32_t place = 0; place < count; ++place) {
      nodes.push_back(world.id(place));
    }
    for (std::uint32_t place = 0; place < 4; ++place) {
      world.office(place).set_nodes(nodes);
    }
  };
  for (int round = 0; round < 3; ++round) {
    take_part(3);
    world.run_seconds(kSettleSeconds);
    for (std::uint32_t place = 0; place < 3; ++place) {
      EXPECT_EQ(world.coordinator(place), 30u) << place;
    }
    EXPECT_EQ(world.coordinator(3), 0u) << "it has no part";
    take_part(4);
    world.run_seconds(kSettleSeconds);
    EXPECT_EQ(world.agreed(), 40u);
  }
  const std::uint64_t before = world.spent();
  take_part(4);
  world.run_seconds(kSettleSeconds);
  EXPECT_EQ(world.spent(), before) << "the same nodes are no news";
}

TEST_P(CoordinatorDriverTest, Row111And112WhoComesBackTakesTheOfficeBack) {
  CoordinatorWorld world(3, GetParam());
  world.run_seconds(kSettleSeconds);
  for (int k = 0; k < 3; ++k) {
    world.fail(2);
    world.run_seconds(5);
    ASSERT_EQ(world.agreed(), 20u);
    world.start(2);
    world.run_seconds(kSettleSeconds);
    ASSERT_EQ(world.agreed(), 30u);
  }
  const std::vector<NodeId> seen = {
      NodeId{30}, NodeId{20}, NodeId{30}, NodeId{20}, NodeId{30}, NodeId{20}, NodeId{30}};
  EXPECT_EQ(world.told(0), seen);
  EXPECT_EQ(world.office(0).view().changes, seen.size());
}

// A life that ends and begins between two looks of the others has lost the office all the same.
TEST_P(CoordinatorDriverTest, Row111And112AnotherLifeOfTheCoordinatorIsFoundAtOnce) {
  CoordinatorWorld world(3, GetParam());
  world.run_seconds(kSettleSeconds);
  const std::uint64_t stood = world.office(0).view().elections;
  world.start(2);
  world.run(20);
  EXPECT_EQ(world.office(0).view().elections, stood + 1);
  EXPECT_EQ(world.office(2).view().won, 1u) << "it was asked, and did not wait to be told";
  EXPECT_EQ(world.agreed(), 30u);
}

TEST_P(CoordinatorDriverTest, Row111And112WhenNothingChangesNothingIsElected) {
  CoordinatorWorld world(5, GetParam());
  world.run_seconds(kSettleSeconds);
  const std::uint64_t before = world.spent();
  const std::uint64_t sent = world.sent();
  world.run_seconds(60);
  EXPECT_EQ(world.spent(), before);
  // A round of words in each patience, give or take the grain of the looks: 4 or 5 messages.
  EXPECT_GE(world.sent() - sent, 4 * 50u);
  EXPECT_LE(world.sent() - sent, 5 * 62u);
}

TEST_P(CoordinatorDriverTest, Row111And112TwoHalvesHaveOneEachAndTogetherOne) {
  CoordinatorWorld world(5, GetParam());
  world.run_seconds(kSettleSeconds);
  world.cut(0b00111);
  world.run_seconds(kSettleSeconds);
  for (const std::uint32_t place : {0u, 1u, 2u}) {
    EXPECT_EQ(world.coordinator(place), 30u) << place;
  }
  for (const std::uint32_t place : {3u, 4u}) {
    EXPECT_EQ(world.coordinator(place), 50u) << place;
  }
  world.cut(0);
  world.run_seconds(kSettleSeconds);
  EXPECT_EQ(world.agreed(), 50u);
  // Every way of cutting them.
  for (std::uint64_t side = 1; side < 31; ++side) {
    world.cut(side);
    world.run_seconds(kSettleSeconds);
    world.cut(0);
    world.run_seconds(kSettleSeconds);
    ASSERT_EQ(world.agreed(), 50u) << side;
  }
}

TEST_P(CoordinatorDriverTest, Row111And112LostMessagesAreMadeUpFor) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CoordinatorWorld world(4, GetParam(), seed);
    world.lose(30);
    world.run_seconds(20);
    world.fail(3);
    world.run_seconds(20);
    world.start(3);
    world.run_seconds(20);
    world.lose(0);
    world.run_seconds(kSettleSeconds);
    EXPECT_EQ(world.agreed(), 40u) << seed;
  }
}

// Nodes fail, come back and are cut off at random; when that ends there is one coordinator.
TEST_P(CoordinatorDriverTest, Row111And112AfterAnyFaultsThereIsOneCoordinator) {
  constexpr std::uint32_t kNodes = 5;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CoordinatorWorld world(kNodes, GetParam(), seed);
    world.lose(10);
    std::uint64_t down = 0;
    for (std::uint64_t step = 0; step < 40; ++step) {
      const std::uint64_t word = random64(seed, 77, step);
      const auto place = static_cast<std::uint32_t>(word % kNodes);
      const std::uint64_t bit = std::uint64_t{1} << place;
      if ((word >> 8) % 3 == 0) {
        world.cut(word >> 16 & 31);
      } else if ((down & bit) != 0) {
        world.start(place);
        down &= ~bit;
      } else {
        world.fail(place);
        down |= bit;
      }
      world.run(word >> 32 & 255);
    }
    world.cut(0);
    world.lose(0);
    for (std::uint32_t place = 0; place < kNodes; ++place) {
      if ((down >> place & 1) != 0) {
        world.start(place);
      }
    }
    world.run_seconds(2 * kSettleSeconds);
    EXPECT_EQ(world.agreed(), 50u) << seed;
  }
}

// It lives, but its words do not come through: nobody goes on believing in it.
TEST_P(CoordinatorDriverTest, Row111And112ACoordinatorThatIsNotHeardIsDoubted) {
  CoordinatorWorld world(3, GetParam());
  world.run_seconds(kSettleSeconds);
  world.set_filter([](std::uint32_t from, std::uint32_t) { return from == 2; });
  bool doubted = false;
  for (std::uint64_t k = 0; k < 10; ++k) {
    world.run_seconds(1);
    doubted = doubted || world.coordinator(0) == 0;
  }
  EXPECT_TRUE(doubted);
  EXPECT_GT(world.office(0).view().elections, 0u);
  world.set_filter({});
  world.run_seconds(kSettleSeconds);
  EXPECT_EQ(world.agreed(), 30u);
}

TEST_P(CoordinatorDriverTest, Row111And112AStandstillOfTheLoopIsNotBlamedOnTheCoordinator) {
  CoordinatorWorld world(3, GetParam());
  world.run_seconds(kSettleSeconds);
  constexpr std::uint64_t kGap = 1000;
  CoordinatorDriver& office = world.office(0);
  const std::uint64_t stood = office.view().elections;
  office.on_loop_gap(kGap);
  office.on_tick(world.now() + kGap);
  EXPECT_EQ(office.coordinator(), NodeId{30});
  EXPECT_EQ(office.view().elections, stood);
  // Without it the same silence is one.
  office.on_tick(world.now() + 2 * kGap);
  EXPECT_EQ(office.view().elections, stood + 1);
}

TEST_P(CoordinatorDriverTest, Row111And112AReleaseOfBeforeIsNeverSentAnything) {
  CoordinatorWorld world(4, GetParam());
  world.set_old(3);
  world.run_seconds(kSettleSeconds);
  EXPECT_EQ(world.coordinator(0), 30u);
  EXPECT_EQ(world.coordinator(1), 30u);
  EXPECT_EQ(world.coordinator(2), 30u);
  EXPECT_EQ(world.received(3), 0u);
}

TEST_P(CoordinatorDriverTest, Row111And112AMessageOfAnotherMethodIsDroppedCountedAndShown) {
  const Method other = GetParam() == Method::Bully ? Method::Ring : Method::Bully;
  for (const Method method : {other, Method::Raft}) {
    CoordinatorWorld world(4, GetParam());
    world.set_method(2, method);
    world.start(2);
    world.run_seconds(2 * kSettleSeconds);
    for (const std::uint32_t place : {0u, 1u, 3u}) {
      EXPECT_EQ(world.coordinator(place), 40u) << "the others elect without it";
    }
    EXPECT_EQ(world.office(2).view().coordinator, method == Method::Raft ? NodeId{} : NodeId{30});
    const CoordinatorView odd = world.office(2).view();
    EXPECT_GT(odd.other_method, 0u);
    EXPECT_FALSE(odd.others.empty());
    EXPECT_EQ(odd.dropped, 0u) << "they are no mistakes of form";
    std::uint32_t shown = 0;
    for (const std::uint32_t place : {0u, 1u, 3u}) {
      for (const auto& [node, elects] : world.office(place).view().others) {
        EXPECT_EQ(node, NodeId{30});
        EXPECT_EQ(elects, method);
        ++shown;
      }
    }
    EXPECT_GT(shown, 0u);
    // The operator has seen it.
    world.set_method(2, GetParam());
    world.start(2);
    world.run_seconds(2 * kSettleSeconds);
    EXPECT_EQ(world.agreed(), 40u);
    for (std::uint32_t place = 0; place < 4; ++place) {
      EXPECT_TRUE(world.office(place).view().others.empty()) << place;
    }
  }
}

// A rank whose node has failed is taken out by nobody; without a count of hops it would travel on.
TEST_P(CoordinatorDriverTest, Row111And112AMessageThatNobodyTakesOutComesToAnEnd) {
  CoordinatorWorld world(3, GetParam());
  world.run_seconds(kSettleSeconds);
  world.fail(2);
  world.run_seconds(5);
  const std::uint64_t sent = world.sent();
  const auto stray = encode_coordinator({GetParam(), Word::Coordinator, 2, world.id(2)});
  world.office(0).on_message(world.id(1), stray, world.now());
  world.run(50);
  EXPECT_LE(world.sent() - sent, 4u);
  world.run_seconds(kSettleSeconds);
  EXPECT_EQ(world.agreed(), 20u);
}

TEST_P(CoordinatorDriverTest, Row111And112HostileMessagesAreDroppedAndCounted) {
  CoordinatorWorld world(3, GetParam());
  world.run_seconds(kSettleSeconds);
  CoordinatorDriver& office = world.office(0);
  const auto good = encode_coordinator({GetParam(), Word::Coordinator, 1, NodeId{30}});
  const bool bully = GetParam() == Method::Bully;
  std::vector<std::pair<NodeId, std::vector<std::byte>>> bad = {
      {NodeId{99}, good},
      {NodeId{10}, good},  // This node itself.
      {NodeId{20}, good},  // First hand, of another.
      {NodeId{30}, encode_coordinator({GetParam(), Word::Coordinator, 1, NodeId{99}})},
      {NodeId{30}, encode_coordinator({GetParam(), Word::Coordinator, 2, NodeId{30}})},
      {NodeId{30}, encode_coordinator({GetParam(), Word::Coordinator, 4, NodeId{20}})},
      {NodeId{30}, encode_coordinator({GetParam(), Word::Coordinator, 0, NodeId{30}})},
      {NodeId{30}, encode_coordinator({GetParam(), Word::Method, 1, NodeId{30}})},
      {NodeId{30}, encode_coordinator({GetParam(), Word{0}, 1, NodeId{30}})},
      {NodeId{30}, encode_coordinator({GetParam(), Word{5}, 1, NodeId{30}})},
      // Nobody higher asks in a bully's election; nobody answers in a ring's.
      {NodeId{30},
       encode_coordinator({GetParam(), bully ? Word::Election : Word::Answer, 1, NodeId{30}})}};
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    const auto part = std::span(good).first(bytes);
    bad.emplace_back(NodeId{30}, std::vector<std::byte>(part.begin(), part.end()));
  }
  const std::uint64_t sent = world.sent();
  const std::uint64_t before = office.view().dropped;
  for (const auto& [from, message] : bad) {
    office.on_message(from, message, world.now());
  }
  EXPECT_EQ(office.view().dropped, before + bad.size());
  EXPECT_EQ(world.sent(), sent);
  EXPECT_EQ(office.coordinator(), NodeId{30});
  // One of a later release, which says more.
  std::vector<std::byte> longer = good;
  longer.resize(64, std::byte{7});
  office.on_message(NodeId{30}, longer, world.now());
  EXPECT_EQ(office.view().dropped, before + bad.size());
}

INSTANTIATE_TEST_SUITE_P(Methods,
                         CoordinatorDriverTest,
                         testing::Values(Method::Bully, Method::Ring),
                         [](const auto& each) {
                           return each.param == Method::Bully ? std::string{"Bully"}
                                                              : std::string{"Ring"};
                         });

TEST(CoordinatorMessage, Row111And112WhatIsEncodedIsDecoded) {
  for (std::uint8_t word = 1; word <= kCoordinatorWordLast; ++word) {
    const CoordinatorMessage message{Method::Ring, Word{word}, 3, NodeId{0x01020304}};
    const auto bytes = encode_coordinator(message);
    ASSERT_EQ(bytes.size(), 8u);
    EXPECT_EQ(bytes[0], kCoordinatorKind);
    EXPECT_EQ(bytes[4], std::byte{4}) << "little-endian";
    const auto decoded = decode_coordinator(bytes);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->method, message.method);
    EXPECT_EQ(decoded->word, message.word);
    EXPECT_EQ(decoded->hops, message.hops);
    EXPECT_EQ(decoded->subject, message.subject);
  }
}

TEST(CoordinatorMessage, Row111And112MethodsHaveNames) {
  for (const Method method : {Method::Raft, Method::Bully, Method::Ring}) {
    EXPECT_EQ(parse_coordinator_method(coordinator_method_name(method)), method);
  }
  EXPECT_EQ(coordinator_method_name(Method{7}), "unknown");
  EXPECT_EQ(parse_coordinator_method("unknown"), std::nullopt);
  EXPECT_EQ(parse_coordinator_method(""), std::nullopt);
}

TEST(CoordinatorDriver, Row111And112WithRaftNothingIsSentAndNobodyElected) {
  CoordinatorWorld world(3, Method::Raft);
  world.run_seconds(60);
  EXPECT_EQ(world.sent(), 0u);
  EXPECT_EQ(world.coordinator(0), 0u);
  EXPECT_EQ(world.office(0).next_deadline(), kTickNever);
}

}  // namespace
}  // namespace gcoord::server
