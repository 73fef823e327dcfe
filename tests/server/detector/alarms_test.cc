// Alarms about the cluster view: they come and go by themselves, and are disarmed by an operator.
#include "server/detector/alarms.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::MemberState;

constexpr AlarmOptions kOptions{.converge_after_ms = 1000, .replace_after_ms = 500};
constexpr std::uint64_t kWall = 1'700'000'000'000;

ClusterView view_of_three() {
  ClusterView view{.epoch = 1, .settings = {}, .nodes = {}};
  for (std::uint32_t id = 1; id <= 3; ++id) {
    protocol::Member member;
    member.id = NodeId{id};
    view.nodes.push_back(member);
  }
  return view;
}

TEST(MemberAlarms, AViewThatIsWellHasNone) {
  Alarms alarms(kOptions);
  alarms.refresh(view_of_three(), 1'000'000, kWall);
  EXPECT_TRUE(alarms.list().empty());
  EXPECT_FALSE(alarms.disarm({}));
}

TEST(MemberAlarms, ANodeThatJoinsForTooLongRaisesOne) {
  Alarms alarms(kOptions);
  ClusterView view = view_of_three();
  view.nodes[2].state = MemberState::Joining;
  alarms.refresh(view, 5000, kWall);
  alarms.refresh(view, 5999, kWall + 999);
  EXPECT_TRUE(alarms.list().empty());
  alarms.refresh(view, 6000, kWall + 1000);
  const std::vector<MemberAlarm> expected{{AlarmKind::NotConverged, NodeId{3}, kWall, true}};
  EXPECT_EQ(alarms.list(), expected);
  EXPECT_NE(alarm_text(alarms.list()[0], view, kWall + 1000).find("node 3 is joining for 1 s"),
            std::string::npos);
  view.nodes[2].state = MemberState::Active;
  alarms.refresh(view, 6001, kWall + 1001);
  EXPECT_TRUE(alarms.list().empty()) << "it goes by itself";
}

TEST(MemberAlarms, ANodeThatIsSuspectForLongRaisesOneByTheTimeOfTheView) {
  Alarms alarms(kOptions);
  ClusterView view = view_of_three();
  view.nodes[1].suspect = true;
  view.nodes[1].suspect_since_ms = kWall - 600;
  alarms.refresh(view, 5000, kWall);
  ASSERT_EQ(alarms.list().size(), 1u) << "the node that looks may have started later";
  EXPECT_EQ(alarms.list()[0].kind, AlarmKind::SuspectForLong);
  EXPECT_EQ(alarms.list()[0].since_ms, kWall - 600);
  EXPECT_EQ(alarms.armed_count(), 1u);
}

TEST(MemberAlarms, OneThatIsDisarmedStaysSoUntilItComesAnew) {
  Alarms alarms(kOptions);
  ClusterView view = view_of_three();
  view.nodes[1].suspect = true;
  view.nodes[1].suspect_since_ms = kWall - 600;
  alarms.refresh(view, 5000, kWall);
  EXPECT_FALSE(alarms.disarm({.node = NodeId{3}})) << "another node's";
  EXPECT_FALSE(alarms.disarm({.kind = AlarmKind::NotConverged, .node = NodeId{2}}));
  EXPECT_EQ(alarms.armed_count(), 1u);
  EXPECT_TRUE(alarms.disarm({.kind = AlarmKind::SuspectForLong, .node = NodeId{2}}));
  EXPECT_FALSE(alarms.list()[0].armed);
  EXPECT_TRUE(alarms.disarm({})) << "once more";
  alarms.refresh(view, 6000, kWall + 1000);
  ASSERT_EQ(alarms.list().size(), 1u);
  EXPECT_FALSE(alarms.list()[0].armed);
  EXPECT_EQ(alarms.armed_count(), 0u);
  view.nodes[1].suspect = false;
  alarms.refresh(view, 7000, kWall + 2000);
  view.nodes[1].suspect = true;
  view.nodes[1].suspect_since_ms = kWall + 2000;
  alarms.refresh(view, 8000, kWall + 3000);
  EXPECT_EQ(alarms.armed_count(), 1u);
}

// Nodes that started at different times raise it one after the other.
TEST(MemberAlarms, OneThatIsDisarmedBeforeItIsDueComesDisarmed) {
  Alarms alarms(kOptions);
  ClusterView view = view_of_three();
  view.nodes[2].state = MemberState::Leaving;
  alarms.refresh(view, 5000, kWall);
  ASSERT_TRUE(alarms.list().empty());
  EXPECT_TRUE(alarms.disarm({.node = NodeId{3}}));
  alarms.refresh(view, 7000, kWall + 2000);
  ASSERT_EQ(alarms.list().size(), 1u);
  EXPECT_EQ(alarms.armed_count(), 0u);
}

TEST(MemberAlarms, ZeroIsNoAlarm) {
  Alarms alarms({.converge_after_ms = 0, .replace_after_ms = 0});
  ClusterView view = view_of_three();
  view.nodes[0].state = MemberState::Leaving;
  view.nodes[1].suspect = true;
  alarms.refresh(view, 1, kWall);
  alarms.refresh(view, 100'000'000, kWall + 100'000'000);
  EXPECT_TRUE(alarms.list().empty());
  EXPECT_FALSE(alarms.disarm({}));
}

TEST(MemberAlarms, TombstonesRaiseNone) {
  Alarms alarms(kOptions);
  ClusterView view = view_of_three();
  view.nodes[1].suspect = true;
  view.nodes[1].state = MemberState::Removed;
  alarms.refresh(view, 100'000, kWall);
  EXPECT_TRUE(alarms.list().empty());
}

}  // namespace
}  // namespace gcoord::server
