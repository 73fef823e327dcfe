// Words of gcoordctl member: how nodes are named, how far a change is, and what starts a new node.
#include "cli/member/add.h"
#include "cli/member/description.h"
#include "cli/member/list.h"
#include "cli/member/named.h"
#include "cli/member/wait.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace gcoord::cli {
namespace {

using client::MemberState;

client::MembershipView three() {
  client::MembershipView view;
  view.epoch = 7;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    client::MemberDescription member;
    member.node_id = id;
    member.name = "n" + std::to_string(id);
    member.client_address = "10.0.0." + std::to_string(id) + ":7400";
    view.members.push_back(member);
  }
  return view;
}

constexpr client::MemberProgress kSettled{
    .epoch = 7, .shards = 8, .led = 8, .settled = 8, .ready = 8};

TEST(MemberWords, NodesAreNamedByIdOrByName) {
  client::MembershipView view = three();
  EXPECT_EQ(find_named(view, "2")->node_id, 2u);
  EXPECT_EQ(find_named(view, "n3")->node_id, 3u);
  EXPECT_FALSE(find_named(view, "9").has_value());
  EXPECT_FALSE(find_named(view, "n9").has_value());
  view.members[2].state = MemberState::Removed;
  EXPECT_FALSE(find_named(view, "n3").has_value());
  EXPECT_EQ(find_named(view, "3")->state, MemberState::Removed);
}

TEST(MemberWords, TheCommandOfANewNodeNamesThoseThatServe) {
  client::MembershipView view = three();
  view.members[1].state = MemberState::Leaving;
  EXPECT_EQ(join_command(view, "00ff"),
            "gcoordd --join 10.0.0.1:7400,10.0.0.3:7400 --join-token 00ff --data-dir "
            "/var/lib/gcoord --listen-peer ADDRESS:7500 --listen-client ADDRESS:7400");
}

MemberOutlook outlook(const MemberWait& wait,
                      const client::MembershipView& view,
                      const client::MemberProgress& progress = kSettled) {
  return outlook_of(wait, view, progress);
}

TEST(MemberWords, AGoalIsReachedWhenTheNewestViewIsSettled) {
  client::MembershipView view = three();
  const MemberWait active{.node_id = 3, .replaces = 1};
  EXPECT_EQ(outlook({.node_id = 3}, view), MemberOutlook::Reached);
  client::MemberProgress progress = kSettled;
  progress.settled = 7;
  EXPECT_EQ(outlook({.node_id = 3}, view, progress), MemberOutlook::Open);
  progress = kSettled;
  progress.epoch = 6;
  EXPECT_EQ(outlook({.node_id = 3}, view, progress), MemberOutlook::Open);
  progress = kSettled;
  progress.led = 7;
  EXPECT_EQ(outlook({.node_id = 3}, view, progress), MemberOutlook::Open);
  view.members[0].state = MemberState::Leaving;
  EXPECT_EQ(outlook(active, view), MemberOutlook::Open);
  EXPECT_EQ(outlook({.node_id = 3}, view), MemberOutlook::Reached)
      << "of another node it is none's";
  EXPECT_EQ(outlook({.node_id = 1, .goal = MemberGoal::Gone}, view), MemberOutlook::Open);
  view.members[0].state = MemberState::Removed;
  EXPECT_EQ(outlook(active, view), MemberOutlook::Reached);
  EXPECT_EQ(outlook({.node_id = 1, .goal = MemberGoal::Gone}, view), MemberOutlook::Reached);
  EXPECT_EQ(outlook({.node_id = 9, .goal = MemberGoal::Gone}, view), MemberOutlook::Reached);
  view.members[2].state = MemberState::Joining;
  view.members[2].invited = true;
  EXPECT_EQ(outlook({.node_id = 3, .goal = MemberGoal::Joined}, view), MemberOutlook::Open);
  view.members[2].invited = false;
  EXPECT_EQ(outlook({.node_id = 3, .goal = MemberGoal::Joined}, view), MemberOutlook::Reached);
}

TEST(MemberWords, WhoHasLeftReachesNothingElse) {
  client::MembershipView view = three();
  for (const MemberState state : {MemberState::Leaving, MemberState::Removed}) {
    view.members[2].state = state;
    for (const MemberGoal goal : {MemberGoal::Joined, MemberGoal::Active}) {
      EXPECT_EQ(outlook({.node_id = 3, .goal = goal}, view), MemberOutlook::Left);
      EXPECT_EQ(outlook({.node_id = 9, .goal = goal}, view), MemberOutlook::Left);
    }
  }
  EXPECT_EQ(outlook({.node_id = 3, .goal = MemberGoal::Drained}, view), MemberOutlook::Left);
}

TEST(MemberWords, WhoIsInvitedComesInTimeOrNever) {
  using std::chrono::seconds;
  client::MembershipView view = three();
  view.members[2].state = MemberState::Joining;
  view.members[2].invited = true;
  MemberWait wait{.node_id = 3, .invited_until = Deadline{seconds{100}}};
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{99}}));
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{101}}));  // Under way.
  EXPECT_TRUE(is_late(wait, view, Deadline{seconds{102}}));
  view.members[2].invited = false;
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{102}}));
  view.members[2].invited = true;
  wait.invited_until = Deadline::max();
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{102}}));
}

TEST(MemberWords, ABarIsAsLongAsTheShardsThatAreDone) {
  client::MemberProgress progress = kSettled;
  EXPECT_EQ(progress_line({.node_id = 4}, progress, "active"),
            "[########################] 8 of 8 shards, node 4 active");
  progress.settled = 2;
  progress.ready = 4;
  EXPECT_EQ(progress_line({.node_id = 4}, progress, "joining"),
            "[######------------------] 2 of 8 shards, node 4 joining");
  EXPECT_EQ(progress_line({.node_id = 4, .goal = MemberGoal::Joined}, progress, "joining"),
            "[############------------] 4 of 8 shards, node 4 joining");
  EXPECT_EQ(progress_line({.node_id = 4}, {}, "joining"),
            "[------------------------] 0 of 0 shards, node 4 joining");
}

TEST(MemberWords, AListSaysWhoMovesAndWhoIsSuspect) {
  client::MembershipView view = three();
  EXPECT_FALSE(is_moving(view));
  view.members[1].state = MemberState::Leaving;
  view.members[2].suspect = true;
  EXPECT_TRUE(is_moving(view));
  MemberRows rows;
  rows.add(1, view);
  EXPECT_TRUE(rows.json()["moves"].is_null());
  client::MemberProgress progress = kSettled;
  progress.settled = 5;
  rows.set_progress(progress);
  const Json json = rows.json();
  EXPECT_EQ(unsigned_of(json["moves"]["settled"]), 5u);
  EXPECT_EQ(json["members"][1]["state"].text(), "leaving");
  EXPECT_TRUE(json["members"][2]["suspect"].truth());
  const Table table = rows.table();
  EXPECT_EQ(table.rows[2][3], "active suspect");
  ASSERT_EQ(table.notes.size(), 1u);
  EXPECT_EQ(table.notes[0],
            "moving: 5 of 8 shards have the nodes of view 7, 8 are on all that join");
}

}  // namespace
}  // namespace gcoord::cli
