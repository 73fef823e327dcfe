// Rounds of a rendezvous: when they begin, who is in them, and that every replica says the same.
#include "common/random.h"
#include "membership/rendezvous/limits.h"
#include "membership/rendezvous/snapshot.h"
#include "membership/rendezvous/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::membership {
namespace {

constexpr ShardId kShard{0};
const std::string kName = "job";

struct Node {
  RendezvousTable table;
  std::map<std::uint64_t, std::uint64_t> sequences;

  RendezvousReply arrive(std::uint64_t session,
                         const RendezvousBounds& bounds,
                         const std::string& name = kName) {
    return apply(session, encode_rendezvous_arrive(bounds, "at " + std::to_string(session)), name);
  }

  RendezvousReply apply(std::uint64_t session,
                        const std::string& bytes,
                        const std::string& name = kName) {
    RendezvousCommand command = decode_rendezvous_command(bytes);
    command.session = SessionId{session};
    command.sequence = ++sequences[session];
    command.name = name;
    return table.apply(kShard, command);
  }

  void end(const std::vector<std::uint64_t>& sessions) {
    std::vector<SessionId> ended;
    for (const std::uint64_t session : sessions) {
      ended.push_back(SessionId{session});
    }
    table.end_sessions(kShard, ended);
  }

  RendezvousReply end_call() { return table.end_call(kShard, hash_name(kName), now()->call); }

  const Rendezvous* now(const std::string& name = kName) const {
    return table.find(kShard, hash_name(name));
  }

  std::vector<std::uint64_t> members() const {
    std::vector<std::uint64_t> members;
    for (const RendezvousMember& each : now()->members) {
      members.push_back(each.session.value);
    }
    return members;
  }

  std::vector<std::uint64_t> present_without(const std::set<std::uint64_t>& sessions) const {
    std::vector<std::uint64_t> present;
    for (const RendezvousMember& each :
         now() == nullptr ? std::vector<RendezvousMember>{} : now()->members) {
      if (each.present && !sessions.contains(each.session.value)) {
        present.push_back(each.session.value);
      }
    }
    return present;
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> bytes;
    table.serialize(kShard, bytes);
    return bytes;
  }
};

using Sessions = std::vector<std::uint64_t>;

constexpr RendezvousBounds kTwoToThree{2, 3, 1000};

TEST(Rendezvous, TheMaximumCompletesARoundAtOnceWithRanksAsTheyCame) {
  Node node;
  EXPECT_EQ(node.arrive(7, kTwoToThree).code, RendezvousCode::Waits);
  EXPECT_EQ(node.now()->call, 0u);
  EXPECT_EQ(node.arrive(5, kTwoToThree).code, RendezvousCode::Waits);
  EXPECT_NE(node.now()->call, 0u);
  const RendezvousReply last = node.arrive(6, kTwoToThree);
  EXPECT_EQ(last.code, RendezvousCode::Completed);
  EXPECT_EQ(last.number, node.now()->round);
  EXPECT_EQ(node.members(), (Sessions{7, 5, 6}));
  EXPECT_EQ(node.now()->members[1].payload, "at 5");
  EXPECT_TRUE(node.now()->waiting.empty());
  EXPECT_EQ(node.now()->call, 0u);
}

TEST(Rendezvous, TheEndOfTheLastCallCompletesARoundOfWhoHasCome) {
  Node node;
  node.arrive(5, kTwoToThree);
  node.arrive(6, kTwoToThree);
  const std::uint64_t call = node.now()->call;
  EXPECT_EQ(node.table.end_call(kShard, hash_name(kName), call + 1).code,
            RendezvousCode::CallStale);
  EXPECT_TRUE(node.now()->members.empty());
  EXPECT_EQ(node.end_call().code, RendezvousCode::LastCallEnded);
  EXPECT_EQ(node.members(), (Sessions{5, 6}));
  EXPECT_EQ(node.table.end_call(kShard, hash_name(kName), call).code, RendezvousCode::CallStale);
}

TEST(Rendezvous, WhoDiesBeforeTheRoundIsCompleteLeavesItAndEndsTheLastCall) {
  Node node;
  node.arrive(5, kTwoToThree);
  node.arrive(6, kTwoToThree);
  const std::uint64_t call = node.now()->call;
  node.end({6});
  EXPECT_EQ(node.now()->call, 0u);
  EXPECT_EQ(node.table.end_call(kShard, hash_name(kName), call).code, RendezvousCode::CallStale);
  node.arrive(8, kTwoToThree);
  EXPECT_GT(node.now()->call, call);
  node.end_call();
  EXPECT_EQ(node.members(), (Sessions{5, 8}));
}

TEST(Rendezvous, NoRoundBeginsWhileAMemberOfTheLastOneHasNotComeAgain) {
  Node node;
  node.arrive(5, {2, 2, 0});
  node.arrive(6, {2, 2, 0});
  const std::uint64_t first = node.now()->round;
  node.arrive(7, {2, 3, 0});
  node.arrive(8, {2, 3, 0});
  EXPECT_EQ(node.now()->waiting.size(), 2u);
  EXPECT_EQ(node.now()->round, first);
  EXPECT_EQ(node.now()->call, 0u);
  EXPECT_EQ(node.arrive(6, {2, 3, 0}).code, RendezvousCode::Waits);
  EXPECT_EQ(node.now()->present(), 1u);
  EXPECT_EQ(node.arrive(5, {2, 3, 0}).code, RendezvousCode::Completed);
  EXPECT_GT(node.now()->round, first);
  // Members of the round before come first, by their ranks; one is to spare.
  EXPECT_EQ(node.members(), (Sessions{5, 6, 7}));
  ASSERT_EQ(node.now()->waiting.size(), 1u);
  EXPECT_EQ(node.now()->waiting[0].session, SessionId{8});
  node.end({5});
  EXPECT_EQ(node.members(), (Sessions{5, 6, 7}));  // All see the same, whoever has gone since.
  EXPECT_FALSE(node.now()->members[0].present);
  EXPECT_EQ(node.now()->alive(), (AliveWord{node.now()->round, 0b110}));
}

TEST(Rendezvous, TheDeathOfAllMembersLetsTheOthersGoOnInOneRound) {
  Node node;
  node.arrive(5, {1, 1, 0});
  node.arrive(6, {2, 4, 500});
  node.arrive(7, {2, 4, 500});
  EXPECT_EQ(node.now()->call, 0u);
  node.end({5});
  EXPECT_NE(node.now()->call, 0u);
  node.end_call();
  EXPECT_EQ(node.members(), (Sessions{6, 7}));
}

TEST(Rendezvous, BoundsOfThoseWhoWaitAreTheSame) {
  Node node;
  node.arrive(5, kTwoToThree);
  EXPECT_EQ(node.arrive(6, {2, 4, 1000}).code, RendezvousCode::BoundsDiffer);
  EXPECT_EQ(node.arrive(5, {1, 4, 1000}).code, RendezvousCode::Waits);  // It waits alone.
  EXPECT_NE(node.now()->call, 0u);
  EXPECT_EQ(node.now()->waiting.size(), 1u);
}

TEST(Rendezvous, LeavingTakesTheWaitOrTheRankAway) {
  Node node;
  EXPECT_EQ(node.apply(5, encode_rendezvous_leave()).code, RendezvousCode::NotThere);
  node.arrive(5, kTwoToThree);
  EXPECT_EQ(node.apply(6, encode_rendezvous_leave()).code, RendezvousCode::NotThere);
  EXPECT_EQ(node.apply(5, encode_rendezvous_leave()).code, RendezvousCode::Left);
  EXPECT_EQ(node.now(), nullptr);
  EXPECT_EQ(node.table.usage().rendezvous, 0u);
  node.arrive(5, {1, 1, 0});
  EXPECT_EQ(node.apply(5, encode_rendezvous_leave()).code, RendezvousCode::Left);
  EXPECT_EQ(node.now(), nullptr);
  EXPECT_FALSE(node.table.has_session(kShard, SessionId{5}));
}

TEST(Rendezvous, AWithdrawalNamesTheRequestThatItTakesBack) {
  Node node;
  node.arrive(5, kTwoToThree);
  const NameHash name = hash_name(kName);
  EXPECT_EQ(node.table.withdraw(kShard, name, {SessionId{5}, 9, ""}).code,
            RendezvousCode::NotWaiting);
  EXPECT_EQ(node.table.withdraw(kShard, name, {SessionId{5}, 1, ""}).code,
            RendezvousCode::TimedOut);
  EXPECT_EQ(node.now(), nullptr);
}

TEST(Rendezvous, ARoundsNumberIsNeverUsedTwiceThoughNobodyWasThere) {
  Node node;
  std::set<std::uint64_t> rounds;
  for (int k = 0; k < 5; ++k) {
    node.arrive(5, {1, 1, 0});
    EXPECT_TRUE(rounds.insert(node.now()->round).second);
    EXPECT_EQ(*rounds.rbegin(), node.now()->round);
    node.end({5});
    EXPECT_EQ(node.now(), nullptr);
  }
}

TEST(Rendezvous, BytesThatAreNoCommandChangeNothing) {
  Node node;
  for (const std::string& bytes :
       {std::string{"\x10"},
        std::string{"\x11x"},
        std::string{"\x7f"},
        encode_rendezvous_arrive({1, 2, 0}, "").substr(0, 12),
        encode_rendezvous_arrive({1, 2, 0}, "") + std::string(513, 'p')}) {
    EXPECT_TRUE(is_rendezvous(bytes));
    EXPECT_EQ(node.apply(5, bytes).code, RendezvousCode::Malformed);
  }
  std::string bounds = encode_rendezvous_arrive({2, 2, 0}, "");
  bounds[1] = 3;
  EXPECT_EQ(node.apply(5, bounds).code, RendezvousCode::Malformed);
  EXPECT_EQ(node.now(), nullptr);
  EXPECT_NE(node.table.state_hash(kShard), 0u);
  EXPECT_FALSE(is_rendezvous(""));
  EXPECT_FALSE(is_rendezvous("\x04"));
}

TEST(Rendezvous, SoManyMayWaitAndNoMore) {
  Node node;
  node.arrive(1, {1, 1, 0});
  for (std::uint64_t session = 2; session < 2 + kRendezvousWaitersMax; ++session) {
    ASSERT_EQ(node.arrive(session, {1, 1, 0}).code, RendezvousCode::Waits) << session;
  }
  EXPECT_EQ(node.arrive(9999, {1, 1, 0}).code, RendezvousCode::Full);
}

// However many commands were under way: each state that is written can be read.
TEST(Rendezvous, AShardHasSoManyNamesAndNoMore) {
  Node node;
  for (std::uint32_t name = 0; name < kRendezvousPerShardMax; ++name) {
    ASSERT_EQ(node.arrive(1 + name, {2, 2, 0}, std::to_string(name)).code, RendezvousCode::Waits);
  }
  EXPECT_EQ(node.arrive(7, {2, 2, 0}, "more").code, RendezvousCode::ShardFull);
  EXPECT_EQ(node.now("more"), nullptr);
  RendezvousTable table;
  ASSERT_TRUE(table.deserialize(kShard, node.bytes()).ok());
  EXPECT_EQ(table.usage().rendezvous, kRendezvousPerShardMax);
  EXPECT_EQ(table.state_hash(kShard), node.table.state_hash(kShard));
  EXPECT_EQ(node.apply(1, encode_rendezvous_leave(), "0").code, RendezvousCode::Left);
  EXPECT_EQ(node.arrive(7, {2, 2, 0}, "more").code, RendezvousCode::Waits);
}

TEST(RendezvousSnapshot, CutOrDamagedBytesAreRefusedAndLeaveAnEmptyShard) {
  Node node;
  node.arrive(5, kTwoToThree);
  node.arrive(6, kTwoToThree);
  node.arrive(7, kTwoToThree);
  node.arrive(8, {1, 2, 0});
  node.arrive(9, {1, 2, 100}, "other");
  const std::vector<std::byte> whole = node.bytes();
  RendezvousTable table;
  ASSERT_TRUE(table.deserialize(kShard, whole).ok());
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(table.deserialize(kShard, std::span{whole}.first(bytes)).ok()) << bytes;
    EXPECT_EQ(table.usage().rendezvous, 0u);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{0xff};
    static_cast<void>(table.deserialize(kShard, damaged));  // Refused, or another sound state.
  }
}

TEST(RendezvousSnapshot, TheStateOfAShardIsSplitBehindItsRendezvous) {
  Node node;
  node.arrive(5, kTwoToThree);
  std::vector<std::byte> state = node.bytes();
  const std::size_t bytes = state.size();
  state.resize(bytes + 5);
  EXPECT_EQ(split_rendezvous(state).rendezvous.size(), bytes);
  EXPECT_EQ(split_rendezvous(state).rest.size(), 5u);
  EXPECT_EQ(split_rendezvous(std::span{state}.subspan(bytes)).rest.size(), 5u);
}

TEST(RendezvousSnapshot, ANewClusterDrawsHigherNumbers) {
  Node node;
  node.arrive(5, {1, 1, 0});
  const std::uint64_t round = node.now()->round;
  const auto raised = raise_rendezvous(node.bytes(), 1000, true);
  ASSERT_TRUE(raised.ok());
  Node restored;
  ASSERT_TRUE(restored.table.deserialize(kShard, raised.value()).ok());
  EXPECT_EQ(restored.now(), nullptr);
  restored.arrive(5, {1, 1, 0});
  EXPECT_GT(restored.now()->round, round + 1000);
  EXPECT_FALSE(raise_rendezvous(node.bytes(), ~std::uint64_t{0} / 2, false).ok());
}

// Whatever happens: two replicas, one of which is made anew from bytes all the time, agree; ranks
// are distinct sessions; a round has between its minimum and its maximum of members and begins only
// when nobody is in the one before.
TEST(RendezvousModel, RandomCommandsKeepTheRules) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::uint64_t random = seed;
    const auto draw = [&](std::uint64_t bound) {
      random = mix64(random + 1);
      return random % bound;
    };
    Node node;
    Node twin;
    std::uint64_t rounds = 0;
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t session = 1 + draw(6);
      const RendezvousBounds bounds{2, 4, draw(8) == 0 ? 0u : 50u};
      // Of the last round, whom this step cannot take out of it.
      const Sessions before = node.present_without({session, 1 + session % 6});
      const std::uint64_t round = node.now() == nullptr ? 0 : node.now()->round;
      const std::uint64_t call = node.now() == nullptr ? 0 : node.now()->call;
      const std::uint64_t choice = draw(10);
      for (Node* each : {&node, &twin}) {
        if (choice < 6) {
          each->arrive(session, bounds);
        } else if (choice == 6) {
          each->end({session, 1 + session % 6});
        } else if (choice == 7) {
          each->apply(session, encode_rendezvous_leave());
        } else {
          each->table.end_call(kShard, hash_name(kName), call);
        }
      }
      Node fresh;
      ASSERT_TRUE(fresh.table.deserialize(kShard, twin.bytes()).ok()) << "seed " << seed;
      fresh.sequences = twin.sequences;
      twin = std::move(fresh);
      ASSERT_EQ(node.bytes(), twin.bytes()) << "seed " << seed << ", step " << step;
      const Rendezvous* const now = node.now();
      if (now == nullptr || now->round == round) {
        continue;
      }
      ++rounds;
      const Sessions members = node.members();
      EXPECT_EQ(std::set(members.begin(), members.end()).size(), members.size());
      EXPECT_GE(members.size(), 2u);
      EXPECT_LE(members.size(), 4u);
      EXPECT_GT(now->round, round);
      EXPECT_TRUE(before.empty()) << "two rounds of one name go on together";
    }
    EXPECT_GT(rounds, 3u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gcoord::membership
