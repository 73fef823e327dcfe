// The lane between a host and the turn on its device where somebody writes what no host writes:
// the device refuses it with its reason, takes nothing of it into a log, and goes on serving.
#include "locks/commands/entry.h"
#include "security/roles/rights.h"
#include "server/resident/node/lock_ingress.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

TurnRequest request_of(ShardId shard, const locks::LockEntry& entry, std::uint64_t tag) {
  TurnRequest request{.shard = shard, .head = entry.head, .tag = tag};
  std::copy(std::begin(entry.word), std::end(entry.word), std::begin(request.word));
  return request;
}

class IngressLane : public testing::Test {
 protected:
  IngressLane() { world_.turns(4000); }

  ~IngressLane() override {
    world_.turns(600);
    world_.expect_told_alike();
    for (const auto& node : world_.nodes) {
      EXPECT_EQ(node.memory->view().control->abort, 0u);
    }
  }

  static ShardId shard() { return shard_of_name("a"); }

  // The leader's answer to a slot, which is the only one.
  TurnReply answer(const TurnRequest& asked) {
    TurnRequest request = asked;
    const std::uint32_t n = world_.leader_of(shard());
    world_.skip_requests(1);
    request.tag = world_.last_tag();
    const LogIndex before = world_.nodes[n].told[shard().value];
    const std::uint32_t lane = stripe_of(world_.nodes[n].memory->options().shape, shard());
    EXPECT_TRUE(world_.nodes[n].memory->push(lane, &request, 1));
    for (std::uint32_t k = 0; k < 400 && !world_.nodes[n].answers.contains(request.tag); ++k) {
      world_.turns(3);
    }
    EXPECT_TRUE(world_.nodes[n].answers.contains(request.tag));
    const TurnReply reply = world_.nodes[n].answers[request.tag].reply;
    if (reply.verdict == TurnVerdict::Refused) {
      world_.turns(100);
      EXPECT_EQ(world_.nodes[n].told[shard().value], before) << "it is in the log";
    }
    return reply;
  }

  TurnReply answer(const locks::LockEntry& entry) { return answer(request_of(shard(), entry, 0)); }

  void show(const TurnPass& pass) {
    const std::uint32_t n = world_.leader_of(shard());
    const TurnRequest request = pass_request(pass);
    const std::uint32_t lane = stripe_of(world_.nodes[n].memory->options().shape, shard());
    EXPECT_TRUE(world_.nodes[n].memory->push(lane, &request, 1));
  }

  static locks::LockEntry sound(std::uint64_t sequence) {
    return locks::entries_of(acquire("a", 5, sequence)).back();
  }

  ResidentWorld world_{43};
};

TEST_F(IngressLane, WhatIsNotSoundIsRefusedWithItsReason) {
  const auto refused = [&](const TurnReply& reply, IngressFault fault) {
    EXPECT_EQ(reply.verdict, TurnVerdict::Refused);
    EXPECT_EQ(reply.detail, static_cast<std::uint32_t>(fault));
  };
  locks::LockEntry entry = sound(1);
  entry.word[0] = 0;
  refused(answer(entry), IngressFault::Field);
  entry = sound(1);
  entry.word[3] ^= 1;  // The number of shards is even.
  refused(answer(entry), IngressFault::Shard);
  entry = sound(1);
  entry.head = (entry.head & ~0xffu) | 200u;
  refused(answer(entry), IngressFault::Kind);
  entry = sound(1);
  entry.word[1] = sessions::kSequenceAheadMax + 9;
  entry.word[2] = (entry.word[2] >> 32 << 32) | (sessions::kSequenceAheadMax + 3);
  refused(answer(entry), IngressFault::Window);
  EXPECT_EQ(answer(sound(1)).verdict, TurnVerdict::Committed);
}

TEST_F(IngressLane, APassHoldsForWhatFollowsIt) {
  show({7, security::kAllRights});
  EXPECT_EQ(answer(sound(1)).detail, static_cast<std::uint32_t>(IngressFault::Right));
  EXPECT_EQ(answer(locks::barrier_entry()).verdict, TurnVerdict::Committed);
  show({7, security::kAllRights & ~kNeedsAcquire});
  EXPECT_EQ(answer(sound(1)).verdict, TurnVerdict::Committed);
  const locks::LockCommand expire = locks::make_expire_session(SessionId{5}, 1);
  EXPECT_EQ(answer(locks::entries_of(expire).back()).detail,
            static_cast<std::uint32_t>(IngressFault::Right));
  show({});
  EXPECT_EQ(answer(locks::entries_of(expire).back()).verdict, TurnVerdict::Committed);
}

// The turn leaves its kernel now and then, for a larger pool or another channel.
TEST_F(IngressLane, APassOutlivesARestOfTheTurn) {
  show({7, security::kAllRights});
  EXPECT_EQ(answer(sound(1)).verdict, TurnVerdict::Refused);
  const std::uint32_t n = world_.leader_of(shard());
  EXPECT_TRUE(world_.nodes[n].turn->stop(0).ok());
  EXPECT_TRUE(world_.nodes[n].memory->go_on().ok());
  EXPECT_TRUE(world_.nodes[n].turn->start().ok());
  EXPECT_EQ(answer(sound(1)).detail, static_cast<std::uint32_t>(IngressFault::Right));
  show({});
}

// Bits by chance in sound requests, but for the name and its hash, which hosts judge: each is
// answered once, and so are others.
TEST_F(IngressLane, ALaneFullOfChanceIsAnsweredAndOthersAreServed) {
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t round = 0; round < 120; ++round) {
    const std::uint32_t n = world_.leader_of(shard());
    if (n == kTurnNodes) {
      world_.turns(300);
      continue;
    }
    auto& node = world_.nodes[n];
    std::vector<std::uint64_t> tags;
    for (std::uint64_t k = 0; k < 6; ++k) {
      TurnRequest request = request_of(shard(), sound(1 + round), 0);
      const std::uint64_t word = random64(8, round, k);
      if (word % 4 != 0) {
        request.word[word % 3] ^= 1ull << (word >> 8) % 64;
        request.head ^= (word >> 24) % 3 == 0 ? 1u << (word >> 16) % 16 : 0;
      }
      world_.skip_requests(1);
      request.tag = world_.last_tag();
      const std::uint32_t lane = stripe_of(node.memory->options().shape, shard());
      if (node.memory->push(lane, &request, 1)) {
        tags.push_back(request.tag);
      }
    }
    world_.turns(60);
    for (const std::uint64_t tag : tags) {
      ASSERT_TRUE(node.answers.contains(tag)) << "round " << round;
      refused += node.answers[tag].reply.verdict == TurnVerdict::Refused ? 1 : 0;
    }
    sent += tags.size();
  }
  EXPECT_GT(refused, sent / 4);
  EXPECT_LT(refused, sent);
  world_.decide(shard_of_name("b"), acquire("b", 77, 1));
}

// --- The host's end

locks::LockCommand acquire_here(const Hosts& hosts, std::uint64_t sequence) {
  return locks::make_acquire({.session = SessionId{5},
                              .sequence = RequestSequence{sequence},
                              .name = hosts.name,
                              .ttl_ms = 10'000});
}

// Prepared entries take the same way as a command, and its order among others.
TEST(IngressEntries, ACommandWithItsEntriesIsDecidedLikeAnyOther) {
  Hosts hosts;
  hosts.turns(4000);
  Hosts::Host& host = hosts.each[hosts.leader_of(hosts.shard())];
  const locks::LockCommand command = acquire_here(hosts, 1);
  const std::vector<locks::LockEntry> entries = locks::entries_of(command);
  ProposedCommand proposed{std::span<const std::byte>{}, &command};
  proposed.entries = entries;
  proposed.authority = {4, security::kAllRights & ~kNeedsAcquire};
  ASSERT_TRUE(host.requests->take(hosts.shard(), proposed, 71));
  const locks::LockCommand next = locks::make_cancel_wait(SessionId{5}, RequestSequence{2}, false);
  ASSERT_TRUE(host.requests->take(hosts.shard(), {std::span<const std::byte>{}, &next}, 72));
  host.requests->push();
  hosts.turns(600);
  EXPECT_EQ(host.service.applied.at(71), locks::LockCode::Granted);
  EXPECT_TRUE(host.service.applied.contains(72));
  EXPECT_TRUE(host.service.failed.empty());
  EXPECT_EQ(host.requests->under_way(), 0u);
}

TEST(IngressEntries, WhatTheDeviceFindsUnsoundFailsWithItsNumberAndIsCounted) {
  Hosts hosts;
  hosts.turns(4000);
  Hosts::Host& host = hosts.each[hosts.leader_of(hosts.shard())];
  const locks::LockCommand command = acquire_here(hosts, 1);
  std::vector<locks::LockEntry> entries = locks::entries_of(command);
  ProposedCommand proposed{std::span<const std::byte>{}, &command};
  proposed.entries = entries;
  proposed.authority = {4, security::kAllRights};  // As if the gate had let it pass by mistake.
  ASSERT_TRUE(host.requests->take(hosts.shard(), proposed, 71));
  entries.back().word[1] = 0;
  proposed.authority = {};
  ASSERT_TRUE(host.requests->take(hosts.shard(), proposed, 72));
  host.requests->push();
  hosts.turns(600);
  EXPECT_TRUE(host.service.applied.empty());
  EXPECT_EQ(host.service.failed.at(71), StatusCode::InvalidArgument);
  EXPECT_EQ(host.service.failed.at(72), StatusCode::InvalidArgument);
  EXPECT_EQ(host.rows->counts().unsound[static_cast<std::size_t>(IngressFault::Right)], 1u);
  EXPECT_EQ(host.rows->counts().unsound[static_cast<std::size_t>(IngressFault::Field)], 1u);
  EXPECT_TRUE(host.failure.ok());
}

}  // namespace
}  // namespace gcoord::server
