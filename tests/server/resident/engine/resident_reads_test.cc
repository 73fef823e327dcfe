// Linearizable reads of rows on a device, by its host emulation: under the lease, by a round, and
// what a leader answers that was replaced while it stood still.
#include "server/device_turn/turn.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <optional>

namespace gcoord::server {
namespace {

using consensus::ReadProof;

constexpr auto kLease = ReadProof::LeaseOrRound;

std::optional<StatusCode> outcome(const Hosts& hosts, std::uint32_t n, std::uint64_t cookie) {
  const auto& reads = hosts.each[n].service.reads;
  const auto found = reads.find(cookie);
  return found == reads.end() ? std::nullopt : std::optional{found->second};
}

// Asks host n about the shard of its locks and turns until it has answered, or for too long.
std::optional<StatusCode> read(Hosts& hosts, std::uint32_t n, ReadProof proof) {
  const std::uint64_t cookie = ++hosts.cookie;
  hosts.each[n].requests->read(hosts.shard(), cookie, proof);
  for (std::uint32_t k = 0; k < 2000 && !outcome(hosts, n, cookie); ++k) {
    hosts.turns(1);
  }
  return outcome(hosts, n, cookie);
}

TEST(ResidentReads, R2UnderTheLeaseNoEntryIsWrittenAndNobodyIsAsked) {
  Hosts hosts;
  hosts.lock_and_unlock(2);
  hosts.turns(300);
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  const LogIndex before = hosts.each[leader].rows->applied(shard);
  for (std::uint64_t k = 1; k <= 5; ++k) {
    EXPECT_EQ(read(hosts, leader, kLease), StatusCode::Ok);
    EXPECT_EQ(hosts.each[leader].rows->counts().leased_reads, k);
  }
  hosts.turns(600);
  for (const Hosts::Host& host : hosts.each) {
    EXPECT_EQ(host.rows->applied(shard), before);
    EXPECT_EQ(host.rows->counts().round_reads, 0u);
    EXPECT_EQ(host.requests->under_way(), 0u);
  }
}

TEST(ResidentReads, R1ARoundIsAnsweredByAQuorumAndWritesNoEntry) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  hosts.turns(300);
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  const LogIndex before = hosts.each[leader].rows->applied(shard);
  EXPECT_EQ(read(hosts, leader, ReadProof::Round), StatusCode::Ok);
  hosts.world.paused = (leader + 1) % kTurnNodes;
  EXPECT_EQ(read(hosts, leader, ReadProof::Round), StatusCode::Ok) << "two of three do";
  EXPECT_EQ(hosts.each[leader].rows->counts().round_reads, 2u);
  EXPECT_EQ(hosts.each[leader].rows->counts().leased_reads, 0u);
  EXPECT_EQ(hosts.each[leader].rows->applied(shard), before);
  hosts.world.paused = kTurnNodes;
  hosts.lock_and_unlock(1);
}

// A later read would take the place of a round that is open, which would never end where reads keep
// coming.
TEST(ResidentReads, ReadsThatComeWhileOneIsUnderWayShareTheNextOne) {
  Hosts hosts;
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  Hosts::Host& host = hosts.each[leader];
  host.requests->read(shard, 1001, ReadProof::Round);
  host.requests->push();
  for (std::uint64_t cookie = 1002; cookie < 1010; ++cookie) {
    host.requests->read(shard, cookie, kLease);
    host.requests->push();
  }
  EXPECT_EQ(host.requests->under_way(), 2u);
  hosts.turns(1000);
  for (std::uint64_t cookie = 1001; cookie < 1010; ++cookie) {
    EXPECT_EQ(outcome(hosts, leader, cookie), StatusCode::Ok) << cookie;
  }
  EXPECT_EQ(host.rows->counts().round_reads, 1u);
  EXPECT_EQ(host.rows->counts().leased_reads, 1u);
  EXPECT_EQ(host.requests->under_way(), 0u);
  EXPECT_FALSE(host.requests->awaits(host.requests->lane_of(shard)));
}

TEST(ResidentReads, R2WhatIsNoProofIsAskedAgainByARoundForAllThatShareIt) {
  Hosts hosts;
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  Hosts::Host& host = hosts.each[leader];
  for (std::uint64_t cookie = 1001; cookie < 1005; ++cookie) {
    host.requests->read(shard, cookie, kLease);
  }
  const std::uint64_t tag = host.requests->tag_last();
  host.requests->push();
  EXPECT_TRUE(host.requests->read_by_round(tag));
  EXPECT_EQ(host.requests->under_way(), 1u);
  EXPECT_FALSE(host.requests->read_by_round(tag)) << "it has ended";
  EXPECT_TRUE(host.service.reads.empty());
  hosts.turns(1000);
  for (std::uint64_t cookie = 1001; cookie < 1005; ++cookie) {
    EXPECT_EQ(outcome(hosts, leader, cookie), StatusCode::Ok) << cookie;
  }
  EXPECT_EQ(host.rows->counts().round_reads, 1u);
  EXPECT_EQ(host.rows->counts().leased_reads, 0u);
  EXPECT_EQ(host.requests->under_way(), 0u);
}

TEST(ResidentReads, R2DoubtReachesReadsThatHaveNotGone) {
  Hosts hosts;
  const std::uint32_t leader = hosts.leader_of(hosts.shard());
  Hosts::Host& host = hosts.each[leader];
  host.requests->read(hosts.shard(), 1001, kLease);
  host.requests->push(ReadProof::Round);
  hosts.turns(1000);
  EXPECT_EQ(outcome(hosts, leader, 1001), StatusCode::Ok);
  EXPECT_EQ(host.rows->counts().round_reads, 1u);
  EXPECT_EQ(host.rows->counts().leased_reads, 0u);
}

TEST(ResidentReads, ReadsOfAllShardsAtOnceAreAnswered) {
  Hosts hosts;
  for (const ReadProof proof : {kLease, ReadProof::Round}) {
    std::uint64_t last[kShards] = {};
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      last[shard] = ++hosts.cookie;
      hosts.each[hosts.leader_of(ShardId{shard})].requests->read(
          ShardId{shard}, last[shard], proof);
    }
    hosts.turns(2000);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(outcome(hosts, hosts.leader_of(ShardId{shard}), last[shard]), StatusCode::Ok)
          << shard;
    }
  }
}

TEST(ResidentReads, ARowThatDoesNotLeadSaysSoAtOnce) {
  Hosts hosts;
  const ShardId shard = hosts.shard();
  const std::uint32_t other = (hosts.leader_of(shard) + 1) % kTurnNodes;
  for (const ReadProof proof : {kLease, ReadProof::Round}) {
    EXPECT_EQ(read(hosts, other, proof), StatusCode::FailedPrecondition);
  }
  EXPECT_EQ(hosts.each[other].rows->counts().leased_reads, 0u);
}

// It was stopped past its lease, others lead and have decided more, and it goes on with the reads
// that came meanwhile.
TEST(ResidentReads, R2ALeaderThatStoodStillShowsNoOldState) {
  for (const ReadProof proof : {kLease, ReadProof::Round}) {
    Hosts hosts;
    hosts.lock_and_unlock(1);
    const ShardId shard = hosts.shard();
    const std::uint32_t before = hosts.leader_of(shard);
    hosts.world.paused = before;
    for (std::uint32_t k = 0; k < 200 && hosts.leader_of(shard) == kTurnNodes; ++k) {
      hosts.turns(300);
    }
    const std::uint32_t after = hosts.leader_of(shard);
    ASSERT_LT(after, kTurnNodes);
    hosts.lock_and_unlock(1);
    EXPECT_EQ(hosts.each[before].rows->view(shard).role, consensus::Role::Leader)
        << "nobody has told it yet";
    const std::uint64_t cookie = ++hosts.cookie;
    hosts.each[before].requests->read(shard, cookie, proof);
    hosts.each[before].requests->push();
    hosts.world.paused = kTurnNodes;
    hosts.turns(3000);
    const auto ended = outcome(hosts, before, cookie);
    ASSERT_TRUE(ended.has_value());
    EXPECT_NE(*ended, StatusCode::Ok);
    EXPECT_EQ(hosts.each[before].rows->counts().leased_reads, 0u);
    EXPECT_EQ(hosts.each[before].rows->counts().round_reads, 0u);
    EXPECT_EQ(read(hosts, hosts.leader_of(shard), proof), StatusCode::Ok);
  }
}

TEST(ResidentReads, R2WithoutAQuorumNoReadIsServedOnceTheLeaseIsOver) {
  Hosts hosts;
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  // Both others stand still.
  const auto turns_alone = [&](std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      hosts.each[leader].requests->push();
      hosts.world.now_ns += kWorldTickNs / 10;
      EXPECT_TRUE(hosts.world.nodes[leader].memory->tell_alive().ok());
      EXPECT_TRUE(hosts.world.nodes[leader].turn->turn(hosts.world.now_ns).ok());
      hosts.listen(leader);
    }
  };
  hosts.each[leader].requests->read(shard, 1001, kLease);
  turns_alone(10);
  EXPECT_EQ(outcome(hosts, leader, 1001), StatusCode::Ok) << "the lease is not over";
  turns_alone(950);  // 95 ticks: the lease is an election timeout of 100 less a margin of 10.
  hosts.each[leader].requests->read(shard, 1002, kLease);
  turns_alone(3000);
  ASSERT_TRUE(outcome(hosts, leader, 1002).has_value());
  EXPECT_NE(*outcome(hosts, leader, 1002), StatusCode::Ok);
  EXPECT_EQ(hosts.each[leader].rows->counts().leased_reads, 1u);
}

// --- What the device is asked

struct Asker {
  explicit Asker(std::uint64_t seed) : world(seed, {}, true, 256, false, false) {
    world.turns(4000);
  }

  std::uint64_t ask(std::uint32_t n, ShardId shard, ReadProof proof) {
    world.skip_requests(1);
    const std::uint64_t tag = world.last_tag();
    push(n, read_request(shard, tag, proof));
    return tag;
  }

  void push(std::uint32_t n, const TurnRequest& request) {
    const TurnShape& shape = world.nodes[n].memory->options().shape;
    const std::uint32_t lane =
        request.shard.value < shape.shard_count ? stripe_of(shape, request.shard) : 0;
    EXPECT_TRUE(world.nodes[n].memory->push(lane, &request, 1));
  }

  ResidentWorld world;
};

TEST(DeviceReads, TheNewestOfARowIsTakenInATurnAndWhatCannotBeIsRefused) {
  Asker asker(51);
  const ShardId shard{3};
  const std::uint32_t leader = asker.world.leader_of(shard);
  const std::uint64_t first = asker.ask(leader, shard, kLease);
  const std::uint64_t second = asker.ask(leader, shard, kLease);
  asker.push(leader, read_request(ShardId{~0u}, 900'000, kLease));
  asker.push(leader, read_request(shard, 0, kLease));
  asker.world.turns(30);
  const auto& answers = asker.world.nodes[leader].answers;
  ASSERT_TRUE(answers.contains(first) && answers.contains(second) && answers.contains(900'000));
  EXPECT_EQ(answers.at(first).reply.verdict, TurnVerdict::Overloaded)
      << "whoever asks anew has ended it";
  EXPECT_EQ(answers.at(second).reply.verdict, TurnVerdict::ReadReady);
  EXPECT_EQ(answers.at(second).reply.detail, static_cast<std::uint32_t>(ReadWay::Lease));
  EXPECT_EQ(answers.at(second).reply.index, asker.world.nodes[leader].told[shard.value]);
  EXPECT_EQ(answers.at(900'000).reply.verdict, TurnVerdict::Refused);
}

// As on a device whose kernel was not given time between its clock's reading and the read.
TEST(DeviceReads, R2AReadingWhoseTickIsOverProvesNothing) {
  Asker asker(52);
  ResidentWorld& world = asker.world;
  const ShardId shard{3};
  const std::uint32_t leader = world.leader_of(shard);
  ResidentWorld::Node& node = world.nodes[leader];
  world.paused = leader;
  ASSERT_TRUE(node.turn->stop(0).ok());
  const ResidentView& view = node.memory->view();
  // The clock of this world is far behind the one that the stripes ask.
  NodeClock<LockTurnService> clock(view, node.memory->options().timing);
  std::vector<std::unique_ptr<StripeWorkspace>> desks;
  std::vector<TurnStripe<LockTurnService>> stripes;
  stripes.reserve(view.shape.stripe_count);
  for (std::uint32_t stripe = 0; stripe < view.shape.stripe_count; ++stripe) {
    desks.push_back(std::make_unique<StripeWorkspace>());
    stripes.emplace_back(view, stripe, *desks.back());
  }
  const auto turn = [&] {
    world.turns(1);
    EXPECT_TRUE(node.memory->tell_alive().ok());
    EXPECT_TRUE(clock.read(world.now_ns));
    for (auto& stripe : stripes) {
      stripe.turn();
    }
    world.listen(node);
  };
  for (std::uint32_t k = 0; k < 30; ++k) {
    turn();  // Until the newest reading is of this clock.
  }
  const std::uint64_t tag = asker.ask(leader, shard, kLease);
  for (std::uint32_t k = 0; k < 300 && !node.answers.contains(tag); ++k) {
    turn();
  }
  for (auto& stripe : stripes) {
    stripe.close();
  }
  ASSERT_TRUE(node.answers.contains(tag));
  EXPECT_EQ(node.answers[tag].reply.verdict, TurnVerdict::ReadReady);
  EXPECT_EQ(node.answers[tag].reply.detail, static_cast<std::uint32_t>(ReadWay::Round));
}

}  // namespace
}  // namespace gcoord::server
