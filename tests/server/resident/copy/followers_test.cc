// Threads that follow the lanes of a resident node, by the twin of three nodes: the same answers
// and states as the loop alone, whoever stands still; and what is not theirs they leave to it.
#include "server/resident/copy/followers.h"

#include "common/device/device_errors.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCode;
using locks::LockCommand;

constexpr HostThreads kThreads{.lanes_each = 1};

class FollowedHosts : public testing::Test {
 protected:
  explicit FollowedHosts(HostThreads threads = kThreads) : hosts_({}, threads) {
    leader_ = hosts_.leader_of(hosts_.shard());
  }

  Hosts::Host& host() { return hosts_.each[leader_]; }

  ShardId shard() const { return hosts_.shard(); }

  std::uint32_t lane() { return host().requests->lane_of(shard()); }

  Follower& follower() { return host().followers().of(lane()); }

  locks::LockCpu& tables() { return host().service.locks; }

  // Of the shard under test, all with the same name.
  std::uint64_t submit(const LockCommand& command) {
    host().requests->command(shard(), command, ++hosts_.cookie);
    return hosts_.cookie;
  }

  LockCommand acquire_by(std::uint64_t session, bool wait = true) {
    name_ = hosts_.name;
    return acquire(name_, session, ++sequence_, wait);
  }

  // Lets the world turn, and threads work, until something holds.
  bool pass(const std::function<bool()>& holds) {
    for (std::uint32_t k = 0; k < 2'000'000 && !holds(); ++k) {
      hosts_.turns(1);
      if (host().deaf) {
        host().followers().help(lane(), 1);  // Its thread may be asleep, and nobody wakes it then.
      }
      std::this_thread::yield();
    }
    return holds();
  }

  bool answered(std::uint64_t cookie) { return host().service.applied.contains(cookie); }

  void expect_sound() {
    for (const Hosts::Host& each : hosts_.each) {
      EXPECT_TRUE(each.failure.ok()) << each.failure.to_string();
    }
  }

  Hosts hosts_;
  std::uint32_t leader_ = 0;
  std::uint64_t sequence_ = 0;
  std::string name_;
};

// --- The same as the loop alone

// Rounds of commands, one for each of some shards, made from what the leaders' tables say.
class Rounds {
 public:
  explicit Rounds(HostThreads threads) : hosts_({}, threads) {}

  void run(std::uint32_t rounds) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
      for (std::uint32_t k = 0; k < 6; ++k) {
        const ShardId shard{(round * 5 + k * 4) % kShards};
        const std::uint32_t leader = hosts_.leader_of(shard);
        ASSERT_LT(leader, kTurnNodes);
        hosts_.each[leader].requests->command(
            shard, command(hosts_.each[leader], shard), ++hosts_.cookie);
        asked.emplace_back(leader, hosts_.cookie);
        if (k == 0) {
          hosts_.each[leader].requests->read(
              shard, ++hosts_.cookie, consensus::ReadProof::LeaseOrRound);
        }
      }
      for (const auto& [leader, cookie] : asked) {
        await(leader, cookie);
      }
    }
    hosts_.turns(500);
    while (!all_same()) {
      hosts_.turns(1);
    }
  }

  std::vector<LockCode> codes;
  std::vector<std::vector<std::byte>> states;
  std::uint64_t followed = 0;

  void gather() {
    for (Hosts::Host& host : hosts_.each) {
      EXPECT_TRUE(host.failure.ok()) << host.failure.to_string();
      granted += host.service.granted;
      ended += host.service.ended;
      EXPECT_TRUE(host.service.failed.empty());
      followed += host.drain == nullptr ? 0 : host.drain->copy_counts().applied;
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        states.push_back(host.service.locks.serialize(ShardId{shard}));
      }
    }
  }

  std::uint64_t granted = 0;
  std::uint64_t ended = 0;

 private:
  std::uint32_t below(std::uint32_t bound) { return random_below(random64(9, 1, ++drawn_), bound); }

  LockCommand command(Hosts::Host& host, ShardId shard) {
    const SessionId session{1 + below(5)};
    const std::uint32_t number = below(3);
    const std::string long_tail(number == 2 ? 70 : 0, 'x');  // In pieces.
    name_ = name_in(shard, "job/" + std::to_string(number) + long_tail);
    const std::uint32_t kind = below(20);
    sequence_ += 1;
    const auto held = host.service.locks.get(shard, hash_name(name_));
    if (kind == 0) {
      return locks::make_close_session(session, RequestSequence{sequence_});
    }
    if (kind == 1) {
      return locks::make_cancel_wait(session, RequestSequence{sequence_ - 1}, false);
    }
    if (kind == 2) {
      return locks::make_register_session(session, 10'000);
    }
    if (held.has_value() && kind < 13) {
      return release_of(*held);
    }
    return acquire(name_, session.value, sequence_, below(3) != 0);
  }

  LockCommand release_of(const locks::HeldLock& held) {
    return locks::make_release({.session = held.holder,
                                .sequence = RequestSequence{sequence_},
                                .acked_below = RequestSequence{sequence_},
                                .name_hash = held.name_hash,
                                .token = held.token});
  }

  void await(std::uint32_t leader, std::uint64_t cookie) {
    while (!hosts_.each[leader].service.applied.contains(cookie)) {
      hosts_.turns(1);
    }
    codes.push_back(hosts_.each[leader].service.applied.at(cookie));
  }

  bool all_same() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const ShardId at{shard};
      const LogIndex applied = hosts_.each[0].rows->applied(at);
      for (const Hosts::Host& host : hosts_.each) {
        if (host.rows->applied(at) != applied) {
          return false;
        }
      }
    }
    return true;
  }

  Hosts hosts_;
  std::string name_;
  std::uint64_t sequence_ = 0;
  std::uint64_t drawn_ = 0;
};

TEST(Followers, GiveTheSameAnswersAndStatesAsTheLoopAlone) {
  Rounds alone{HostThreads{}};
  alone.run(60);
  alone.gather();
  EXPECT_EQ(alone.followed, 0u);
  for (const HostThreads threads :
       {HostThreads{.lanes_each = 1}, HostThreads{.lanes_each = 2, .ring_events = 2}}) {
    Rounds followed{threads};
    followed.run(60);
    followed.gather();
    EXPECT_EQ(followed.codes, alone.codes);
    EXPECT_EQ(followed.states, alone.states);
    EXPECT_EQ(followed.granted, alone.granted);
    EXPECT_EQ(followed.ended, alone.ended);
    EXPECT_GT(followed.followed, 300u);
  }
}

// --- Whoever stands still

TEST_F(FollowedHosts, AFollowerThatStandsStillHoldsUpItsLanesAlone) {
  follower().stand_still(true);
  const std::uint64_t waits = submit(acquire_by(1));
  hosts_.turns(500);
  EXPECT_FALSE(answered(waits));
  // A lane of another follower goes on.
  ShardId other{0};
  while (other.value < kShards &&
         (host().requests->lane_of(other) == lane() || hosts_.leader_of(other) != leader_)) {
    other = ShardId{other.value + 1};
  }
  ASSERT_LT(other.value, kShards);
  host().requests->command(other, locks::make_register_session(SessionId{3}, 10'000), 77);
  EXPECT_TRUE(pass([&] { return answered(77); }));
  EXPECT_FALSE(answered(waits));
  follower().stand_still(false);
  EXPECT_TRUE(pass([&] { return answered(waits); }));
  EXPECT_EQ(host().service.applied.at(waits), LockCode::Granted);
  expect_sound();
}

class ShortRings : public FollowedHosts {
 protected:
  ShortRings() : FollowedHosts({.lanes_each = 1, .ring_events = 4}) {}
};

TEST_F(ShortRings, ALoopThatStandsStillIsNotLeftFurtherBehindThanTheRingIsLong) {
  host().deaf = true;
  const LogIndex passed = host().rows->applied(shard());
  const std::uint64_t full = follower().counts().full;
  std::vector<std::uint64_t> cookies;
  for (std::uint64_t k = 0; k < 20; ++k) {
    cookies.push_back(submit(acquire_by(1 + k)));
  }
  EXPECT_TRUE(pass([&] { return follower().counts().full > full; }));
  hosts_.turns(500);
  EXPECT_EQ(host().rows->applied(shard()), passed);
  EXPECT_LE(host().followers().counts().ahead, kLanes * std::uint64_t{4});
  {
    const auto held = host().followers().hold(lane());
    EXPECT_EQ(tables().view(shard()).applied(shard()), passed + 4);
    EXPECT_EQ(tables().get(shard(), hash_name(hosts_.name))->waiter_count, 3u);
  }
  EXPECT_FALSE(answered(cookies.front()));
  host().deaf = false;
  EXPECT_TRUE(pass([&] { return answered(cookies.back()); }));
  EXPECT_EQ(host().service.applied.at(cookies.front()), LockCode::Granted);
  EXPECT_EQ(host().service.applied.at(cookies.back()), LockCode::Waiting);
  EXPECT_EQ(host().rows->applied(shard()), passed + 20);
  EXPECT_LE(host().followers().counts().ahead_most, 4u);
  expect_sound();
}

// --- What is left to the loop

TEST_F(FollowedHosts, BehindTheEndOfASessionNothingIsAppliedBeforeTheLoopHadIt) {
  host().deaf = true;
  const std::uint64_t first = submit(acquire_by(1));
  submit(locks::make_close_session(SessionId{1}, RequestSequence{1}));
  const std::uint64_t last = submit(acquire_by(2, false));
  EXPECT_TRUE(pass([&] { return host().followers().counts().ahead >= 3; }));
  {
    const auto held = host().followers().hold(lane());
    const auto lock = tables().get(shard(), hash_name(hosts_.name));
    ASSERT_TRUE(lock.has_value());
    EXPECT_EQ(lock->holder, SessionId{1});  // Its end is the loop's.
    EXPECT_FALSE(tables().registered(shard(), SessionId{2}));
  }
  host().deaf = false;
  EXPECT_TRUE(pass([&] { return answered(last); }));
  EXPECT_EQ(host().service.applied.at(first), LockCode::Granted);
  EXPECT_EQ(host().service.applied.at(last), LockCode::Granted);
  expect_sound();
}

TEST_F(FollowedHosts, LeavesEverythingToALoopThatIsObserved) {
  const std::uint64_t before = host().followers().counts().applied;
  host().followers().leave_all(true);
  const std::uint64_t last = submit(acquire_by(1));
  EXPECT_TRUE(pass([&] { return answered(last); }));
  EXPECT_EQ(host().followers().counts().applied, before);
  host().followers().leave_all(false);
  const std::uint64_t more = submit(acquire_by(2));
  EXPECT_TRUE(pass([&] { return answered(more); }));
  EXPECT_EQ(host().followers().counts().applied, before + 1);
  expect_sound();
}

TEST_F(FollowedHosts, WhoSettlesALaneFindsItsTablesWhereTheRowsAre) {
  host().deaf = true;
  std::uint64_t last = 0;
  for (std::uint64_t k = 0; k < 12; ++k) {
    last = submit(acquire_by(1 + k));
  }
  EXPECT_TRUE(pass([&] { return host().followers().counts().ahead >= 6; }));
  const auto look = [&] {
    EXPECT_EQ(tables().view(shard()).applied(shard()), host().rows->applied(shard()));
    EXPECT_EQ(follower().front(lane()), nullptr);
    std::vector<std::byte> bytes;
    host().rows->encode(shard(), StoredFor::Checkpoint, bytes);
    Hosts::Host restored(0);
    ResidentRequests requests(*hosts_.world.nodes[leader_].memory);
    ResidentRows rows(*hosts_.world.nodes[leader_].memory, restored.service, requests);
    EXPECT_TRUE(rows.decode(shard(), bytes).ok());
    EXPECT_EQ(rows.applied(shard()), host().rows->applied(shard()));
    EXPECT_EQ(restored.service.locks.state_hash(shard()), tables().state_hash(shard()));
    return Status{};
  };
  EXPECT_TRUE(host().drain->while_settled(look).ok());
  host().deaf = false;
  EXPECT_TRUE(pass([&] { return answered(last); }));
  expect_sound();
}

// --- Failures

TEST_F(FollowedHosts, AStateThatDiffersFromTheDevicesStopsTheNode) {
  std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
  locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
  tables().apply(shard(),
                 host().rows->applied(shard()),
                 locks::make_register_session(SessionId{99}, 10'000),
                 Tick{1},
                 events);
  const std::uint64_t last = submit(acquire_by(1));
  EXPECT_TRUE(pass([&] { return !host().failure.ok(); }));
  EXPECT_EQ(host().failure.code(), StatusCode::Internal);
  EXPECT_EQ(host().failure.detail(), kDeviceFailed);
  EXPECT_NE(host().failure.message().find("disagree"), std::string::npos);
  EXPECT_FALSE(answered(last));
}

TEST_F(FollowedHosts, WhatNoDeviceSaysStopsTheNode) {
  EXPECT_TRUE(hosts_.world.nodes[leader_].turn->stop(0).ok());
  TurnReply reply;
  reply.shard = ShardId{kShards + 5};
  reply.verdict = TurnVerdict::Installed;
  reply.index = LogIndex{1};
  std::uint32_t words[netcore::kSlotWords];
  static_assert(sizeof words == sizeof reply);
  std::memcpy(words, &reply, sizeof words);
  const netcore::GpuChannelDevice& client = hosts_.world.nodes[leader_].memory->view().client;
  netcore::LaneSender to = netcore::open_sender(client, netcore::Band::Rpc, lane());
  const netcore::Reservation place = to.reserve(1);
  ASSERT_EQ(place.slot_count, 1u);
  to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
  netcore::close_sender(client, netcore::Band::Rpc, lane(), to);
  for (std::uint32_t k = 0; k < 2'000'000 && host().failure.ok(); ++k) {
    hosts_.listen(leader_);
    std::this_thread::yield();
  }
  EXPECT_EQ(host().failure.detail(), kDeviceFailed);
  EXPECT_NE(host().failure.message().find("a row that it cannot have"), std::string::npos);
}

TEST_F(FollowedHosts, AStateThatComesInPlaceOfASnapshotIsTheLoopsForGood) {
  hosts_.lock_and_unlock(2);
  const std::uint32_t away = (leader_ + 1) % kTurnNodes;
  Hosts::Host& late = hosts_.each[away];
  hosts_.world.paused = away;
  hosts_.turns(4000);
  hosts_.lock_and_unlock(100);  // More than a log page holds.
  hosts_.world.paused = kTurnNodes;
  EXPECT_TRUE(pass([&] { return !late.rows->wants().empty(); }));
  hosts_.refresh_states(away, 3000, 10);
  EXPECT_TRUE(late.rows->wants().empty());
  EXPECT_EQ(late.rows->counts().absent, 1u);
  const std::uint64_t followed = late.followers().counts().applied;
  hosts_.lock_and_unlock(3);
  EXPECT_TRUE(pass([&] { return late.rows->applied(shard()) == host().rows->applied(shard()); }));
  EXPECT_EQ(late.service.locks.state_hash(shard()), tables().state_hash(shard()));
  EXPECT_EQ(late.followers().counts().applied, followed);
  expect_sound();
}

}  // namespace
}  // namespace gcoord::server
