// Engines that follow the view with their shards: set_members alone brings every shard to the
// members that it says, while nodes die and come back.
#include "tests/server/host_turn/changing_cluster.h"

namespace gcoord::server {
namespace {

using protocol::Member;
using protocol::MemberState;

// How the rows of every node are stepped.
struct Way {
  std::uint32_t turn_threads = 1;
  DeviceChoice::Kind device = DeviceChoice::Kind::Cpu;
};

class EngineMoves : public ChangingCluster, public testing::WithParamInterface<Way> {
 protected:
  EngineMoves() {
    turn_threads_ = GetParam().turn_threads;
    device_ = GetParam().device;
  }

  // Nodes that joined come to vote: by the next view, which says for every changed node what it is.
  void set(const std::vector<std::pair<std::uint32_t, MemberState>>& changes) {
    ++view_.epoch;
    for (const auto& [id, state] : changes) {
      for (Member& member : view_.nodes) {
        member.state = member.id == NodeId{id} ? state : member.state;
      }
    }
    tell_all();
  }

  // The node comes back with what it was started with; of the view it hears afterwards.
  void restart(std::uint32_t id) {
    cluster_.start(id);
    cluster_.engine(id).set_members({.view = view_, .earlier_voters = {}});
  }

  MembersProgress progress() {
    MembersProgress sum;
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      if (cluster_.node(id).engine && cluster_.engine(id).failure().ok()) {
        const MembersProgress part = cluster_.engine(id).members_progress();
        sum.led += part.epoch == view_.epoch ? part.led : 0;
        sum.settled += part.epoch == view_.epoch ? part.settled : 0;
        sum.ready += part.epoch == view_.epoch ? part.ready : 0;
      }
    }
    return sum;
  }

  void run_until_ready() {
    cluster_.run_until([this] { return progress().ready == kShards; }, 60000);
  }

  // Every shard is led, has these voters and nobody else on each of them, and they agree.
  bool moved(const std::vector<std::uint32_t>& ids) {
    const MembersProgress now = progress();
    if (now.led != kShards || now.settled != kShards) {
      return false;
    }
    for (const std::uint32_t id : ids) {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        const ShardView view = cluster_.engine(id).view(ShardId{shard});
        if (!votes(view.configuration, ids) ||
            view.configuration.learners != learners(ShardId{shard}, view.configuration) ||
            view.applied != view.last || cluster_.service(id).commands(ShardId{shard}) != told_) {
          return false;
        }
      }
    }
    return true;
  }

  static bool votes(const consensus::Configuration& configuration,
                    const std::vector<std::uint32_t>& ids) {
    std::uint32_t found = 0;
    for (const std::uint32_t id : ids) {
      const std::uint8_t slot = consensus::slot_of(configuration, NodeId{id});
      found +=
          slot != consensus::kSlotNone && consensus::has_slot(configuration.voters, slot) ? 1 : 0;
    }
    return !configuration.joint() && found == ids.size() &&
           consensus::count_slots(configuration.voters) == ids.size();
  }

  // Whoever leaves learns the views until it has left, and nothing else.
  consensus::SlotMask learners(ShardId shard, const consensus::Configuration& configuration) const {
    consensus::SlotMask slots = 0;
    for (const protocol::Member& node : view_.nodes) {
      const std::uint8_t slot = consensus::slot_of(configuration, node.id);
      const bool leaves = node.state == MemberState::Leaving && shard == kViewShard;
      if (leaves && slot != consensus::kSlotNone) {
        slots = static_cast<consensus::SlotMask>(slots | consensus::slot_bit(slot));
      }
    }
    return slots;
  }

  void run_until_moved(const std::vector<std::uint32_t>& ids) {
    cluster_.run_until([&] { return moved(ids); }, 60000);
  }

  void tell(const std::string& text) {
    cluster_.run_until([this] { return cluster_.all_led(); });
    decide(text);
    told_.push_back(text);
  }

  void grow_to_five() {
    start_founders();
    tell("a");
    add(4);
    add(5);
    run_until_ready();
    set({{4, MemberState::Active}, {5, MemberState::Active}});
    run_until_moved({1, 2, 3, 4, 5});
  }

  std::vector<std::string> told_;  // Every shard was told this.
};

TEST_P(EngineMoves, ThreeNodesBecomeFiveAndTheNewOnesHaveWhatWasWrittenBefore) {
  grow_to_five();
  tell("b");
  run_until_moved({1, 2, 3, 4, 5});
  // They count: two founders may go.
  cluster_.stop(1);
  cluster_.stop(2);
  tell("c");
  cluster_.run_until([this] { return cluster_.all_agreed(); });
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.service(5).commands(ShardId{shard}), told_);
  }
}

TEST_P(EngineMoves, FiveNodesBecomeThreeAndTheOthersAreRefused) {
  grow_to_five();
  set({{1, MemberState::Leaving}, {2, MemberState::Leaving}});
  run_until_moved({3, 4, 5});
  EXPECT_EQ(cluster_.engine(1).view().leader_count, 0u);
  EXPECT_EQ(cluster_.engine(2).view().leader_count, 0u);
  ++view_.epoch;
  view_.nodes[0].state = MemberState::Removed;
  view_.nodes[1].state = MemberState::Removed;
  for (const std::uint32_t id : {3u, 4u, 5u}) {
    cluster_.engine(id).set_members({.view = view_, .earlier_voters = {}});
  }
  cluster_.run_until([this] { return failure(1) == kNodeRemoved && failure(2) == kNodeRemoved; });
  cluster_.stop(1);
  cluster_.stop(2);
  tell("b");
  run_until_moved({3, 4, 5});
  cluster_.stop(4);
  tell("c");  // A majority of three.
}

// One joint change per shard: who leaves goes when its successor has the log.
TEST_P(EngineMoves, ANodeThatDiedIsReplaced) {
  grow_to_five();
  cluster_.stop(2);
  tell("b");
  add(6);
  run_until_ready();
  set({{2, MemberState::Leaving}, {6, MemberState::Active}});
  run_until_moved({1, 3, 4, 5, 6});
  set({{2, MemberState::Removed}});
  restart(2);
  cluster_.run_until([this] { return failure(2) == kNodeRemoved; });
  cluster_.stop(2);
  run_until_moved({1, 3, 4, 5, 6});
}

// What the leaders have forgotten the newcomer gets as a snapshot.
TEST_P(EngineMoves, ANodeThatJoinsLateGetsSnapshots) {
  start_founders();
  tell("a");
  tell("b");
  for (int round = 0; round < 2; ++round) {  // Of a shard at rest the second one keeps no entry.
    for (std::uint32_t id = 1; id <= kFounders; ++id) {
      const std::uint64_t number = cluster_.engine(id).request_checkpoint();
      cluster_.wait_for([&] { return cluster_.engine(id).checkpoint_outcome(number).has_value(); });
    }
  }
  const std::uint32_t leader = cluster_.leader_of(0);
  EXPECT_GT(cluster_.engine(leader).view(ShardId{0}).floor, LogIndex{0});
  add(4);
  run_until_ready();
  EXPECT_GT(cluster_.service(4).install_count, 0);
  set({{4, MemberState::Active}});
  run_until_moved({1, 2, 3, 4});
}

// Its directory may hold entries and promises of shards whose configuration it does not know yet.
TEST_P(EngineMoves, ANodeThatRestartsWhileItJoinsGoesOnJoining) {
  start_founders();
  tell("a");
  add(4);
  for (int restarts = 0; restarts < 3; ++restarts) {
    cluster_.run_ms(20 + 30 * restarts);
    const std::uint64_t number = cluster_.engine(4).request_checkpoint();
    cluster_.wait_for([&] { return cluster_.engine(4).checkpoint_outcome(number).has_value(); });
    cluster_.stop(4);
    restart(4);
    tell("b" + std::to_string(restarts));
  }
  run_until_ready();
  set({{4, MemberState::Active}});
  run_until_moved({1, 2, 3, 4});
  cluster_.stop(4);
  restart(4);
  run_until_moved({1, 2, 3, 4});
}

// All of it, with the leader of some shard killed in the midst of each change.
TEST_P(EngineMoves, ThreeFiveAnotherAndThreeAgainWhileLeadersDie) {
  start_founders();
  tell("a");
  const auto kill_one = [&](std::uint32_t shard) {
    cluster_.run_ms(30);
    cluster_.run_until([this] { return cluster_.all_led(); });
    const std::uint32_t dead = cluster_.leader_of(shard);
    cluster_.stop(dead);
    tell("without " + std::to_string(dead) + " at view " + std::to_string(view_.epoch));
    restart(dead);
  };
  add(4);
  add(5);
  kill_one(0);
  run_until_ready();
  set({{4, MemberState::Active}, {5, MemberState::Active}});
  kill_one(1);
  run_until_moved({1, 2, 3, 4, 5});
  add(6);
  kill_one(2);
  run_until_ready();
  set({{4, MemberState::Leaving}, {6, MemberState::Active}});
  kill_one(3);
  run_until_moved({1, 2, 3, 5, 6});
  set({{4, MemberState::Removed}, {1, MemberState::Leaving}, {2, MemberState::Leaving}});
  kill_one(4);
  run_until_moved({3, 5, 6});
  tell("z");
  run_until_moved({3, 5, 6});
}

// Nobody's promise is lost with a process that never promised: it counts at once, and after a
// restart it is let in again as any node.
TEST_P(EngineMoves, InMemoryModeTheyJoinAndRestart) {
  const auto tune = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    tune(options);
    options.durability = consensus::Durability::Memory;
  };
  grow_to_five();
  EXPECT_EQ(cluster_.engine(4).view().voting_count, kShards);
  cluster_.stop(4);
  tell("b");
  restart(4);
  run_until_moved({1, 2, 3, 4, 5});
}

// On the stand-in of a device the columns have three slots at first, too.
INSTANTIATE_TEST_SUITE_P(Rows,
                         EngineMoves,
                         testing::Values(Way{},
                                         Way{.turn_threads = 2},
                                         Way{.device = DeviceChoice::Kind::Twin}),
                         [](const auto& tested) {
                           const bool device = tested.param.device != DeviceChoice::Kind::Cpu;
                           return device ? std::string("OnADevice")
                                         : "Threads" + std::to_string(tested.param.turn_threads);
                         });

}  // namespace
}  // namespace gcoord::server
