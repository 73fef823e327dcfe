// Reads of the past over logs that the test writes: what is shown, what is refused, what is
// bounded.
#include "server/reads/historical_reads.h"

#include "common/random.h"
#include "ledger/base/error_details.h"
#include "locks/commands/entry.h"
#include "locks/commands/move_command.h"
#include "protocol/error_codes.h"
#include "server/history/device_commands.h"
#include "server/history/past_state.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/replies.h"
#include "tests/server/watch/watch_world.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

constexpr std::uint32_t kShards = 4;
constexpr std::string_view kName = "job/a";

ShardId shard_of_name(std::string_view name) {
  return shard_of(hash_name(name), kShards);
}

class PastReadsTest : public testing::Test {
 protected:
  explicit PastReadsTest(const HistoricalReadsOptions& options = {.shard_count = kShards})
      : past_(std::make_unique<HistoricalReads>(options, parts())) {}

  HistoricalReads::Environment parts() {
    return {.replies = sink_,
            .metrics = metrics_,
            .applied =
                [this](ShardId shard) {
                  return LogIndex{std::min<std::uint64_t>(logs_[shard.value].size(), applied_)};
                },
            .leads = [this](ShardId) { return leads_; },
            .leader_hint = [](ShardId) { return NodeId{3}; },
            .confirm = [this](ShardId, std::uint64_t number) { asked_.push_back(number); },
            .history =
                [this](ShardId shard) {
                  ++looks_;
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
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LockGetAt;
    slot.request_id = id;
    slot.deadline_ms = deadline_ms;
    past_->on_request(protocol::ConnectionId{1},
                      slot,
                      protocol::encode_past_query({LogIndex{index}, kName}),
                      now_ms_);
  }

  // The engine's word on what it was asked to confirm.
  void confirm(const Status& status) {
    for (const std::uint64_t number : std::exchange(asked_, {})) {
      past_->on_confirmed(number, status, NodeId{3});
    }
  }

  // Turns until the reply to a request is there; the thread wakes the loop when there is news, and
  // a tick goes by before the first turn.
  WatchSink::Sent reply_to(std::uint64_t id) {
    now_ms_ += kPastLookMs;
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

  protocol::PastReply read(std::uint64_t index) {
    ask(++request_, index);
    const auto reply = reply_to(request_);
    EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
    const auto decoded = protocol::decode_past_reply(reply.payload);
    EXPECT_TRUE(decoded.ok());
    return decoded.ok() ? decoded.value() : protocol::PastReply{};
  }

  ErrorCode error(std::uint64_t index) {
    ask(++request_, index);
    confirm({});
    return static_cast<ErrorCode>(reply_to(request_).slot.detail);
  }

  std::vector<ShardLog> logs_{kShards};
  ShardId shard_ = shard_of_name(kName);
  locks::LockCpu locks_{locks::LockOptions{.shard_count = kShards}};
  MetricsRegistry metrics_;
  WatchSink sink_;
  std::atomic<std::uint64_t> hashed_{~std::uint64_t{0}};  // Entries that history has at most.
  std::atomic<std::uint64_t> first_{0};
  std::uint64_t applied_ = ~std::uint64_t{0};  // Of what is decided, at most.
  std::atomic<std::uint64_t> looks_{0};        // At history.
  std::vector<std::uint64_t> asked_;           // To be confirmed.
  bool leads_ = true;
  std::uint64_t now_ms_ = 1;
  std::uint64_t sequence_ = 0;
  std::uint64_t request_ = 100;
  std::mutex mutex_;  // Guards woken_.
  std::condition_variable wake_;
  std::uint64_t woken_ = 0;
  std::unique_ptr<HistoricalReads> past_;  // Ends first: its thread calls wake.
};

class PastOfALockTest : public PastReadsTest {
 protected:
  // The lock is taken, waited for, passed on and let go.
  PastOfALockTest() {
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
  }

  void keep() {
    const auto lock = locks_.get(shard_, hash_name(kName));
    shown_.push_back(lock ? std::optional{row_of(*lock)} : std::nullopt);
  }

  void expect_shown() {
    ASSERT_EQ(shown_.size(), logs_[shard_.value].size() + 1);
    ASSERT_FALSE(shown_.back().has_value()) << "the scenario ends with a free lock";
    for (std::uint64_t index = 0; index < shown_.size(); ++index) {
      const auto past = read(index);
      EXPECT_EQ(past.shard, shard_);
      EXPECT_EQ(past.index, LogIndex{index});
      ASSERT_EQ(past.present, shown_[index].has_value()) << index;
      if (past.present) {
        EXPECT_EQ(protocol::encode_lock_details(past.row),
                  protocol::encode_lock_details(*shown_[index]))
            << index;
      }
    }
  }

  std::vector<std::optional<protocol::LockRow>> shown_{std::nullopt};  // By index.
};

TEST_F(PastOfALockTest, R6ALockIsShownAsItWasAtEveryIndex) {
  expect_shown();
}

// A resident node's log from before its leaves were records, which it goes on with.
TEST_F(PastOfALockTest, R6EntriesOfADeviceWithRecordsBehindThemAreOneLog) {
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<std::byte>& leaf = logs_[shard_.value][k];
    const auto entries = locks::entries_of(locks::decode(record_body(leaf)).value());
    ASSERT_EQ(entries.size(), 1u);
    const auto bytes = std::as_bytes(std::span{entries});
    leaf.assign(bytes.begin(), bytes.end());
  }
  expect_shown();
}

// The log of a device: what has no room in an entry stands in pieces before it, of which those of
// an attempt that did not come in whole may be left.
TEST_F(PastReadsTest, R6EntriesOfADeviceAreAppliedAsItDid) {
  const std::string name(300, 'n');
  const ShardId shard = shard_of_name(name);
  ShardLog& log = logs_[shard.value];
  std::vector<std::optional<protocol::LockRow>> shown{std::nullopt};  // By index.
  const auto write = [&](const locks::LockEntry& entry) {
    const auto bytes = std::as_bytes(std::span{&entry, 1});
    log.emplace_back(bytes.begin(), bytes.end());
    const auto lock = locks_.get(shard, hash_name(name));
    shown.push_back(lock ? std::optional{row_of(*lock)} : std::nullopt);
  };
  const auto decide_there = [&](const locks::LockCommand& command) {
    const auto entries = locks::entries_of(command);
    for (std::size_t k = 0; k + 1 < entries.size(); ++k) {
      write(entries[k]);
    }
    std::vector<locks::LockEvent> ended(locks::kLockEventsPerCommandMax);
    locks::LockEvents events{ended.data(), static_cast<std::uint32_t>(ended.size()), 0};
    const auto reply = locks_.apply(shard, LogIndex{log.size() + 1}, command, Tick{1}, events);
    write(entries.back());
    return reply;
  };
  const auto acquire_there = [&](std::uint64_t session, std::uint64_t sequence) {
    return locks::make_acquire({.session = SessionId{session},
                                .sequence = RequestSequence{sequence},
                                .acked_below = RequestSequence{sequence},
                                .name = name,
                                .wait = true,
                                .ttl_ms = 1000});
  };
  log.emplace_back(kRecordHeaderBytes);  // The first entry of a term.
  shown.emplace_back();
  const auto torn = locks::entries_of(acquire_there(4, 1));
  write(torn.front());
  write(torn.back());  // Nothing: its pieces are not all there.
  const auto held = decide_there(acquire_there(5, 1));
  EXPECT_EQ(held.code, locks::LockCode::Granted);
  write(locks::barrier_entry());
  EXPECT_EQ(decide_there(acquire_there(6, 1)).code, locks::LockCode::Waiting);
  EXPECT_EQ(decide_there(locks::make_release({.session = SessionId{5},
                                              .sequence = RequestSequence{2},
                                              .acked_below = RequestSequence{2},
                                              .name_hash = hash_name(name),
                                              .token = held.token}))
                .code,
            locks::LockCode::Released);
  std::size_t free = 0;
  for (std::uint64_t index = 0; index < shown.size(); ++index) {
    PastState state;
    ASSERT_TRUE(state.advance(LogReader{log, log.size(), 0}, LogIndex{index}, index).ok());
    const auto lock = state.get(hash_name(name));
    ASSERT_EQ(lock.has_value(), shown[index].has_value()) << index;
    free += lock.has_value() ? 0 : 1;
    if (lock.has_value()) {
      protocol::LockRow row = row_of(*lock);
      row.shard = shard;  // The past has one only.
      EXPECT_EQ(protocol::encode_lock_details(row), protocol::encode_lock_details(*shown[index]))
          << index;
    }
  }
  EXPECT_GT(free, 4u) << "before it was granted";
}

// They say that more stands before them than ever does, or what no host writes.
TEST(DeviceCommands, R6EntriesThatCannotBeAreNothing) {
  DeviceCommands commands;
  locks::LockEntry entry;
  for (std::uint64_t k = 0; k < 2000; ++k) {
    entry.head = static_cast<std::uint32_t>(random64(9, k, 0));
    for (std::uint32_t word = 0; word < 6; ++word) {
      entry.word[word] = random64(9, k, 1 + word);
    }
    static_cast<void>(commands.take(LogIndex{k + 1}, std::as_bytes(std::span{&entry, 1})));
  }
  EXPECT_EQ(commands.take(LogIndex{2001}, {}), nullptr);
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

TEST_F(PastReadsTest, R6WhatANewLeaderHasNotAppliedYetIsNotTheFuture) {
  acquire(5);
  applied_ = 0;
  ask(1, 1);
  past_->advance(now_ms_);
  EXPECT_TRUE(sink_.sent[1].empty()) << "nothing is said before a quorum confirmed";
  applied_ = 1;
  confirm({});
  const auto reply = reply_to(1);
  EXPECT_EQ(reply.slot.code, StatusCode::Ok) << reply.slot.detail;
  EXPECT_TRUE(protocol::decode_past_reply(reply.payload).value().present);
}

TEST_F(PastReadsTest, R6ADeposedLeaderSaysWhoLeadsAndNothingOfTheFuture) {
  ask(1, 1);
  confirm(Status{StatusCode::Unavailable, "leadership ended", kLeadershipLost});
  const auto reply = reply_to(1);
  EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::NotLeader));
  EXPECT_EQ(reply.slot.leader, 3u);
  EXPECT_EQ(past_->job_count(), 0u);
}

TEST_F(PastReadsTest, R6AConfirmationThatComesTooLateAnswersNobody) {
  ask(1, 1, 50);
  now_ms_ += 50;
  EXPECT_EQ(reply_to(1).slot.detail, static_cast<std::uint32_t>(ErrorCode::DeadlineExceeded));
  EXPECT_EQ(past_->job_count(), 1u);
  confirm({});
  EXPECT_EQ(past_->job_count(), 0u);
  EXPECT_TRUE(sink_.sent[1].empty()) << "one answer and no more";
}

TEST_F(PastReadsTest, R6L19ALockThatHadMovedIsNotSaidToBeFree) {
  acquire(5);
  const ShardId to{(shard_.value + 1) % kShards};
  ASSERT_EQ(decide(locks::make_move_out(kName, to)).code, locks::LockCode::MovedOut);
  EXPECT_TRUE(read(1).present);
  ask(1, 2);
  const auto reply = reply_to(1);
  EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::LockMoved));
  EXPECT_EQ(reply.slot.extra, to.value);
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
  const std::uint64_t looks = looks_;
  for (int turn = 0; turn < 100; ++turn) {
    past_->advance(now_ms_);
  }
  EXPECT_LE(looks_, looks + 1) << "once a tick";
  EXPECT_EQ(past_->until_next_look_ms(), kPastLookMs);
  now_ms_ += kPastLookMs;
  past_->advance(now_ms_);
  EXPECT_LE(looks_, looks + 2);
  EXPECT_EQ(woken_, 0u) << "the thread has nothing to do with it yet";
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

// As history answers when the horizon passes between the look at it and the read.
class PrunedReader final : public ledger::TreeReader {
 public:
  std::uint64_t size() const override { return 1; }

  std::uint64_t first() const override { return 0; }

  Result<std::vector<ledger::MerkleHash>> hashes(std::uint32_t,
                                                 std::uint64_t,
                                                 std::size_t) const override {
    return Status{StatusCode::OutOfRange, "pruned", ledger::kLedgerPruned};
  }

  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t, std::size_t) const override {
    return Status{StatusCode::OutOfRange, "pruned", ledger::kLedgerPruned};
  }
};

TEST(PastStateTest, R6WhatIsPrunedUnderTheReaderIsCompactedToo) {
  PastState state;
  const Status status = state.advance(PrunedReader{}, LogIndex{1}, 1);
  EXPECT_EQ(status.detail(), static_cast<std::uint32_t>(ErrorCode::PastCompacted));
  EXPECT_EQ(state.index(), LogIndex{0});
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
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::LockGetAt;
  slot.request_id = 1;
  slot.set(protocol::RequestFlag::Quorum);
  past_->on_request(
      protocol::ConnectionId{1}, slot, protocol::encode_past_query({LogIndex{0}, kName}), now_ms_);
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

// Room for what tables begin with, and little more.
class SmallPastTest : public PastReadsTest {
 protected:
  SmallPastTest() : PastReadsTest({.shard_count = kShards, .bytes_max = bytes()}) {}

  static std::uint64_t bytes() {
    return locks::LockCpu{locks::LockOptions{.rows_initial = 64}}.usage().memory_bytes;
  }
};

TEST_F(SmallPastTest, R6MemoryPerRequestIsBoundedAndTheNextOneHasItsTurn) {
  constexpr std::uint64_t kLocks = 20'000;
  for (std::uint64_t k = 1; k <= kLocks; ++k) {
    acquire(5, std::string("other/") + std::to_string(k));
  }
  EXPECT_EQ(error(kLocks), ErrorCode::PastTooLong);
  EXPECT_EQ(error(1), ErrorCode::None);
}

TEST_F(PastReadsTest, R6WithoutAHistoryThePastIsNotServed) {
  acquire(5);
  HistoricalReads::Environment without = parts();
  without.history = nullptr;
  past_ = std::make_unique<HistoricalReads>(HistoricalReadsOptions{.shard_count = kShards},
                                            std::move(without));
  EXPECT_EQ(error(1), ErrorCode::PastUnsupported);
}

}  // namespace
}  // namespace gcoord::server
