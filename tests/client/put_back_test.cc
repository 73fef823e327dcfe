// A cluster whose disks were all put back to an old copy: it answers as if nothing had been lost.
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/read_messages.h"
#include "tests/client/client_fixture.h"

#include <gmock/gmock.h>

#include <atomic>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using ::testing::HasSubstr;

constexpr std::uint32_t kDetailAnswerBehind = static_cast<std::uint32_t>(ErrorCode::AnswerBehind);

class PutBack : public ClientTest {
 protected:
  void SetUp() override {
    cluster_.answer_with([this](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.slot.kind == RequestKind::LockRead) {
        return read_reply(request);
      }
      FakeReply reply = friendly_reply(request);
      const bool writes = request.slot.kind == RequestKind::LockAcquire ||
                          request.slot.kind == RequestKind::LockRelease;
      if (writes) {
        reply.slot.set(protocol::ReplyFlag::Indexed);
        reply.slot.extra = ++index_;
      }
      return reply;
    });
  }

  FakeReply read_reply(const FakeRequest& request) {
    const auto read = protocol::decode_lock_read(protocol::bytes_of(request.payload)).value();
    protocol::LockReadReply told;
    told.question = read.question;
    told.shards.push_back({.shard = shard_of(hash_name("name"), 16), .index = LogIndex{index_}});
    told.names.push_back({.answered = true, .verdict = protocol::CheckVerdict::Valid});
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode_lock_read_reply(told));
    return reply;
  }

  std::atomic<std::uint64_t> first_id_{0};
  std::atomic<std::uint64_t> index_{40};  // Of the newest entry of every shard.
};

TEST_F(PutBack, AGrantBelowWhatThisClientHasSeenIsRefusedAndGivenBack) {
  Client client = connect();
  Session session = open(client);
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  ASSERT_TRUE(lock.value().release().ok());
  const std::size_t released = cluster_.requests(RequestKind::LockRelease).size();
  index_ = 12;
  const Status refused = session.acquire("name").status();
  EXPECT_EQ(refused.detail(), kDetailAnswerBehind) << refused.to_string();
  EXPECT_EQ(refused.code(), StatusCode::DataLoss);
  EXPECT_THAT(refused.message(), HasSubstr("answers from index 13, this client has seen 42"));
  cluster_.wait_for(RequestKind::LockRelease, released + 1);
  index_ = 50;
  EXPECT_TRUE(session.acquire("name").ok()) << "the lock is given where the log is ahead";
}

TEST_F(PutBack, AReleaseBelowIsRefusedToo) {
  Client client = connect();
  Session session = open(client);
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  index_ = 12;
  EXPECT_EQ(lock.value().release().detail(), kDetailAnswerBehind);
}

TEST_F(PutBack, AReadOfALeaderBelowIsRefusedAndOneOfAnyPastIsNot) {
  Client client = connect();
  ASSERT_TRUE(client.read_check("name", 7, {.consistency = Consistency::Lease}).ok());
  index_ = 12;
  for (const Consistency consistency : {Consistency::Lease, Consistency::Linearizable}) {
    const Status refused = client.read_check("name", 7, {.consistency = consistency}).status();
    EXPECT_EQ(refused.detail(), kDetailAnswerBehind) << refused.to_string();
  }
  EXPECT_TRUE(client.read_check("name", 7, {.consistency = Consistency::Serializable}).ok());
}

// docs/adr/0084: what a client saw is its own, and ends with it.
TEST_F(PutBack, ANewClientTakesTheClusterAsItIs) {
  {
    Client before = connect();
    Session session = open(before);
    auto lock = session.acquire("name");
    ASSERT_TRUE(lock.ok());
    ASSERT_TRUE(lock.value().release().ok());
    index_ = 12;
    EXPECT_EQ(session.acquire("name").status().detail(), kDetailAnswerBehind);
  }
  Client after = connect();
  Session session = open(after);
  EXPECT_TRUE(session.acquire("name").ok());
}

// A write that was under way while a later one was answered is decided below that one, and sound.
TEST_F(PutBack, WhatWasAskedBeforeALaterAnswerMayBeDecidedBelowIt) {
  FakeCluster alone{1};
  std::atomic<int> asked{0};
  alone.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind != RequestKind::LockAcquire) {
      return reply;
    }
    if (asked++ == 0) {
      return std::nullopt;  // It is answered behind the second one.
    }
    FakeReply first = reply;
    reply.slot.set(protocol::ReplyFlag::Indexed);
    reply.slot.extra = 42;
    first.slot = reply.slot;
    first.slot.extra = 41;
    first.slot.request_id = first_id_;
    reply.then.push_back(first);
    return reply;
  });
  ClientOptions there = options();
  there.endpoints = alone.endpoints();
  Client client = Client::connect(there).value();
  Session session = open(client);
  Collected<Status> ended;
  const auto grant = [&](const Result<Grant>& granted) { ended.add(granted.status()); };
  session.acquire_async("name", {}, grant);
  first_id_ = alone.wait_for(RequestKind::LockAcquire, 1)[0].slot.request_id;
  session.acquire_async("name", {}, grant);
  for (const Status& status : ended.wait_for(2)) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

}  // namespace
}  // namespace gcoord::client
