// Two engines with services and one of a witness, which joins them (docs/adr/0117).
#include "server/witness/machine.h"
#include "tests/server/host_turn/changing_cluster.h"

#include <map>
#include <memory>

namespace gcoord::server {
namespace {

using protocol::Member;
using protocol::MemberRole;
using protocol::MemberState;

constexpr std::uint32_t kWitness = 4;

class EngineWitness : public ChangingCluster {
 protected:
  EngineWitness() {
    const auto tune = cluster_.tune;
    cluster_.tune = [tune](ReplicaOptions& options) {
      tune(options);
      options.witness = options.node == NodeId{kWitness};
    };
    cluster_.around = [this](std::uint32_t id, StateMachine& inner) -> StateMachine& {
      if (id != kWitness) {
        return inner;
      }
      witness_machine_ = std::make_unique<WitnessMachine>(inner);
      return *witness_machine_;
    };
    cluster_.after_turn = [this](EngineCluster::Node& node) {
      if (node.id == NodeId{kWitness}) {
        look_at_witness();
      }
    };
  }

  ~EngineWitness() override {
    if (cluster_.node(kWitness).engine) {
      cluster_.stop(kWitness);
    }
  }

  // In every turn of every test.
  void look_at_witness() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      ASSERT_EQ(cluster_.engine(kWitness).view(ShardId{shard}).role, consensus::Role::Follower);
      ASSERT_TRUE(cluster_.service(kWitness).commands(ShardId{shard}).empty());
    }
    ASSERT_EQ(cluster_.service(kWitness).install_count, 0);
  }

  // Each shard has these voters and nobody else, as every node knows.
  bool all_have(const std::set<std::uint32_t>& ids) {
    for (const std::uint32_t id : ids) {
      for (std::uint32_t shard = 0; shard < kShards && cluster_.node(id).engine; ++shard) {
        const auto configuration = cluster_.engine(id).view(ShardId{shard}).configuration;
        std::set<std::uint32_t> found;
        for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
          if (consensus::has_slot(configuration.voters, slot)) {
            found.insert(configuration.node[slot].value);
          }
        }
        if (found != ids || configuration.joint()) {
          return false;
        }
      }
    }
    return true;
  }

  Member witness(MemberState state) {
    Member witness = member(kWitness, state);
    witness.role = MemberRole::Witness;
    return witness;
  }

  // Nodes 1 and 2, and the witness; node 3 has left.
  void make_two_and_a_witness() {
    start_founders();
    tell_all();
    change(member(3, MemberState::Leaving));
    cluster_.run_until([this] { return all_have({1, 2}) && cluster_.all_led(); });
    cluster_.stop(3);
    change(member(3, MemberState::Removed));
    change(witness(MemberState::Joining));
    cluster_.start(kWitness);
    change(witness(MemberState::Active));
    cluster_.run_until([this] { return all_have({1, 2, kWitness}) && cluster_.all_led(); });
  }

  bool caught_up(std::uint32_t id) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint32_t leader = cluster_.leader_of(shard);
      if (leader == 0 || cluster_.engine(id).view(ShardId{shard}).applied !=
                             cluster_.engine(leader).view(ShardId{shard}).last) {
        return false;
      }
    }
    return true;
  }

  // Twice: of a shard that was quiet in between nothing is kept but the state.
  void compact(std::uint32_t id, std::uint64_t beyond) {
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t number = cluster_.engine(id).request_checkpoint();
      cluster_.wait_for([&] { return cluster_.engine(id).checkpoint_outcome(number).has_value(); });
      EXPECT_TRUE(cluster_.engine(id).checkpoint_outcome(number)->ok());
    }
    cluster_.run_until(
        [&] { return cluster_.engine(id).view(ShardId{0}).floor > LogIndex{beyond}; });
  }

  std::unique_ptr<WitnessMachine> witness_machine_;
};

TEST_F(EngineWitness, ItsVoteAndItsLogCountAndItHasNoState) {
  make_two_and_a_witness();
  decide("a");
  cluster_.run_until([this] { return caught_up(kWitness); });
  for (const std::uint32_t lost : {1u, 2u}) {
    cluster_.stop(lost);
    cluster_.run_until([this] { return cluster_.all_led(); });
    decide("without " + std::to_string(lost));
    cluster_.start(lost);
    tell_all();
    cluster_.run_until([&] { return cluster_.all_led() && caught_up(lost); });
  }
  cluster_.stop(kWitness);
  decide("without the witness");
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.service(1).commands(ShardId{shard}),
              cluster_.service(2).commands(ShardId{shard}));
    EXPECT_EQ(cluster_.service(1).commands(ShardId{shard}).size(), 4u);
  }
}

TEST_F(EngineWitness, IsHandedNothing) {
  make_two_and_a_witness();
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    cluster_.engine(cluster_.leader_of(shard)).transfer(ShardId{shard}, NodeId{kWitness});
  }
  cluster_.run_ms(3000);
  EXPECT_TRUE(cluster_.all_led());
}

TEST_F(EngineWitness, SnapshotsComeWithoutTheStateAndItsDirectoryIsEnoughToComeBack) {
  make_two_and_a_witness();
  cluster_.stop(kWitness);
  cluster_.run_until([this] { return !lives(1, kWitness) && !lives(2, kWitness); });
  const std::string long_command(900, 'x');
  for (int k = 0; k < 40; ++k) {
    decide(long_command + std::to_string(k));
  }
  compact(1, 40);
  compact(2, 40);
  cluster_.start(kWitness);
  tell_all();
  cluster_.run_until([this] { return caught_up(kWitness); });
  EXPECT_GT(cluster_.counter(kWitness, "gcoord_server_snapshots_installed_total"), 0u);

  // It compacts by what is decided, and knows it again after a restart.
  const LogIndex floor = cluster_.engine(kWitness).view(ShardId{0}).floor;
  for (int k = 0; k < 10; ++k) {
    decide("more");
  }
  cluster_.run_until([this] { return caught_up(kWitness); });
  compact(kWitness, floor.value);
  const LogIndex applied = cluster_.engine(kWitness).view(ShardId{0}).applied;
  cluster_.stop(kWitness);
  cluster_.stop(1);
  cluster_.start(kWitness);
  EXPECT_GE(cluster_.engine(kWitness).view(ShardId{0}).applied, applied);
  tell_all();
  cluster_.run_until([this] { return cluster_.all_led(); });
  decide("by the witness that is back");
}

// What docs/adr/0117 calls the limit: nobody can be elected until who has the log is back, and then
// nothing is lost.
TEST_F(EngineWitness, WhoLacksWhatTheWitnessHasIsNotElected) {
  make_two_and_a_witness();
  cluster_.stop(2);
  cluster_.run_until([this] { return cluster_.all_led(); });
  decide("by 1 and the witness");
  cluster_.stop(1);
  cluster_.start(2);
  tell_all();
  cluster_.run_until([this] { return lives(2, kWitness) && lives(kWitness, 2); });
  cluster_.run_ms(20000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.leader_of(shard), 0u);
  }
  cluster_.start(1);
  tell_all();
  cluster_.run_until([this] { return cluster_.all_led() && caught_up(2); });
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.service(2).commands(ShardId{shard}).back(), "by 1 and the witness");
  }
}

// A node that was started with services, because its directory has lost the view, ends by itself.
TEST_F(EngineWitness, ThatDoesNotKnowWhatItIsEnds) {
  make_two_and_a_witness();
  cluster_.stop(kWitness);
  const auto tune = cluster_.tune;
  cluster_.tune = [tune](ReplicaOptions& options) {
    tune(options);
    options.witness = false;
  };
  cluster_.start(kWitness);
  tell_all();
  cluster_.settle();
  EXPECT_EQ(failure(kWitness), kEngineOptions);
}

// A state that is none is nothing that a service takes.
TEST(WitnessMachine, MarksWhatItHasNot) {
  ToyService service;
  WitnessMachine machine(service);
  std::vector<std::byte> bytes;
  machine.serialize(ShardId{1}, bytes);
  std::vector<std::byte> kept;
  machine.checkpoint(ShardId{1}, kept);
  std::vector<std::byte> sent;
  service.witness_state(ShardId{1}, sent);
  EXPECT_EQ(bytes, kept);
  EXPECT_EQ(bytes, sent);
  EXPECT_FALSE(service.plausible(ShardId{1}, bytes));
  EXPECT_TRUE(machine.plausible(ShardId{1}, bytes));
  EXPECT_TRUE(machine.install(ShardId{1}, std::vector<std::byte>(7)).ok());
  EXPECT_EQ(service.install_count, 0);
}

}  // namespace
}  // namespace gcoord::server
