// What the operator of a world orders, carried out on views as nodes would.
#include "chaos/members/operator_plan.h"

#include "chaos/members/member_judge.h"
#include "chaos/members/survivors.h"
#include "membership/view/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace gcoord::chaos {
namespace {

using membership::ViewCode;
using membership::ViewCommand;
using membership::ViewCommandKind;
using protocol::Member;
using protocol::MemberAction;
using protocol::MemberActionOrder;
using protocol::MemberState;

// A cluster in which everything takes place at once.
class Cluster {
 public:
  explicit Cluster(std::uint32_t founders) {
    std::vector<Member> nodes;
    for (std::uint32_t id = 1; id <= founders; ++id) {
      Member node;
      node.id = NodeId{id};
      node.incarnation = Incarnation{1};
      node.name = protocol::default_member_name(node.id);
      nodes.push_back(node);
      running.insert(node.id);
    }
    EXPECT_EQ(views.apply(encode_view_command(
                  membership::founding_command({.shards = 8}, std::move(nodes)))),
              ViewCode::Applied);
  }

  const protocol::ClusterView& view() const { return views.view(); }

  OperatorFacts facts() const { return {view(), running, lost, waiting, 6}; }

  void carry_out(const MemberActionOrder& order) {
    ViewCommand command{.kind = kind_of(order.action), .expected = view().epoch};
    command.step.node = order.node;
    command.step.replaces = order.replaces;
    command.step.weight = order.weight;
    command.step.role = order.role;
    command.step.invitation = {protocol::join_token_hash({}), 1'000};
    if (order.action != MemberAction::MoveLeaders) {
      views.apply(encode_view_command(command));
    }
    for (const Member& node : view().nodes) {
      if (node.invitation) {
        return admit(node.id);
      }
    }
  }

  // Whoever leaves has left.
  void settle() {
    const std::vector<Member> nodes = view().nodes;
    for (const Member& node : nodes) {
      if (node.state == MemberState::Leaving) {
        ViewCommand command{.kind = ViewCommandKind::Gone, .expected = view().epoch};
        command.step.node = node.id;
        EXPECT_EQ(views.apply(encode_view_command(command)), ViewCode::Applied);
      }
    }
  }

  std::size_t voters() const {
    return static_cast<std::size_t>(std::ranges::count_if(view().nodes, [](const Member& node) {
      return (node.state == MemberState::Active || node.state == MemberState::Draining) &&
             node.role == protocol::MemberRole::Voter;
    }));
  }

  membership::ViewCpu views;
  std::set<NodeId> running;
  std::set<NodeId> lost;
  std::set<NodeId> waiting;

 private:
  static ViewCommandKind kind_of(MemberAction action) {
    switch (action) {
      case MemberAction::Add:
        return ViewCommandKind::Add;
      case MemberAction::Promote:
        return ViewCommandKind::Promote;
      case MemberAction::Remove:
        return ViewCommandKind::Leave;
      case MemberAction::Drain:
        return ViewCommandKind::Drain;
      case MemberAction::Undrain:
        return ViewCommandKind::Undrain;
      default:
        return ViewCommandKind::Reweigh;
    }
  }

  void admit(NodeId node) {
    ViewCommand command{.kind = ViewCommandKind::Admit, .expected = view().epoch};
    command.step.proof = protocol::join_token_proof({});
    command.step.node = node;
    command.step.directory = node.value;
    command.step.peer_address = "peer:" + std::to_string(node.value);
    EXPECT_EQ(views.apply(encode_view_command(command)), ViewCode::Applied);
    running.insert(node);
  }
};

TEST(OperatorPlan, AClusterGrowsAndNeverHasFewerThanThreeVoters) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster(3);
    SimRandom random{seed, 1};
    std::size_t most = 0;
    for (int turn = 0; turn < 200; ++turn) {
      if (const auto order = next_order(cluster.facts(), random)) {
        cluster.carry_out(*order);
      }
      if (random.below(3) == 0) {
        cluster.settle();
      }
      ASSERT_GE(cluster.voters(), 3u) << seed;
      most = std::max(most, cluster.voters());
    }
    EXPECT_GE(most, 5u) << seed;
    EXPECT_GT(cluster.view().nodes.back().id.value, 6u) << seed;
    EXPECT_LE(cluster.view().nodes.back().id.value, kWorldIdsMax) << seed;
  }
}

TEST(OperatorPlan, AtTheEndNobodyComesOrGoesAndWhoIsLostHasLeft) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Cluster cluster(3);
    SimRandom random{seed, 1};
    for (int turn = 0; turn < 40; ++turn) {
      if (const auto order = next_order(cluster.facts(), random)) {
        cluster.carry_out(*order);
      }
    }
    cluster.lost.insert(NodeId{2});
    for (int turn = 0; turn < 40; ++turn) {
      if (const auto order = last_order(cluster.facts())) {
        cluster.carry_out(*order);
      }
      cluster.settle();
    }
    EXPECT_FALSE(last_order(cluster.facts())) << seed;
    for (const Member& node : cluster.view().nodes) {
      EXPECT_NE(node.state, MemberState::Joining) << seed;
      EXPECT_NE(node.state, MemberState::Leaving) << seed;
    }
    EXPECT_EQ(protocol::find_member(cluster.view(), NodeId{2})->state, MemberState::Removed);
  }
}

TEST(OperatorPlan, WhoComesToSevenVotersIsSentAwayAtTheEnd) {
  for (const std::uint32_t voters : {6u, 7u}) {
    Cluster cluster(voters);
    MemberActionOrder add;
    add.action = MemberAction::Add;
    add.role = protocol::MemberRole::Voter;
    add.weight = 1;
    cluster.carry_out(add);
    cluster.running.insert(cluster.view().nodes.back().id);
    const auto order = last_order(cluster.facts());
    ASSERT_TRUE(order.has_value());
    EXPECT_EQ(order->node, cluster.view().nodes.back().id);
    EXPECT_EQ(order->action, voters == 7 ? MemberAction::Remove : MemberAction::Promote);
  }
}

TEST(OperatorPlan, WhoIsLostIsVouchedForOnceMoreWhereItsViewCannotEndByItself) {
  Cluster cluster(4);
  MemberActionOrder remove;
  remove.action = MemberAction::Remove;
  remove.node = NodeId{4};
  cluster.carry_out(remove);
  OperatorFacts facts = cluster.facts();
  facts.vouches = true;
  EXPECT_FALSE(last_order(facts)) << "it lives, and leaves";
  cluster.lost.insert(NodeId{4});
  EXPECT_FALSE(last_order(cluster.facts())) << "the others can show it";
  const auto order = last_order(facts);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->action, MemberAction::Remove);
  EXPECT_EQ(order->node, NodeId{4});
  EXPECT_TRUE(order->force);
}

// World 6831: node 3 weighed two, its machine was gone, and the cluster took it for alive.
TEST(OperatorPlan, NothingIsOrderedThatNeedsAMachineThatIsLost) {
  Cluster cluster(4);
  MemberActionOrder reweigh;
  reweigh.action = MemberAction::Reweigh;
  reweigh.node = NodeId{3};
  reweigh.weight = 2;
  cluster.carry_out(reweigh);
  cluster.lost.insert(NodeId{3});
  MemberActionOrder add;
  add.action = MemberAction::Add;
  add.replaces = NodeId{3};
  add.role = protocol::MemberRole::Voter;
  add.weight = 1;
  cluster.carry_out(add);
  ASSERT_EQ(cluster.view().nodes.size(), 5u);
  SimRandom random{1, 1};
  std::size_t ordered = 0;
  for (int k = 0; k < 500; ++k) {
    OperatorFacts facts = cluster.facts();
    facts.size = 4;
    if (const auto order = next_order(facts, random)) {
      EXPECT_TRUE(has_majority(after_order(cluster.view(), *order), cluster.lost))
          << member_action_name(order->action) << " " << order->node.value;
      ++ordered;
    }
  }
  EXPECT_GT(ordered, 0u);
}

TEST(Survivors, CountByWeightAndByTheViewsThatMayCome) {
  Cluster cluster(3);
  EXPECT_TRUE(has_majority(cluster.view(), {NodeId{1}}));
  EXPECT_FALSE(has_majority(cluster.view(), {NodeId{1}, NodeId{2}}));
  protocol::ClusterView heavy = cluster.view();
  heavy.nodes[2].weight = 2;
  EXPECT_FALSE(has_majority(heavy, {NodeId{3}}));
  // Node 4 takes the place of node 2 by itself, and then nodes 1 and 4 are the majority.
  protocol::ClusterView joining = cluster.view();
  Member heir;
  heir.id = NodeId{4};
  heir.state = MemberState::Joining;
  heir.auto_promote = true;
  heir.replaces = NodeId{2};
  heir.weight = 3;
  joining.nodes.push_back(heir);
  const auto views = coming_views(joining);
  EXPECT_TRUE(has_majority(views.front(), {NodeId{4}}));
  EXPECT_FALSE(has_majority(views.back(), {NodeId{4}}));
  EXPECT_TRUE(has_majority(views.back(), {NodeId{1}, NodeId{2}}));
}

// --- The judge

std::string see(MemberJudge& judge, const protocol::ClusterView& view, std::uint64_t before) {
  return judge.on_view(NodeId{1}, SeenView{before, view, false});
}

TEST(MemberJudge, EpochsThatAreLeftOutOrMeanTwoViewsAreFound) {
  Cluster cluster(3);
  MemberJudge judge(1, 3);
  EXPECT_EQ(see(judge, cluster.view(), 0), "");
  protocol::ClusterView other = cluster.view();
  other.nodes[0].state = MemberState::Draining;
  EXPECT_NE(see(judge, other, 0), "") << "another view of the same epoch";
  other.epoch = 3;
  EXPECT_NE(see(judge, other, 1), "") << "from 1 to 3";
}

// Nodes 4 and 3 leave; then the machine of node 1 is lost, and node 2 alone has left the view of
// 1, 2 and 3, of which it is no half.
TEST(MemberJudge, AViewOfWhichTooFewAreThereCannotBeShownToBeLeft) {
  Cluster cluster(4);
  MemberJudge judge(1, 4);
  const auto see_next = [&] {
    ASSERT_EQ(see(judge, cluster.view(), cluster.view().epoch - 1), "");
  };
  const auto leave = [&](std::uint32_t node) {
    MemberActionOrder order;
    order.action = MemberAction::Remove;
    order.node = NodeId{node};
    cluster.carry_out(order);
    see_next();
    cluster.settle();
    see_next();
  };
  see_next();
  leave(4);
  EXPECT_FALSE(judge.is_unprovable({NodeId{1}})) << "2 and 3 are half of four";
  leave(3);
  EXPECT_FALSE(judge.is_unprovable({}));
  EXPECT_TRUE(judge.is_unprovable({NodeId{1}}));
  leave(1);
  EXPECT_FALSE(judge.is_unprovable({NodeId{1}})) << "somebody vouched for what was before";
}

TEST(MemberJudge, ANodeThatHasLeftWhileAShardHasItIsFound) {
  Cluster cluster(3);
  MemberJudge judge(2, 3);  // Shards 0, which has the views, and 1.
  ASSERT_EQ(see(judge, cluster.view(), 0), "");
  MemberActionOrder order;
  order.action = MemberAction::Remove;
  order.node = NodeId{3};
  cluster.carry_out(order);
  ASSERT_EQ(see(judge, cluster.view(), 1), "");
  EXPECT_FALSE(judge.is_calm());
  cluster.settle();
  EXPECT_NE(see(judge, cluster.view(), 2), "");
}

TEST(MemberJudge, AnIdThatIsGivenTwiceAndANodeThatComesBackAreFound) {
  Cluster cluster(3);
  MemberJudge judge(1, 4);
  protocol::ClusterView view = cluster.view();
  view.nodes[2].state = MemberState::Removed;
  ASSERT_EQ(see(judge, view, 0), "");
  protocol::ClusterView back = view;
  back.epoch = 2;
  back.nodes[2].state = MemberState::Active;
  EXPECT_NE(see(judge, back, 1), "");
}

}  // namespace
}  // namespace gcoord::chaos
