// Locks on a turn that stays on its device, by the host twin of three nodes: what the device
// applies, what it tells, and that a copy on the host that follows what is told agrees to the bit.
#include "server/resident/node/node.h"

#include "tests/server/resident/engine/resident_world.h"

#include <set>
#include <string>

namespace gcoord::server {
namespace {

using locks::LockCode;
using locks::LockCommand;

constexpr std::uint32_t kShards = ResidentWorld::kShards;

// Every replica that was told as much has the same state.
void expect_equal_copies(const ResidentWorld& world) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    std::map<std::uint64_t, std::uint64_t> hashes;  // By index told.
    for (const auto& node : world.nodes) {
      if (!node.absent[shard]) {
        const std::uint64_t hash = node.copy->state_hash(ShardId{shard});
        const auto [at, fresh] = hashes.try_emplace(node.told[shard].value, hash);
        EXPECT_EQ(at->second, hash) << "shard " << shard;
      }
    }
  }
}

TEST(ResidentNode, TokensRiseAndOneHolderAtATime) {
  ResidentWorld world(1);
  world.turns(4000);
  std::map<std::uint32_t, std::uint64_t> token_last;
  for (std::uint32_t k = 0; k < 60; ++k) {
    const std::string name = "a" + std::to_string(k % 20);
    const ShardId shard = shard_of_name(name);
    const Answer taken = world.ask(shard, acquire(name, 5, 2 * k + 1));
    EXPECT_EQ(taken.reply.verdict, TurnVerdict::Committed);
    EXPECT_EQ(taken.decision.code, LockCode::Granted);
    EXPECT_GT(taken.decision.token.value, token_last[shard.value]);
    token_last[shard.value] = taken.decision.token.value;
    EXPECT_EQ(world.ask(shard, acquire(name, 6, k + 1)).decision.code, LockCode::Busy);
    EXPECT_EQ(world.ask(shard, release(name, 5, 2 * k + 2, taken.decision.token)).decision.code,
              LockCode::Released);
  }
  world.turns(300);
  expect_equal_copies(world);
  for (const auto& node : world.nodes) {
    EXPECT_EQ(node.compared, 180u);
  }
}

TEST(ResidentNode, NamesOfEveryLengthTravelInPiecesAndAreKeptWhole) {
  ResidentWorld world(2);
  world.turns(4000);
  std::uint64_t sequence = 0;
  for (const std::size_t bytes : {1u, 8u, 9u, 48u, 49u, 500u, 1024u}) {
    std::string name;
    while (name.size() < bytes) {
      name += static_cast<char>('a' + (name.size() * 7 + bytes) % 26);
    }
    const ShardId shard = shard_of_name(name);
    const Answer taken = world.ask(shard, acquire(name, 9, ++sequence));
    ASSERT_TRUE(taken.whole) << bytes;
    EXPECT_EQ(taken.decision.code, LockCode::Granted) << bytes;
    world.turns(300);
    for (const auto& node : world.nodes) {
      const auto lock = node.copy->get(shard, hash_name(name));
      ASSERT_TRUE(lock.has_value()) << bytes;
      EXPECT_EQ(lock->name, name);
    }
  }
  expect_equal_copies(world);
}

TEST(ResidentNode, ACommandWhosePiecesAreNotAllThereLeavesNoTrace) {
  ResidentWorld world(3);
  world.turns(4000);
  const std::string name(120, 'x');
  const ShardId shard = shard_of_name(name);
  std::vector<locks::LockEntry> entries = locks::entries_of(acquire(name, 9, 1));
  ASSERT_EQ(entries.size(), 4u);
  auto torn = entries;
  torn.erase(torn.begin() + 1);
  EXPECT_FALSE(world.ask(shard, torn).whole);
  torn = entries;
  std::swap(torn[0], torn[1]);
  EXPECT_FALSE(world.ask(shard, torn).whole);
  torn = entries;
  torn.insert(torn.end() - 1, locks::barrier_entry());
  EXPECT_FALSE(world.ask(shard, torn).whole);
  EXPECT_EQ(world.ask(shard, entries).decision.code, LockCode::Granted);
  world.turns(300);
  expect_equal_copies(world);
}

TEST(ResidentNode, ARetryIsAnsweredAsTheFirstTimeAndChangesNothing) {
  ResidentWorld world(4);
  world.turns(4000);
  const ShardId shard = shard_of_name("once");
  const Answer first = world.ask(shard, acquire("once", 5, 1));
  const Answer again = world.ask(shard, acquire("once", 5, 1));
  EXPECT_EQ(again.decision.code, LockCode::Granted);
  EXPECT_TRUE(again.decision.replayed);
  EXPECT_EQ(again.decision.token, first.decision.token);
  EXPECT_EQ(world.ask(shard, acquire(name_in(shard, "other"), 5, 1)).decision.code,
            LockCode::SequenceReused);
}

TEST(ResidentNode, WaitersAreGrantedInOrderAndAnExpiredSessionLosesAll) {
  ResidentWorld world(5);
  world.turns(4000);
  const ShardId shard = shard_of_name("queue");
  const Answer held = world.ask(shard, acquire("queue", 1, 1));
  for (std::uint64_t session = 2; session < 6; ++session) {
    EXPECT_EQ(world.ask(shard, acquire("queue", session, 1, true)).decision.code,
              LockCode::Waiting);
  }
  const std::uint32_t leader = world.leader_of(shard);
  // Session 3 waits and dies: it is never granted. Serials count registrations of the shard.
  EXPECT_EQ(world.ask(shard, locks::make_expire_session(SessionId{3}, 3)).decision.code,
            LockCode::SessionExpired);
  world.ask(shard, release("queue", 1, 2, held.decision.token));
  // Session 2 holds now; its end passes the lock on.
  EXPECT_EQ(world.ask(shard, locks::make_expire_session(SessionId{2}, 2)).decision.code,
            LockCode::SessionExpired);
  std::vector<std::pair<std::uint64_t, LockCode>> heard;
  for (const locks::LockEvent& event : world.nodes[leader].events) {
    heard.emplace_back(event.session.value, event.code);
  }
  const std::vector<std::pair<std::uint64_t, LockCode>> expected = {
      {3, LockCode::SessionExpired}, {2, LockCode::Granted}, {4, LockCode::Granted}};
  EXPECT_EQ(heard, expected);
  world.turns(300);
  expect_equal_copies(world);
}

TEST(ResidentNode, EntriesThatCannotBeAreRefusedAndOthersAppliedAlikeEverywhere) {
  ResidentWorld world(6);
  world.turns(4000);
  std::uint32_t taken = 0;
  for (std::uint32_t k = 0; k < 300; ++k) {
    locks::LockEntry entry;
    entry.head = static_cast<std::uint32_t>(random64(6, k, 0)) | 1;
    entry.head =
        (entry.head & ~0xffu) | static_cast<std::uint32_t>(random_below(random64(6, k, 1), 9));
    for (std::uint32_t w = 0; w < 6; ++w) {
      entry.word[w] = random64(6, k, 2 + w) & (k % 3 == 0 ? ~std::uint64_t{0} : 0x3fu);
    }
    // A name and its hash belong together: a leader that lied about it would stop its followers.
    const std::string name(1 + entry.number() % locks::kEntryNameBytes, 'n');
    if (k % 2 == 0) {  // The half of them that nearly can be.
      entry.head = (entry.head & 0xffu) | static_cast<std::uint32_t>(name.size()) << 16;
      entry.word[0] |= 1;
      entry.word[1] = 8 | (entry.word[1] & 0x3fu);
      entry.word[2] = (entry.word[2] & 7u) | std::uint64_t{100} << 32;
    }
    const NameHash hash = hash_name(name);
    entry.word[3] = hash.low;
    entry.word[4] = hash.high;
    entry.word[5] = 0x6e6e'6e6e'6e6e'6e6eu;
    // Of whatever else does not belong together the device takes nothing.
    const ShardId shard = k % 5 == 0 ? ShardId{k % kShards} : shard_of(hash, kShards);
    const Answer answer = world.ask(shard, std::vector<locks::LockEntry>{entry});
    taken += answer.reply.verdict == TurnVerdict::Committed ? 1 : 0;
  }
  EXPECT_GT(taken, 20u);
  EXPECT_LT(taken, 280u);
  world.turns(300);
  expect_equal_copies(world);
}

// A node that was away longer than the log reaches back: its rows stand for snapshots then, and it
// says so before it tells what comes behind.
TEST(ResidentNode, ANodeThatWasStoppedIsToldWhatItMissedBySnapshot) {
  ResidentWorld world(7);
  world.turns(4000);
  world.paused = 2;
  world.turns(3000);
  for (std::uint32_t k = 0; k < 400; ++k) {
    const std::string name = "b" + std::to_string(k % 4);
    const ShardId shard = shard_of_name(name);
    const Answer taken = world.ask(shard, acquire(name, 5, 2 * k + 1));
    ASSERT_EQ(taken.decision.code, LockCode::Granted);
    world.ask(shard, release(name, 5, 2 * k + 2, taken.decision.token));
  }
  world.paused = kTurnNodes;
  world.turns(6000);
  std::uint32_t absent = 0;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    absent += world.nodes[2].absent[shard] ? 1 : 0;
    EXPECT_EQ(world.nodes[2].told[shard], world.nodes[0].told[shard]) << shard;
  }
  EXPECT_GE(absent, 1u);
  const Answer after = world.ask(shard_of_name("b0"), acquire("b0", 5, 1001));
  EXPECT_EQ(after.reply.verdict, TurnVerdict::Committed);
  expect_equal_copies(world);
}

TEST(ResidentNode, SurvivorsKeepTokensRisingWhenALeaderIsLost) {
  ResidentWorld world(8);
  world.turns(4000);
  const ShardId shard = shard_of_name("fail");
  const Answer before = world.ask(shard, acquire("fail", 5, 1));
  world.ask(shard, release("fail", 5, 2, before.decision.token));
  world.paused = world.leader_of(shard);
  world.turns(6000);
  ASSERT_LT(world.leader_of(shard), kTurnNodes);
  const Answer after = world.ask(shard, acquire("fail", 6, 1));
  EXPECT_EQ(after.decision.code, LockCode::Granted);
  EXPECT_GT(after.decision.token, before.decision.token);
  EXPECT_GT(after.reply.term, before.reply.term);
}

// Rows that were given back are taken again for ever; a stripe whose pool is really full stops its
// node and does not go on with less.
TEST(ResidentNode, PoolsAreUsedAgainAndAFullOneStopsTheNode) {
  ResidentWorld world(9, {.locks = 8, .sessions = 8, .requests = 32, .name_blocks = 16});
  world.turns(4000);
  const ShardId shard = shard_of_name("c0");
  for (std::uint32_t k = 0; k < 100; ++k) {
    const Answer taken = world.ask(shard, acquire("c0", 5, 2 * k + 1));
    ASSERT_EQ(taken.decision.code, LockCode::Granted);
    world.ask(shard, release("c0", 5, 2 * k + 2, taken.decision.token));
  }
  const std::uint32_t leader = world.leader_of(shard);
  for (std::uint32_t k = 0; k < 9; ++k) {
    world.push(leader, shard, acquire(name_in(shard, "d"), 100 + k, 1));
  }
  bool stopped = false;
  for (std::uint32_t k = 0; k < 3000 && !stopped; ++k) {
    world.now_ns += 100;
    stopped = !world.nodes[leader].turn->turn(world.now_ns).ok();
    world.listen(world.nodes[leader]);
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      if (n != leader) {
        static_cast<void>(world.nodes[n].turn->turn(world.now_ns));
        world.listen(world.nodes[n]);
      }
    }
  }
  EXPECT_TRUE(stopped);
  const auto word = world.nodes[leader].memory->abort_word();
  ASSERT_TRUE(word.ok());
  EXPECT_EQ(word.value(), kAbortPoolFull);
}

// A host that does not read stops nobody else, its pages take no more than they hold, and nothing
// that it is owed is lost.
TEST(ResidentNode, AHostThatDoesNotReadIsToldEverythingLater) {
  ResidentWorld world(10, {}, false);
  world.turns(4000);
  for (auto& node : world.nodes) {
    world.listen(node);
  }
  for (std::uint32_t k = 0; k < 300; ++k) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint32_t leader = world.leader_of(ShardId{shard});
      ASSERT_LT(leader, kTurnNodes);
      TurnRequest request;
      request.shard = ShardId{shard};
      request.head = locks::barrier_entry().head;
      request.tag = k * kShards + shard + 1;
      const std::uint32_t lane = stripe_of(world.nodes[0].memory->options().shape, ShardId{shard});
      static_cast<void>(world.nodes[leader].memory->push(lane, &request, 1));
      world.turns(9);
    }
  }
  for (std::uint32_t k = 0; k < 2000; ++k) {
    world.turns(9);
    for (auto& node : world.nodes) {
      world.listen(node);
    }
  }
  expect_equal_copies(world);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const std::uint32_t leader = world.leader_of(ShardId{shard});
    EXPECT_GE(world.nodes[leader].told[shard].value, 31u) << shard;
    for (const auto& node : world.nodes) {
      EXPECT_EQ(node.told[shard], world.nodes[leader].told[shard]) << shard;
    }
  }
}

// Refusals found no room beside what was told, and were lost: what the host had asked then stayed
// under way for as long as the row led, and with it its lane's share.
TEST(ResidentNode, EveryRequestIsAnsweredOnceThoughTheHostHardlyReads) {
  ResidentWorld world(19, {}, false, 16);
  world.turns(8000);
  std::map<std::uint64_t, ShardId> asked[kTurnNodes];
  std::uint64_t tag = 0;
  for (std::uint32_t k = 0; k < 400; ++k) {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const ShardId shard{(k * 7 + n) % (kShards + 2)};  // Two of them name no row.
      const std::uint32_t lane =
          shard.value < kShards ? stripe_of(world.nodes[0].memory->options().shape, shard) : 0;
      TurnRequest request;
      request.shard = shard;
      request.head = locks::barrier_entry().head;
      request.tag = ++tag;
      if (world.nodes[n].memory->push(lane, &request, 1)) {
        asked[n].emplace(request.tag, shard);
      }
    }
    world.turns(9);
    if (k % 40 == 39) {
      for (auto& node : world.nodes) {
        world.listen(node);
      }
    }
  }
  for (std::uint32_t k = 0; k < 400; ++k) {
    world.turns(9);
    for (auto& node : world.nodes) {
      world.listen(node);
    }
  }
  std::uint64_t refused = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_GT(asked[n].size(), 50u) << "rings were full all the time";
    for (const auto& [number, shard] : asked[n]) {
      ASSERT_TRUE(world.nodes[n].answers.contains(number)) << n << " " << shard.value;
      refused += world.nodes[n].answers[number].reply.verdict == TurnVerdict::NotLeader ? 1 : 0;
    }
    const auto counts = world.nodes[n].memory->counts();
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts.value().unreplied, 0u);
  }
  EXPECT_GT(refused, 50u);
}

// Found on a GPU with 16,384 shards, whose first elections fill the rings of their hosts: the first
// entries of some shards found no room, and were never asked for again.
TEST(ResidentNode, AFirstEntryThatFindsNoRoomIsToldLater) {
  ResidentWorld world(11, {}, false, 16);
  world.turns(8000);
  for (std::uint32_t k = 0; k < 4000; ++k) {
    world.turns(3);
    for (auto& node : world.nodes) {
      world.listen(node);
    }
  }
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    for (const auto& node : world.nodes) {
      EXPECT_GE(node.told[shard].value, 1u) << shard;
    }
  }
}

// What is told in rings keeps nobody from knowing who leads: before the table of leaders, a host
// heard of each shard behind all that its device had told before.
TEST(ResidentNode, AHostWhoseRingsAreFullKnowsWhoLeads) {
  ResidentWorld world(17, {}, false, 16);
  const auto expect_led_by_all_but = [&world](std::uint32_t lost) {
    std::uint32_t led = 0;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      if (n != lost) {
        auto& node = world.nodes[n];
        for (const ResidentLeaders::Change& change : node.leaders->look()) {
          world.take_leader(node, change);
        }
        led += node.leaders->leader_count();
        EXPECT_EQ(node.leaders->unled_count(), 0u) << n;
      }
    }
    EXPECT_EQ(led, kShards);
  };
  world.turns(6000);
  expect_led_by_all_but(kTurnNodes);
  world.paused = 1;
  world.turns(6000);
  expect_led_by_all_but(1);
  for (const auto& node : world.nodes) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(node.told[shard], LogIndex{}) << "nothing was taken from the rings";
    }
  }
}

// The first entries of terms, of which a lost node makes a third of a million at once, are told in
// a slot each at most; alone they took two.
TEST(ResidentNode, NoopsOfSeveralRowsShareASlot) {
  ResidentWorld world(18);
  world.turns(4000);
  world.paused = 0;
  world.turns(6000);
  for (std::uint32_t n = 1; n < kTurnNodes; ++n) {
    auto& node = world.nodes[n];
    ASSERT_TRUE(node.turn->stop(0).ok());
    const auto counts = node.memory->counts();
    ASSERT_TRUE(counts.ok());
    std::uint64_t told = 0;
    for (const LogIndex index : node.told) {
      told += index.value;
    }
    EXPECT_GT(told, kShards);
    EXPECT_LE(counts.value().replies, told) << "slots";
  }
}

// A device that turns does not make its host able to answer, or its disk able to store.
TEST(ResidentNode, ANodeWhoseHostStandsStillLeadsNothingAndComesBack) {
  ResidentWorld world(12);
  world.turns(4000);
  const auto led_by = [&world](std::uint32_t n) {
    std::uint32_t led = 0;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      led += ResidentWorld::leads(world.nodes[n], ShardId{shard}) ? 1 : 0;
    }
    return led;
  };
  ASSERT_GT(led_by(1), 0u);
  world.stalled = 1;
  world.turns(9000);
  EXPECT_EQ(led_by(1), 0u);
  EXPECT_EQ(led_by(0) + led_by(2), kShards);
  world.stalled = kTurnNodes;
  world.turns(9000);
  const ShardId shard = shard_of_name("a");
  EXPECT_EQ(world.ask(shard, acquire("a", 5, 1)).decision.code, LockCode::Granted);
  world.turns(900);
  EXPECT_EQ(world.nodes[1].told[shard.value], world.nodes[0].told[shard.value]);
}

TEST(ResidentNode, LeadershipIsHandedOverAndWhoAsksMeanwhileIsToldSo) {
  ResidentWorld world(13);
  world.turns(4000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const std::uint32_t from = world.leader_of(ShardId{shard});
    ASSERT_LT(from, kTurnNodes);
    const std::uint32_t to = (from + 1 + shard % 2) % kTurnNodes;
    world.push_transfer(from, ShardId{shard}, NodeId{to + 1});
    const std::uint64_t tag =
        world.push(from, ShardId{shard}, acquire(name_in(ShardId{shard}, "x"), 5, shard + 1));
    // Far less than anybody would have to be missed for.
    world.turns(120);
    EXPECT_EQ(world.leader_of(ShardId{shard}), to) << shard;
    EXPECT_EQ(world.nodes[from].answers[tag].reply.verdict, TurnVerdict::Transferring);
  }
}

TEST(ResidentNode, TransfersThatCannotBeChangeNothing) {
  ResidentWorld world(14);
  world.turns(4000);
  const ShardId shard{5};
  const std::uint32_t leader = world.leader_of(shard);
  ASSERT_LT(leader, kTurnNodes);
  world.push_transfer(leader, shard, NodeId{leader + 1});
  world.push_transfer(leader, shard, NodeId{0});
  world.push_transfer(leader, shard, NodeId{9});
  world.push_transfer((leader + 1) % kTurnNodes, shard, NodeId{leader + 1});
  world.turns(3000);
  EXPECT_EQ(world.leader_of(shard), leader);
  EXPECT_EQ(world.ask(shard, acquire(name_in(shard, "x"), 5, 1)).reply.verdict,
            TurnVerdict::Committed);
}

// A channel that was given up is none: the nodes look for each other again (link_keeper.cc).
TEST(ResidentNode, AChannelThatWasGivenUpHasNoEpochAndIsJoinedAgain) {
  ResidentWorld world(15);
  world.turns(4000);
  ASSERT_NE(world.nodes[0].memory->epoch(NodeId{2}), 0u);
  const ResidentView& view = world.nodes[0].memory->view();
  const std::uint32_t place = peer_place(NodeId{1}, NodeId{2});
  netcore::reset_channel(netcore::wires_of(view.channel[place], netcore::Band::Consensus, 0),
                         netcore::DropReason::BadLength);
  EXPECT_EQ(world.nodes[0].memory->epoch(NodeId{2}), 0u);
  EXPECT_NE(world.nodes[0].memory->epoch(NodeId{3}), 0u);
  world.rejoin(0, 1);
  EXPECT_NE(world.nodes[0].memory->epoch(NodeId{2}), 0u);
  world.turns(6000);
  EXPECT_EQ(world.ask(ShardId{1}, acquire(name_in(ShardId{1}, "x"), 5, 1)).reply.verdict,
            TurnVerdict::Committed);
}

// The first slots of a message may have come before a pause in which another channel is replaced.
TEST(ResidentNode, WhatIsHeldBackOfAChannelThatStaysIsKept) {
  ResidentWorld world(16);
  world.turns(4000);
  ASSERT_TRUE(world.nodes[0].turn->stop(0).ok());
  ASSERT_TRUE(world.nodes[1].turn->stop(0).ok());
  StripeState& stripe = world.nodes[0].memory->view().stripe[0];
  const std::uint32_t replaced = peer_place(NodeId{1}, NodeId{2});
  const std::uint32_t stays = peer_place(NodeId{1}, NodeId{3});
  stripe.held[replaced] = 2;
  stripe.held[stays] = 3;
  ASSERT_TRUE(join_resident(*world.nodes[0].memory, *world.nodes[1].memory).ok());
  ASSERT_TRUE(world.nodes[0].memory->go_on().ok());
  EXPECT_EQ(stripe.held[replaced], 0u);
  EXPECT_EQ(stripe.held[stays], 3u);
}

}  // namespace
}  // namespace gcoord::server
