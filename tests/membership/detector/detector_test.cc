// Detectors of several nodes with a simulated network: who suspects whom, and when.
#include "membership/detector/detector.h"

#include "membership/detector/marks.h"
#include "tests/membership/detector/simulated_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::membership {
namespace {

TEST(Detector, Row115NobodyIsSuspectedWhereNothingFails) {
  SimulatedNodes nodes(5);
  nodes.run(60'000);
  EXPECT_EQ(nodes.suspicions(), 0u);
  EXPECT_EQ(nodes.at(1).counts().rounds, 0u) << "no urgent probe without a doubt";
  // A ping and an answer per node and interval.
  EXPECT_LE(nodes.datagrams, 5u * 2u * 600u + 100u);
}

TEST(Detector, Row115AKilledProcessIsSuspectWithinSomeMilliseconds) {
  SimulatedNodes nodes(7);
  nodes.run(5000);
  nodes.kill(4);
  const std::uint64_t took =
      nodes.run_until([&] { return nodes.verdict(1, 4) == Verdict::Suspect; }, 5000);
  EXPECT_LE(took, 10u);
  EXPECT_EQ(nodes.sight(1, 4).cause, Cause::Refused);
  EXPECT_EQ(nodes.sight(1, 4).level, Level::Process) << "its host answered";
}

TEST(Detector, AKilledProcessIsSuspectUnderLossToo) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SimulatedNodes nodes(7, seed, 0.3);
    nodes.run(10'000);
    nodes.kill(4);
    const std::uint64_t took =
        nodes.run_until([&] { return nodes.verdict(1, 4) == Verdict::Suspect; }, 10'000);
    EXPECT_LE(took, 2500u) << "seed " << seed;
  }
}

TEST(Detector, Row115LossAloneMakesNobodySuspect) {
  for (const double loss : {0.1, 0.3}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SimulatedNodes nodes(5, seed, loss);
      nodes.run(60'000);
      EXPECT_EQ(nodes.suspicions(), 0u) << "loss " << loss << ", seed " << seed;
    }
  }
}

TEST(Detector, AHostWithoutPowerIsSuspectAfterTheLeastSilence) {
  SimulatedNodes nodes(7);
  nodes.run(5000);
  nodes.power_off(4);
  nodes.run(2300);
  EXPECT_NE(nodes.verdict(1, 4), Verdict::Suspect);
  const std::uint64_t took =
      nodes.run_until([&] { return nodes.verdict(1, 4) == Verdict::Suspect; }, 10'000);
  EXPECT_LE(took, 600u);
  EXPECT_EQ(nodes.sight(1, 4).cause, Cause::Silent);
  EXPECT_TRUE(nodes.at(1).others_agree(NodeId{4}, nodes.now_ms));
}

TEST(Detector, AllProcessesOfAHostThatAreSilentAreAHost) {
  SimulatedNodes nodes(7);
  nodes.run(5000);
  nodes.power_off(3);
  nodes.power_off(4);
  nodes.power_off(7);  // Half of its host.
  nodes.run(5000);
  EXPECT_EQ(nodes.sight(1, 3).level, Level::Host);
  EXPECT_EQ(nodes.sight(1, 4).level, Level::Host);
  EXPECT_EQ(nodes.sight(1, 7).level, Level::Process);
}

TEST(Detector, AStopOfTwoSecondsMakesNobodySuspect) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimulatedNodes nodes(7, seed);
    nodes.run(5000);
    nodes.stop(4);
    nodes.run(2000);
    nodes.go_on(4);
    nodes.run(5000);
    EXPECT_EQ(nodes.suspicions(), 0u) << "neither it nor the others by it, seed " << seed;
    EXPECT_GT(nodes.at(4).counts().own_gaps, 0u) << "it noticed";
  }
}

TEST(Detector, OneCutLinkMakesNobodySuspect) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  nodes.cut(1, 4);
  nodes.cut(4, 1);
  nodes.run(30'000);
  EXPECT_EQ(nodes.suspicions(), 0u);
  EXPECT_EQ(nodes.verdict(1, 4), Verdict::Doubted);
  EXPECT_EQ(nodes.sight(1, 4).cause, Cause::Link) << "others hear it";
  EXPECT_EQ(nodes.verdict(2, 4), Verdict::Alive);
}

TEST(Detector, ALinkCutOneWayMakesNobodySuspect) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  nodes.cut(4, 1);
  nodes.run(30'000);
  EXPECT_EQ(nodes.suspicions(), 0u);
}

TEST(Detector, ANodeThatHearsNobodySuspectsNobody) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  for (std::uint32_t other = 1; other <= 5; ++other) {
    nodes.cut(5, other);
    nodes.cut(other, 5);
  }
  nodes.run(30'000);
  EXPECT_EQ(nodes.at(5).counts().suspicions, 0u) << "its own link is the likelier cause";
  EXPECT_EQ(nodes.verdict(1, 5), Verdict::Suspect);
}

TEST(Detector, ARestartedNodeIsAliveAtOnce) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  nodes.kill(3);
  nodes.run(1000);
  EXPECT_EQ(nodes.verdict(1, 3), Verdict::Suspect);
  nodes.start_again(3, 2);
  nodes.run(200);
  EXPECT_EQ(nodes.verdict(1, 3), Verdict::Alive);
  EXPECT_EQ(nodes.sight(1, 3).incarnation, Incarnation{2});
}

TEST(Detector, WordsOfAnOlderLifeAreDropped) {
  SimulatedNodes nodes(3);
  nodes.start_again(2, 5);
  nodes.run(1000);
  const std::uint64_t unknown = nodes.at(1).counts().unknown;
  const DetectorMessage old{.from = NodeId{2}, .to = NodeId{1}, .incarnation = Incarnation{4}};
  EXPECT_FALSE(nodes.at(1).on_message(old, nodes.now_ms));
  const DetectorMessage stranger{.from = NodeId{9}, .to = NodeId{1}, .incarnation = Incarnation{1}};
  EXPECT_FALSE(nodes.at(1).on_message(stranger, nodes.now_ms));
  EXPECT_EQ(nodes.at(1).counts().unknown, unknown + 2);
  EXPECT_TRUE(nodes.at(1).take_outgoing().empty()) << "strangers get no answer";
}

TEST(Detector, ARelayedAnswerThatNobodyAskedForIsNoSignOfLife) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  nodes.power_off(4);
  nodes.run(5000);
  ASSERT_EQ(nodes.verdict(1, 4), Verdict::Suspect);
  for (std::uint32_t sequence = 0; sequence < 100; ++sequence) {
    nodes.at(1).on_message({.kind = MessageKind::Relayed,
                            .outcome = Outcome::Answered,
                            .from = NodeId{2},
                            .to = NodeId{1},
                            .incarnation = Incarnation{1},
                            .sequence = sequence + 1'000'000,
                            .about = NodeId{4}},
                           nodes.now_ms);
  }
  EXPECT_EQ(nodes.sight(1, 4).indirect_ms, 0u);
}

// Nobody gets more bytes out of a node than it sends, and makes it send them to somebody else.
TEST(Detector, AnAnswerIsNoLongerThanItsQuestion) {
  SimulatedNodes nodes(4);
  nodes.run(1000);
  Detector& asked = nodes.at(1);
  static_cast<void>(asked.take_outgoing());
  asked.on_channel_ended(NodeId{2}, nodes.now_ms);
  asked.on_channel_ended(NodeId{4}, nodes.now_ms);
  asked.advance(nodes.now_ms + 1);
  // Its own questions have room for all that the other one may have to say.
  const std::vector<DetectorMessage> questions = asked.take_outgoing();
  ASSERT_FALSE(questions.empty());
  for (const DetectorMessage& question : questions) {
    EXPECT_EQ(question.room(), 3u);
  }
  for (const std::uint32_t room : {0u, 1u, 3u}) {
    ASSERT_TRUE(asked.on_message({.from = NodeId{3},
                                  .to = NodeId{1},
                                  .incarnation = Incarnation{1},
                                  .sequence = 7,
                                  .about = {},
                                  .opinions = {},
                                  .padding = room},
                                 nodes.now_ms));
    const std::vector<DetectorMessage> out = asked.take_outgoing();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].kind, MessageKind::Ack);
    EXPECT_EQ(out[0].room(), std::min(room, 2u));
  }
}

TEST(Detector, ARefusalFromANodeThatNeverSpokeSaysNothing) {
  SimulatedNodes nodes(3);
  nodes.at(1).on_heartbeat(NodeId{2}, Incarnation{1}, nodes.now_ms);
  for (int k = 0; k < 10; ++k) {
    nodes.at(1).on_refused(NodeId{2}, nodes.now_ms);
  }
  nodes.at(1).advance(nodes.now_ms);
  EXPECT_EQ(nodes.verdict(1, 2), Verdict::Alive) << "it may have no socket for datagrams";
}

TEST(Detector, WithoutDatagramsHeartbeatsAloneDecide) {
  SimulatedNodes nodes(5);
  for (std::uint32_t id = 1; id <= 5; ++id) {
    nodes.at(id).set_socket(false);
  }
  nodes.run(5000);
  EXPECT_EQ(nodes.datagrams, 0u);
  nodes.power_off(4);
  nodes.run(2000);
  EXPECT_EQ(nodes.suspicions(), 0u);
  nodes.run(2000);
  EXPECT_EQ(nodes.verdict(1, 4), Verdict::Suspect);
}

TEST(Detector, AStoppedGpuIsSaidByItsNode) {
  SimulatedNodes nodes(3);
  nodes.run(1000);
  nodes.at(2).set_own_device(DeviceHealth::Stopped);
  nodes.run(1000);
  EXPECT_EQ(nodes.suspicions(), 0u) << "anybody could say so in its name";
  EXPECT_GT(nodes.at(1).counts().rounds, 0u) << "but it is probed";
  nodes.kill(2);
  nodes.run(500);
  EXPECT_EQ(nodes.verdict(1, 2), Verdict::Suspect);
  EXPECT_EQ(nodes.sight(1, 2).cause, Cause::Device);
  EXPECT_EQ(nodes.sight(1, 2).level, Level::Device);
  nodes.start_again(2, 2);
  nodes.run(1000);
  EXPECT_EQ(nodes.verdict(1, 2), Verdict::Alive);
}

TEST(Detector, AForgedNewLifeDoesNotShutTheNodeOut) {
  SimulatedNodes nodes(3);
  nodes.run(1000);
  const DetectorMessage forged{
      .from = NodeId{2}, .to = NodeId{1}, .incarnation = Incarnation{4'000'000'000}};
  EXPECT_FALSE(nodes.at(1).on_message(forged, nodes.now_ms)) << "its channel is of another life";
  nodes.run(5000);
  EXPECT_EQ(nodes.verdict(1, 2), Verdict::Alive);
  EXPECT_EQ(nodes.sight(1, 2).incarnation, Incarnation{1});
}

TEST(Detector, TheChannelsWordHoldsAboutTheLife) {
  SimulatedNodes nodes(3);
  const DetectorMessage forged{
      .from = NodeId{2}, .to = NodeId{1}, .incarnation = Incarnation{4'000'000'000}};
  EXPECT_TRUE(nodes.at(1).on_message(forged, nodes.now_ms)) << "nothing is known of it yet";
  nodes.run(5000);
  EXPECT_EQ(nodes.sight(1, 2).incarnation, Incarnation{1});
  EXPECT_EQ(nodes.verdict(1, 2), Verdict::Alive);
}

TEST(Detector, OfTwoNodesOneThatIsKilledIsSuspect) {
  SimulatedNodes nodes(2);
  nodes.run(3000);
  nodes.kill(2);
  EXPECT_LE(nodes.run_until([&] { return nodes.verdict(1, 2) == Verdict::Suspect; }, 5000), 500u);
}

TEST(Detector, SeveralDeathsAtOnceAreSeenAtOnce) {
  SimulatedNodes nodes(7);
  nodes.run(5000);
  for (const std::uint32_t id : {5u, 6u, 7u}) {
    nodes.kill(id);
  }
  const auto all = [&] {
    return nodes.verdict(1, 5) == Verdict::Suspect && nodes.verdict(1, 6) == Verdict::Suspect &&
           nodes.verdict(1, 7) == Verdict::Suspect;
  };
  EXPECT_LE(nodes.run_until(all, 5000), 500u);
}

TEST(Detector, NodesThatLeftTheViewAreForgotten) {
  SimulatedNodes nodes(3);
  nodes.run(1000);
  const std::vector<WatchedNode> fewer{{NodeId{2}, "h"}};
  nodes.at(1).set_nodes(fewer, nodes.now_ms);
  EXPECT_EQ(nodes.at(1).sights(nodes.now_ms).size(), 1u);
  EXPECT_FALSE(nodes.at(1).on_message(
      {.from = NodeId{3}, .to = NodeId{1}, .incarnation = Incarnation{1}}, nodes.now_ms));
  nodes.at(1).advance(nodes.now_ms);
}

// --- Marks in the view.

std::vector<Mark> view_of(std::uint32_t count) {
  std::vector<Mark> view;
  for (std::uint32_t id = 1; id <= count; ++id) {
    view.push_back({NodeId{id}, false});
  }
  return view;
}

// Node 1 as the leader, whose proposals are taken as soon as they are made. Each of them is a view.
class MarkedNodes {
 public:
  explicit MarkedNodes(std::uint32_t count, std::uint64_t seed = 1)
      : nodes(count, seed), view(view_of(count)) {
    nodes.run(5000);
  }

  void run(std::uint64_t ms) {
    for (const std::uint64_t end = nodes.now_ms + ms; nodes.now_ms < end;) {
      nodes.run(1);
      std::vector<Mark> decided = marks.decide(view, nodes.at(1), nodes.now_ms);
      for (const Mark& mark : decided) {
        view[mark.node.value - 1] = mark;
      }
      if (!decided.empty()) {
        views.push_back(std::move(decided));
      }
    }
  }

  SimulatedNodes nodes;
  Marks marks;
  std::vector<Mark> view;
  std::vector<std::vector<Mark>> views;
};

TEST(Marks, ANodeIsMarkedOnceAndTheMarkGoesWhenItIsBack) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  Marks marks;
  std::vector<Mark> view = view_of(5);
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty());
  nodes.kill(4);
  nodes.run(50);
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty()) << "others may follow";
  EXPECT_EQ(marks.next_deadline_ms(), nodes.now_ms + Marks::kQuietMs);
  nodes.run(Marks::kQuietMs);
  EXPECT_EQ(marks.decide(view, nodes.at(1), nodes.now_ms), std::vector<Mark>({{NodeId{4}, true}}));
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms + 200).empty()) << "it is under way";
  EXPECT_EQ(marks.next_deadline_ms(), ~std::uint64_t{0});
  nodes.run(Marks::kRepeatMs);
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty());
  nodes.run(Marks::kQuietMs);
  EXPECT_EQ(marks.decide(view, nodes.at(1), nodes.now_ms).size(), 1u) << "and may have been lost";
  view[3].suspect = true;
  nodes.start_again(4, 2);
  nodes.run(500);
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty()) << "not yet";
  EXPECT_EQ(marks.next_deadline_ms(), ~std::uint64_t{0});
  nodes.run(1000);
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty());
  nodes.run(Marks::kQuietMs);
  EXPECT_EQ(marks.decide(view, nodes.at(1), nodes.now_ms), std::vector<Mark>({{NodeId{4}, false}}));
}

TEST(Marks, ANodeThatComesAndGoesWaitsForLonger) {
  SimulatedNodes nodes(5);
  nodes.run(5000);
  Marks marks;
  std::vector<Mark> view = view_of(5);
  const auto decides = [&] { return !marks.decide(view, nodes.at(1), nodes.now_ms).empty(); };
  std::vector<std::uint64_t> waits;
  for (std::uint32_t life = 2; life <= 5; ++life) {
    nodes.kill(4);
    EXPECT_LT(nodes.run_until(decides, 600), 600u);
    view[3].suspect = true;
    nodes.start_again(4, life);
    waits.push_back(nodes.run_until(decides, 100'000));
    view[3].suspect = false;
    nodes.run(600);
  }
  EXPECT_GT(waits.back(), 3 * waits.front());
}

TEST(Marks, ALeaderTakesItsOwnMarkAway) {
  SimulatedNodes nodes(3);
  nodes.run(1000);
  Marks marks;
  const std::vector<Mark> view{{NodeId{1}, true}, {NodeId{2}}, {NodeId{3}}};
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty());
  nodes.run(Marks::kQuietMs);
  EXPECT_EQ(marks.decide(view, nodes.at(1), nodes.now_ms), std::vector<Mark>({{NodeId{1}, false}}));
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms + 50).empty()) << "it is under way";
}

TEST(Marks, ANodeThatIsNotInTheViewIsNotMarked) {
  SimulatedNodes nodes(3);
  nodes.run(5000);
  nodes.kill(3);
  nodes.run(500);
  Marks marks;
  const std::vector<Mark> view{{NodeId{1}}, {NodeId{2}}};
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty());
  nodes.run(Marks::kGatherMs);
  EXPECT_TRUE(marks.decide(view, nodes.at(1), nodes.now_ms).empty());
}

// Killed one after the other by one command, or without power from one moment on.
TEST(Marks, NodesThatDieAtOnceAreMarkedInOneView) {
  for (const bool power : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const std::uint32_t deaths : {2u, 3u}) {
        SCOPED_TRACE(testing::Message()
                     << "power " << power << " seed " << seed << " deaths " << deaths);
        MarkedNodes marked(7, seed);
        std::vector<Mark> expected;
        for (std::uint32_t id = 5; id < 5 + deaths; ++id) {
          power ? marked.nodes.kill(id) : marked.nodes.power_off(id);
          marked.run(power ? 5 : 0);
          expected.push_back({NodeId{id}, true});
        }
        marked.run(6000);
        EXPECT_EQ(marked.views, std::vector<std::vector<Mark>>({expected}));
      }
    }
  }
}

TEST(Marks, NodesThatComeBackAtOnceAreClearedInOneView) {
  MarkedNodes marked(7);
  marked.nodes.kill(3);
  marked.nodes.kill(6);
  marked.run(1000);
  ASSERT_EQ(marked.views.size(), 1u);
  marked.nodes.start_again(3, 2);
  marked.run(20);
  marked.nodes.start_again(6, 2);
  marked.run(3000);
  ASSERT_EQ(marked.views.size(), 2u);
  EXPECT_EQ(marked.views[1], std::vector<Mark>({{NodeId{3}, false}, {NodeId{6}, false}}));
}

// What is gathered costs a death alone kQuietMs, and never more than kGatherMs.
TEST(Marks, ADeathDoesNotWaitForLong) {
  for (const bool doubts : {false, true}) {
    MarkedNodes marked(5);
    if (doubts) {
      marked.nodes.stop(2);  // Silent, and for long not silent enough.
      marked.run(1000);
      ASSERT_EQ(marked.nodes.verdict(1, 2), Verdict::Doubted);
    }
    marked.nodes.kill(4);
    const std::uint64_t seen = marked.nodes.run_until(
        [&] { return marked.nodes.verdict(1, 4) == Verdict::Suspect; }, 1000);
    ASSERT_LT(seen, 1000u);
    const std::uint64_t wait = doubts ? Marks::kGatherMs : Marks::kQuietMs;
    marked.run(wait);
    EXPECT_TRUE(marked.views.empty());
    marked.run(1);
    EXPECT_EQ(marked.views.size(), 1u);
  }
}

}  // namespace
}  // namespace gcoord::membership
