// Lists of ends: the same as their ends one after another, and nothing else in the log.
#include "locks/commands/ends.h"

#include "tests/locks/lock_harness.h"
#include "tests/locks/lock_random.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace gcoord::locks {
namespace {

constexpr HoldOptions kRead{.flags = kHoldShared, .permits = 1};

std::vector<SessionEnd> ends_of(const LockHarness& shard, std::vector<std::uint64_t> sessions) {
  std::vector<SessionEnd> ends;
  for (const std::uint64_t session : sessions) {
    ends.push_back({SessionId{session}, shard.serial(session)});
  }
  return ends;
}

LockReply end_listed(LockHarness& shard, const std::vector<SessionEnd>& ends) {
  return shard.apply(make_expire_sessions(encode_ends(ends)));
}

// The same ends at one index of the log, each as a command of its own.
struct Alone {
  std::vector<LockEvent> events;
  bool more = false;
};

Alone end_alone(LockHarness& shard, const std::vector<SessionEnd>& ends) {
  Alone outcome;
  const LogIndex index = shard.last_index() + 1;
  std::vector<LockEvent> room(kLockEventsPerCommandMax);
  for (const SessionEnd& end : ends) {
    LockEvents events{room.data(), kLockEventsPerCommandMax, 0};
    const LockCommand command = make_expire_session(end.session, end.serial);
    const LockReply reply = shard.locks.apply(shard.shard, index, command, shard.now, events);
    outcome.more = outcome.more || reply.more;
    outcome.events.insert(outcome.events.end(), room.begin(), room.begin() + events.count);
  }
  shard.skip_to(index);
  return outcome;
}

void expect_same_events(const std::vector<LockEvent>& a, const std::vector<LockEvent>& b) {
  RC_ASSERT(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(a[i].code == b[i].code);
    RC_ASSERT(a[i].session == b[i].session);
    RC_ASSERT(a[i].sequence == b[i].sequence);
    RC_ASSERT(a[i].name == b[i].name);
    RC_ASSERT(a[i].token == b[i].token);
  }
}

void expect_same_state(const LockHarness& a, const LockHarness& b) {
  RC_ASSERT(a.locks.state_hash(ShardId{0}) == b.locks.state_hash(ShardId{0}));
  RC_ASSERT(a.locks.serialize(ShardId{0}) == b.locks.serialize(ShardId{0}));
  RC_ASSERT(a.locks.usage().waiters == b.locks.usage().waiters);
  RC_ASSERT(a.locks.clock().registration_count() == b.locks.clock().registration_count());
}

// Some of the six sessions, by the bits of `which`; every fourth under an older serial.
std::vector<SessionEnd> random_ends(const LockHarness& shard, std::uint32_t which) {
  std::vector<SessionEnd> ends;
  for (std::uint64_t session = 1; session <= 6; ++session) {
    if ((which >> session & 1) != 0) {
      const std::uint32_t odd = (which >> 7) % 4 == session % 4 ? 1 : 0;
      ends.push_back({SessionId{session}, shard.serial(session) + odd});
    }
  }
  return ends;
}

RC_GTEST_PROP(LockEnds, AListIsTheSameAsItsEndsInTheirOrder, ()) {
  const auto randoms =
      *rc::gen::resize(200, rc::gen::container<std::vector<RandomCommand>>(random_command()));
  LockHarness listed;
  LockHarness single{{.shard_count = 4, .rows_initial = 1, .index_seed = 9}};
  LockModel model;
  CommandSource source;
  for (const RandomCommand& random : randoms) {
    const LockCommand command = source.to_command(random, model);
    model.apply(command);
    const LockReply a = listed.apply(command);
    const LockReply b = single.apply(command);
    RC_ASSERT(a.code == b.code);
    expect_same_events(listed.events, single.events);
    const auto ends = random_ends(listed, *rc::gen::arbitrary<std::uint16_t>());
    if (random.kind % 8 == 0 && !ends.empty()) {
      const LockReply reply = end_listed(listed, ends);
      const Alone alone = end_alone(single, ends);
      RC_ASSERT(reply.code == LockCode::SessionsEnded);
      RC_ASSERT(reply.more == alone.more);
      expect_same_events(listed.events, alone.events);
      for (const SessionEnd& end : ends) {
        model.apply(make_expire_session(end.session, end.serial));
      }
    }
    expect_same_state(listed, single);
  }
}

TEST(LockEnds, WhatASnapshotAfterAListSaysIsWhatTheNextEntryFinds) {
  LockHarness shard;
  for (std::uint64_t session = 1; session <= 5; ++session) {
    shard.acquire(session, 1, "name" + std::to_string(session));
    shard.wait(session, 2, "name" + std::to_string(session % 5 + 1));
  }
  end_listed(shard, ends_of(shard, {1, 3}));
  LockHarness restored{{.shard_count = 4, .rows_initial = 1, .index_seed = 5}};
  ASSERT_TRUE(
      restored.locks.deserialize(ShardId{0}, shard.locks.serialize(ShardId{0}), Tick{1}).ok());
  restored.skip_to(shard.last_index());
  end_listed(shard, ends_of(shard, {2, 4, 5}));
  end_listed(restored, ends_of(restored, {2, 4, 5}));
  EXPECT_EQ(shard.locks.serialize(ShardId{0}), restored.locks.serialize(ShardId{0}));
  EXPECT_EQ(shard.locks.usage().locks, 0u);
  EXPECT_EQ(restored.locks.usage().sessions, 0u);
}

TEST(LockEnds, ALockPassesOverWhoEndsWithItsHolderOnlyIfThatComesFirst) {
  LockHarness shard;
  shard.acquire(2, 1, "a");
  shard.wait(1, 1, "a");
  shard.wait(3, 1, "a");
  shard.wait(4, 1, "a");
  // 1 waits no more when 2 lets go; 3 is granted the lock and loses it again.
  end_listed(shard, ends_of(shard, {1, 2, 3}));
  ASSERT_EQ(shard.events.size(), 3u);
  EXPECT_EQ(shard.events[0].code, LockCode::SessionExpired);
  EXPECT_EQ(shard.events[0].session, SessionId{1});
  EXPECT_EQ(shard.events[1].code, LockCode::Granted);
  EXPECT_EQ(shard.events[1].session, SessionId{3});
  EXPECT_EQ(shard.events[2].code, LockCode::Granted);
  EXPECT_EQ(shard.events[2].session, SessionId{4});
  EXPECT_GT(shard.events[2].token, shard.events[1].token);
}

TEST(LockEnds, ARegistrationThatCameLaterIsLeftAlone) {
  LockHarness shard;
  shard.acquire(1, 1, "a");
  shard.acquire(2, 1, "b");
  const auto ends = ends_of(shard, {1, 2});
  shard.close(1);
  shard.acquire(1, 2, "a");
  end_listed(shard, ends);
  EXPECT_TRUE(shard.locks.registered(ShardId{0}, SessionId{1}));
  EXPECT_FALSE(shard.locks.registered(ShardId{0}, SessionId{2}));
}

TEST(LockEnds, AnEndThatTakesSeveralStepsSaysThatMoreIsLeft) {
  LockHarness shard;
  for (std::uint64_t i = 1; i <= kReleasesPerCommandMax + 1; ++i) {
    shard.acquire(1, i, "name" + std::to_string(i), i);
  }
  shard.acquire(2, 1, "other");
  const auto ends = ends_of(shard, {1, 2});
  EXPECT_TRUE(end_listed(shard, ends).more);
  EXPECT_EQ(shard.locks.usage().locks, 1u);
  EXPECT_FALSE(end_listed(shard, ends).more);
  EXPECT_EQ(shard.locks.usage().sessions, 0u);
}

// Each of three sessions ends in as many events as one end may have.
TEST(LockEnds, AListGoesNoFurtherThanTheRoomForEvents) {
  LockHarness shard;
  std::uint64_t newest = 1000;
  for (std::uint64_t session = 1; session <= 3; ++session) {
    const std::string own = std::to_string(session);
    for (std::uint64_t i = 1; i <= kSessionRequestsMax; ++i) {
      const std::string name = own + "doc" + std::to_string(i);
      shard.hold(100 + session, i, name, kRead);
      ASSERT_EQ(shard.wait(session, i, name, 1).code, LockCode::Waiting);
      for (std::uint32_t reader = 0; reader < kHoldersMax - 1; ++reader) {
        ASSERT_EQ(shard.hold(++newest, 1, name, kRead).code, LockCode::Waiting);
      }
    }
    shard.acquire(session, kSessionRequestsMax + 1, own + "plain", kSessionRequestsMax + 1);
  }
  EXPECT_TRUE(end_listed(shard, ends_of(shard, {1, 2, 3})).more);
  EXPECT_EQ(shard.events.size(), 2 * std::size_t{kSessionRequestsMax} * kHoldersMax);
  EXPECT_FALSE(shard.locks.registered(ShardId{0}, SessionId{2}));
  EXPECT_TRUE(shard.locks.registered(ShardId{0}, SessionId{3}));
  EXPECT_FALSE(end_listed(shard, ends_of(shard, {3})).more);
  EXPECT_EQ(shard.locks.usage().waiters, 0u);
}

std::vector<std::byte> encoded(const std::vector<SessionEnd>& ends) {
  const std::vector<char> list = encode_ends(ends);
  std::vector<std::byte> bytes = {std::byte{17}, std::byte{0}};
  for (const char byte : list) {
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

std::vector<SessionEnd> many(std::uint32_t count) {
  std::vector<SessionEnd> ends;
  for (std::uint32_t i = 1; i <= count; ++i) {
    ends.push_back({SessionId{i}, i});
  }
  return ends;
}

TEST(LockEnds, TheLongestListFitsAnEntryAndComesBackAsItWas) {
  const auto ends = many(kEndsMax);
  const std::vector<char> list = encode_ends(ends);
  std::vector<std::byte> bytes;
  encode(make_expire_sessions(list), bytes);
  EXPECT_EQ(bytes, encoded(ends));
  EXPECT_LE(bytes.size() + 8, 2048u);  // With the record's header, in what an engine takes.
  const auto decoded = decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  ASSERT_EQ(ends_count(decoded.value()), kEndsMax);
  for (std::uint32_t i = 0; i < kEndsMax; ++i) {
    EXPECT_EQ(session_end(decoded.value(), i).session, ends[i].session);
    EXPECT_EQ(session_end(decoded.value(), i).serial, ends[i].serial);
  }
}

TEST(LockEnds, AMalformedListIsRefusedAndChangesNothing) {
  const SessionId keeper = kKeeperSession;
  std::vector<std::vector<std::byte>> bad = {encoded({}),
                                             encoded(many(kEndsMax + 1)),
                                             encoded({{SessionId{0}, 1}}),
                                             encoded({{SessionId{1}, 0}}),
                                             encoded({{keeper, 1}}),
                                             encoded({{SessionId{2}, 1}, {SessionId{1}, 1}}),
                                             encoded({{SessionId{1}, 1}, {SessionId{1}, 2}})};
  bad.push_back(encoded(many(2)));
  bad.back().pop_back();
  bad.push_back(encoded(many(2)));
  bad.back().push_back(std::byte{0});
  bad.push_back(encoded(many(2)));
  bad.back()[1] = std::byte{1};
  bad.push_back({std::byte{17}});
  LockHarness shard;
  shard.acquire(1, 1, "a");
  shard.acquire(2, 1, "b");
  const auto sessions = shard.locks.usage().sessions;
  for (std::size_t k = 0; k < bad.size(); ++k) {
    EXPECT_EQ(decode(bad[k]).status().code(), StatusCode::InvalidArgument) << k;
    EXPECT_EQ(shard.apply_bytes(bad[k]).code, LockCode::UnknownCommand) << k;
  }
  EXPECT_EQ(shard.locks.usage().sessions, sessions);
  EXPECT_EQ(shard.locks.unknown_command_count(), bad.size());
}

}  // namespace
}  // namespace gcoord::locks
