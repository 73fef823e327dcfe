// Holds that an operator breaks, as their sessions hear of it; breaking them; several locks at
// once.
#include "protocol/force_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <set>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

std::string bytes_text(const std::vector<std::byte>& bytes) {
  return std::string{protocol::text_of(bytes)};
}

class ForceTest : public ClientTest {
 protected:
  void SetUp() override {
    request_timeout_ = 1min;
    cluster_.answer_with([this](const FakeRequest& request) { return answer(request); });
  }

  std::optional<FakeReply> answer(const FakeRequest& request) {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::KeepAlive && broken_ &&
        request.slot.has(protocol::RequestFlag::TellBroken)) {
      const std::vector<protocol::KeepAliveEntry> entries = {
          {SessionId{41}, protocol::KeepAliveState::Broken, 0}};
      reply.payload = bytes_text(protocol::encode_keep_alive_reply(entries));
    } else if (request.slot.kind == RequestKind::SessionLosses) {
      const std::vector<protocol::LossEntry> losses = {
          {FencingToken{7}, LogIndex{12}, ShardId{3}, "name"}};
      reply.payload = bytes_text(protocol::encode_losses(losses));
    }
    return reply;
  }

  SessionOptions told() {
    return {.ttl = 9s,
            .on_event = [this](SessionEvent event) { events_.add(event); },
            .on_lost = [this](const LostLock& lost) { lost_.add(lost); }};
  }

  std::atomic<bool> broken_{false};
  Collected<LostLock> lost_;
  Collected<SessionEvent> events_;
};

TEST_F(ForceTest, L15ALostLockIsToldOnceWithTheNextKeepAliveAndIsNotValid) {
  Client client = connect();
  Session session = open(client, told());
  auto lock = session.acquire("name");
  auto other = session.acquire("other");
  ASSERT_TRUE(lock.ok() && other.ok());
  EXPECT_TRUE(lock.value().valid());
  broken_ = true;
  EXPECT_TRUE(session.renew().ok());
  const LostLock lost = lost_.wait_for(1)[0];
  EXPECT_EQ(lost.name, "name");
  EXPECT_EQ(lost.token, 7u);
  EXPECT_EQ(lost.shard, 3u);
  EXPECT_EQ(lost.broken_index, 12u);
  EXPECT_FALSE(lock.value().valid());
  EXPECT_EQ(lock.value().certain_until(), TimePoint{});
  EXPECT_TRUE(other.value().valid());
  EXPECT_TRUE(session.alive());
  EXPECT_TRUE(session.renew().ok());
  cluster_.wait_for(RequestKind::SessionLosses, 4);
  EXPECT_TRUE(session.renew().ok());  // A round trip behind the answers.
  EXPECT_EQ(lost_.count(), 1u);
  EXPECT_EQ(events_.count(), 0u);
}

TEST_F(ForceTest, L15AReleaseSaysThatTheHoldWasBroken) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool release = request.slot.kind == RequestKind::LockRelease;
    return release ? error_reply(request, ErrorCode::HoldBroken) : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client);
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(lock.value().release().detail(), static_cast<std::uint32_t>(ErrorCode::HoldBroken));
  EXPECT_FALSE(lock.value().valid());
  EXPECT_TRUE(
      cluster_.requests(RequestKind::LockRelease)[0].slot.has(protocol::RequestFlag::TellBroken));
}

// The first try broke it, and its answer was lost; whoever holds the lock by now keeps it.
TEST_F(ForceTest, L15ABreakThatIsSentAgainFindsItsWorkDone) {
  std::atomic<int> tries{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockBreak) {
      return friendly_reply(request);
    }
    FakeReply reply = error_reply(request, ErrorCode::TokenStale);
    reply.hang_up = ++tries == 1;
    return reply;
  });
  Client client = connect();
  const auto broken = client.break_lock("name", {.token = 7, .who = "ann", .reason = "it hangs"});
  ASSERT_TRUE(broken.ok()) << broken.status().to_string();
  EXPECT_EQ(broken.value().session_id, 0u);
  const auto sent = cluster_.requests(RequestKind::LockBreak);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].slot.token, sent[1].slot.token);
  EXPECT_EQ(client.break_lock("name", {.token = 7, .who = "ann", .reason = ""}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::BreakUnexplained));
}

TEST_F(ForceTest, L14ADelayGoesWithTheAcquireAndHasABound) {
  Client client = connect();
  Session session = open(client);
  auto lock = session.acquire("name", {.delay = 2500ms});
  ASSERT_TRUE(lock.ok());
  const auto sent = cluster_.requests(RequestKind::LockAcquireHold);
  ASSERT_EQ(sent.size(), 1u);
  const auto hold = protocol::decode_hold(protocol::bytes_of(sent[0].payload));
  ASSERT_TRUE(hold.ok());
  EXPECT_EQ(hold.value().delay_ms, 2500u);
  for (const std::chrono::milliseconds delay : {60'001ms, -1ms}) {
    EXPECT_EQ(session.acquire("name", {.delay = delay}).status().detail(),
              static_cast<std::uint32_t>(ErrorCode::DelayTooLong));
  }
}

class MultiLockTest : public ForceTest {
 protected:
  // Names in the order in which they were asked for.
  std::vector<std::string> acquired() const {
    std::vector<std::string> names;
    for (const FakeRequest& request : cluster_.requests(RequestKind::LockAcquire)) {
      names.push_back(request.payload);
    }
    return names;
  }
};

TEST_F(MultiLockTest, L9EverybodyLocksInTheSameOrder) {
  Client client = connect();
  Session session = open(client);
  auto some = session.acquire_all({"a", "b", "c", "d"});
  ASSERT_TRUE(some.ok()) << some.status().to_string();
  EXPECT_TRUE(some.value().valid());
  EXPECT_EQ(some.value().fence("b"), 7u);
  EXPECT_FALSE(some.value().fence("e").has_value());
  const auto first = acquired();
  EXPECT_TRUE(some.value().release().ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 4u);
  auto same = session.acquire_all_async({"d", "b", "a", "c"}).get();
  ASSERT_TRUE(same.ok());
  const auto both = acquired();
  ASSERT_EQ(both.size(), 8u);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin() + 4));
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 4u);
}

TEST_F(MultiLockTest, L9WhatWasTakenIsGivenBackWhenOneCannotBeHad) {
  std::atomic<int> grants{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool acquire = request.slot.kind == RequestKind::LockAcquire;
    return acquire && ++grants == 3 ? error_reply(request, ErrorCode::WaitTimedOut)
                                    : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client);
  const auto locks = session.acquire_all({"a", "b", "c", "d"}, {.wait = 3s});
  EXPECT_EQ(locks.status().detail(), static_cast<std::uint32_t>(ErrorCode::WaitTimedOut));
  const auto taken = acquired();
  const auto released = cluster_.requests(RequestKind::LockRelease);
  ASSERT_EQ(taken.size(), 3u);
  ASSERT_EQ(released.size(), 2u) << "before the caller was told";
  EXPECT_EQ(released[0].payload, taken[1]) << "the last one first";
  EXPECT_EQ(released[1].payload, taken[0]);
}

TEST_F(MultiLockTest, L9ItsNamesAreEachOneAndNotTooMany) {
  Client client = connect();
  Session session = open(client);
  const auto refused = static_cast<std::uint32_t>(ErrorCode::NamesInvalid);
  EXPECT_EQ(session.acquire_all({}).status().detail(), refused);
  EXPECT_EQ(session.acquire_all({"a", "b", "a"}).status().detail(), refused);
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= kMultiLockNamesMax; ++i) {
    many.push_back(std::to_string(i));
  }
  EXPECT_EQ(session.acquire_all(many).status().detail(), refused);
  EXPECT_TRUE(acquired().empty());
  EXPECT_EQ(session.acquire_all({"a", ""}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::NameEmpty));
}

}  // namespace
}  // namespace gcoord::client
