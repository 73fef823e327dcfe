// Reads of the past over logs that the test writes: what is shown, what is refused, what is
// bounded.
#include "server/past_reads.h"

#include "rpc/error_codes.h"
#include "server/lock_replies.h"
#include "tests/server/watch_world.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace gcoord::server {
namespace {

using rpc::ErrorCode;

constexpr std::uint32_t kShards = 4;
constexpr std::string_view kName = "job/a";

ShardId shard_of_name(std::string_view name) {
  return shard_of(hash_name(name), kShards);
}

class PastReadsTest : public testing::Test {
 protected:
  explicit PastReadsTest(const PastReadsOptions& options = {.shard_count = kShards})
      : past_(std::make_unique<PastReads>(options, parts())) {}

  PastReads::Parts parts() {
    return {.replies = sink_,
            .metrics = metrics_,
            .applied = [this](ShardId shard) { return LogIndex{logs_[shard.value].size()}; },
            .leads = [this](ShardId) { return leads_; },
            .leader_hint = [](ShardId) { return NodeId{3}; },
            .history =
                [this](ShardId shard) {
                  const std::uint64_t size = logs_[shard.value].size();
                  return std::make_shared<LogReader>(
                      logs_[shard.value], std::min<std::uint64_t>(size, hashed_), first_);
                },
            .wake =
                [this] {
                  const std::lock_guard lock(mutex_);
                  ++woken_;
                  wake_.notify_all();
                }};
  }

  // A command becomes the next entry of the name's shard, and of the locks that the test keeps.
  locks::LockReply decide(const locks::LockCommand& command) {
    ShardLog& log = logs_[shard_.value];
    append(log, command);
    std::vector<locks::LockEvent> ended(locks::kLockEventsPerCommandMax);
    locks::LockEvents events{ended.data(), static_cast<std::uint32_t>(ended.size()), 0};
    return locks_.apply(shard_, LogIndex{log.size()}, command, Tick{1}, events);
  }

  locks::LockReply acquire(std::uint64_t session, std::string_view name = kName) {
    return decide(locks::make_acquire({.session = SessionId{session},
                                       .sequence = RequestSequence{++sequence_},
                                       .acked_below = RequestSequence{sequence_},
                                       .name = name,
                                       .wait = true,
                                       .ttl_ms = 1000}));
  }

  locks::LockReply release(std::uint64_t session, FencingToken token) {
    return decide(locks::make_release({.session = SessionId{session},
                                       .sequence = RequestSequence{++sequence_},
                                       .acked_below = RequestSequence{sequence_},
                                       .name_hash = hash_name(kName),
                                       .token = token}));
  }

  void ask(std::uint64_t id, std::uint64_t index, std::uint32_t deadline_ms = 0) {
    rpc::RequestSlot slot;
    slot.kind = rpc::RequestKind::LockGetAt;
    slot.request_id = id;
    slot.deadline_ms = deadline_ms;
    past_->on_request(
        ConnectionId{1}, slot, rpc::encode_past_query({LogIndex{index}, kName}), now_ms_);
  }

  // Turns until the reply to a request is there; the thread wakes the loop when there is news.
  WatchSink::Sent reply_to(std::uint64_t id) {
    while (true) {
      std::uint64_t seen = 0;
      {
        const std::lock_guard lock(mutex_);
        seen = woken_;
      }
      past_->advance(now_ms_);
      auto& sent = sink_.sent[1];
      const auto found = std::ranges::find(
          sent, id, [](const WatchSink::Sent& each) { return each.slot.request_id; });
      if (found != sent.end()) {
        WatchSink::Sent reply = *found;
        sent.erase(found);
        return reply;
      }
      std::unique_lock lock(mutex_);
      if (!wake_.wait_for(lock, std::chrono::seconds(60), [&] { return woken_ != seen; })) {
        ADD_FAILURE() << "no reply to request " << id;
        return {};
      }
    }
  }

  rpc::PastReply read(std::uint64_t index) {
    ask(++request_, index);
    const auto reply = reply_to(request_);
    EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
    const auto decoded = rpc::decode_past_reply(reply.payload);
    EXPECT_TRUE(decoded.ok());
    return decoded.ok() ? decoded.value() : rpc::PastReply{};
  }

  ErrorCode error(std::uint64_t index) {
    ask(++request_, index);
    return static_cast<ErrorCode>(reply_to(request_).slot.detail);
  }

  std::vector<ShardLog> logs_{kShards};
  ShardId shard_ = shard_of_name(kName);
  locks::LockCpu locks_{locks::LockOptions{.shard_count = kShards}};
  MetricsRegistry metrics_;
  WatchSink sink_;
  std::atomic<std::uint64_t> hashed_{~std::uint64_t{0}};  // Entries that history has at most.
  std::atomic<std::uint64_t> first_{0};
  bool leads_ = true;
  std::uint64_t now_ms_ = 1;
  std::uint64_t sequence_ = 0;
  std::uint64_t request_ = 100;
  std::mutex mutex_;  // Guards woken_.
  std::condition_variable wake_;
  std::uint64_t woken_ = 0;
  std::unique_ptr<PastReads> past_;  // Ends first: its thread calls wake.
};

TEST_F(PastReadsTest, R6ALockIsShownAsItWasAtEveryIndex) {
  std::vector<std::optional<rpc::LockRow>> shown{std::nullopt};  // By index.
  const auto keep = [&] {
    const auto lock = locks_.get(shard_, hash_name(kName));
    shown.push_back(lock ? std::optional{row_of(*lock)} : std::nullopt);
  };
  const auto first = acquire(5);
  keep();
  acquire(6);  // Waits.
  keep();
  release(5, first.token);  // Passes on.
  keep();
  acquire(7);
  keep();
  decide(locks::make_expire_session(SessionId{6}, 2));
  keep();
  decide(locks::make_expire_session(SessionId{7}, 3));
  keep();
  ASSERT_EQ(shown.size(), logs_[shard_.value].size() + 1);
  ASSERT_FALSE(shown.back().has_value()) << "the scenario ends with a free lock";
  for (std::uint64_t index = 0; index < shown.size(); ++index) {
    const auto past = read(index);
    EXPECT_EQ(past.shard, shard_);
    EXPECT_EQ(past.index, LogIndex{index});
    ASSERT_EQ(past.present, shown[index].has_value()) << index;
    if (past.present) {
      EXPECT_EQ(rpc::encode_lock_details(past.row), rpc::encode_lock_details(*shown[index]))
          << index;
    }
  }
}

TEST_F(PastReadsTest, R6CompactedAndFutureAreToldApart) {
  acquire(5);
  acquire(6);
  EXPECT_EQ(error(3), ErrorCode::PastFuture);
  EXPECT_EQ(error(~std::uint64_t{0}), ErrorCode::PastFuture);
  first_ = 1;
  EXPECT_EQ(error(2), ErrorCode::PastCompacted);
  EXPECT_EQ(error(3), ErrorCode::PastFuture);
}

TEST_F(PastReadsTest, R6WhoHasNotComeThereAndDoesNotLeadNamesWhoDoes) {
  acquire(5);
  leads_ = false;
  ask(1, 2);
  const auto reply = reply_to(1);
  EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::NotLeader));
  EXPECT_EQ(reply.slot.leader, 3u);
  EXPECT_TRUE(read(1).present) << "what it has, it shows, whoever leads";
}

TEST_F(PastReadsTest, R6AShardThatARestoreBeganHasNoPastOfItsOwn) {
  ShardLog& log = logs_[shard_.value];
  std::vector<std::byte> restore;
  put_record_header(restore, {RecordKind::Restore});
  log.push_back(restore);
  EXPECT_EQ(error(1), ErrorCode::PastCompacted);
}

TEST_F(PastReadsTest, R6WhatIsOnItsWayToHistoryIsWaitedFor) {
  acquire(5);
  acquire(6);
  hashed_ = 1;
  ask(1, 2);
  std::uint64_t woken = 0;
  while (woken < 3) {  // It looked more than once, and had nothing to say.
    past_->advance(now_ms_);
    const std::lock_guard lock(mutex_);
    woken = woken_;
  }
  EXPECT_TRUE(sink_.sent[1].empty());
  hashed_ = 2;
  EXPECT_EQ(reply_to(1).slot.code, StatusCode::Ok);
  EXPECT_EQ(past_->job_count(), 0u);
}

TEST_F(PastReadsTest, R6WhatIsPrunedMeanwhileIsCompacted) {
  acquire(5);
  hashed_ = 0;
  ask(1, 1);
  first_ = 1;
  hashed_ = 1;
  EXPECT_EQ(reply_to(1).slot.detail, static_cast<std::uint32_t>(ErrorCode::PastCompacted));
}

TEST_F(PastReadsTest, R6WhoWaitsNoLongerIsToldSoAndItsJobIsDropped) {
  acquire(5);
  hashed_ = 0;
  ask(1, 1, 50);
  now_ms_ += 50;
  EXPECT_EQ(reply_to(1).slot.detail, static_cast<std::uint32_t>(ErrorCode::DeadlineExceeded));
  while (past_->job_count() != 0) {
    past_->advance(now_ms_);
  }
  EXPECT_TRUE(sink_.sent[1].empty()) << "one answer and no more";
}

TEST_F(PastReadsTest, AFlagThatMeansNothingHereIsRefused) {
  rpc::RequestSlot slot;
  slot.kind = rpc::RequestKind::LockGetAt;
  slot.request_id = 1;
  slot.set(rpc::RequestFlag::Quorum);
  past_->on_request(ConnectionId{1}, slot, rpc::encode_past_query({LogIndex{0}, kName}), now_ms_);
  EXPECT_EQ(reply_to(1).slot.detail, static_cast<std::uint32_t>(ErrorCode::SlotInvalid));
}

class BoundedPastTest : public PastReadsTest {
 protected:
  BoundedPastTest() : PastReadsTest({.shard_count = kShards, .entries_max = 2, .jobs_max = 2}) {}
};

TEST_F(BoundedPastTest, R6WorkPerRequestIsBoundedAndHasACodeOfItsOwn) {
  acquire(5);
  acquire(6);
  acquire(7);
  EXPECT_TRUE(read(2).present);
  EXPECT_EQ(error(3), ErrorCode::PastTooLong);
}

TEST_F(BoundedPastTest, R6JobsAtOnceAreBounded) {
  acquire(5);
  hashed_ = 0;
  ask(1, 1);
  ask(2, 1);
  ask(3, 1);
  EXPECT_EQ(reply_to(3).slot.detail, static_cast<std::uint32_t>(ErrorCode::Overloaded));
  hashed_ = 1;
  EXPECT_EQ(reply_to(1).slot.code, StatusCode::Ok);
  EXPECT_EQ(reply_to(2).slot.code, StatusCode::Ok);
  EXPECT_EQ(error(1), ErrorCode::None);
}

// A node whose log is a device's.
TEST_F(PastReadsTest, R6WithoutAHistoryOfTheHostsFormThePastIsNotServed) {
  acquire(5);
  PastReads::Parts without = parts();
  without.history = nullptr;
  past_ = std::make_unique<PastReads>(PastReadsOptions{.shard_count = kShards}, std::move(without));
  EXPECT_EQ(error(1), ErrorCode::PastUnsupported);
}

}  // namespace
}  // namespace gcoord::server
