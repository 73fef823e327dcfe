// The desk alone: what is sent to whom, what is refused, and who is left behind.
#include "server/watch/hub.h"

#include "locks/commands/entry.h"
#include "protocol/error_codes.h"
#include "tests/server/watch/watch_world.h"

#include <algorithm>
#include <set>
#include <string>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::ShardRevision;
using protocol::WatchBlock;
using protocol::WatchEventKind;
using protocol::WatchQuery;
using protocol::WatchTarget;

constexpr std::uint32_t kShards = 4;

std::uint32_t shard_of_name(std::string_view name) {
  return shard_of(hash_name(name), kShards).value;
}

class WatchDeskTest : public testing::Test {
 protected:
  explicit WatchDeskTest(WatchHubOptions options = {}) : node_(logs_, options) {}

  // Appends and applies; the shard's applied index.
  std::uint64_t decide(std::uint32_t shard, const locks::LockCommand& command) {
    append(logs_[shard], command);
    node_.apply(shard);
    return node_.applied(shard);
  }

  std::uint64_t acquire(const std::string& name, std::uint64_t session = 5) {
    return decide(shard_of_name(name),
                  locks::make_acquire({.session = SessionId{session},
                                       .sequence = RequestSequence{++sequence_},
                                       .acked_below = RequestSequence{sequence_},
                                       .name = name,
                                       .wait = true,
                                       .ttl_ms = 1000}));
  }

  std::uint64_t release(const std::string& name, std::uint64_t session = 5) {
    const auto lock = node_.locks().get(ShardId{shard_of_name(name)}, hash_name(name));
    return decide(shard_of_name(name),
                  locks::make_release({.session = SessionId{session},
                                       .sequence = RequestSequence{++sequence_},
                                       .acked_below = RequestSequence{sequence_},
                                       .name_hash = hash_name(name),
                                       .token = lock->token}));
  }

  void churn(const std::string& name, int times) {
    for (int k = 0; k < times; ++k) {
      acquire(name);
      release(name);
      node_.turn();
    }
  }

  // Everything that a connection was sent since the last time.
  struct Heard {
    std::vector<WatchBlock> blocks;
    std::vector<ShardRevision> progress;
    std::vector<std::uint32_t> errors;
    protocol::ReplySlot last;
  };

  Heard hear(std::uint64_t connection) {
    Heard heard;
    for (const auto& each : node_.sink.sent[connection]) {
      heard.last = each.slot;
      if (each.slot.code != StatusCode::Ok) {
        heard.errors.push_back(each.slot.detail);
      } else if (each.slot.kind == protocol::RequestKind::WatchOpen) {
        const auto message = protocol::decode_watch_message(each.payload).value();
        heard.blocks.insert(heard.blocks.end(), message.blocks.begin(), message.blocks.end());
        heard.progress.insert(heard.progress.end(),
                              message.progress.revisions.begin(),
                              message.progress.revisions.end());
      }
    }
    node_.sink.sent[connection].clear();
    return heard;
  }

  static std::vector<std::uint32_t> code(ErrorCode error) {
    return {static_cast<std::uint32_t>(error)};
  }

  std::vector<ShardLog> logs_{kShards};
  WatchNode node_;
  std::uint64_t sequence_ = 0;
};

TEST_F(WatchDeskTest, NothingIsRecordedWhileNobodyWatches) {
  EXPECT_FALSE(node_.desk().on());
  acquire("a");
  node_.open(1, 1, {.text = "a"});
  EXPECT_TRUE(node_.desk().on());
  release("a");
  node_.turn();
  ASSERT_EQ(hear(1).blocks.size(), 1u);
  node_.sink.gone.insert(1);
  node_.desk().on_sweep(node_.now_ms, true);
  EXPECT_EQ(node_.desk().watch_count(), 0u);
  EXPECT_TRUE(node_.desk().on());  // Who comes back soon finds the past.
  node_.now_ms += kWatchMemoryMs + 1;
  node_.desk().on_sweep(node_.now_ms, true);
  EXPECT_FALSE(node_.desk().on());
  EXPECT_EQ(node_.desk().recorded_bytes(), 0u);
}

TEST_F(WatchDeskTest, APeerThatHasWatchesMakesThisNodeRecord) {
  node_.open(1, 1, {.text = "a"});
  node_.desk().on_sweep(node_.now_ms, true);
  EXPECT_EQ(node_.told, std::vector{kWatchNewsKind});
  std::vector<ShardLog> logs(kShards);
  WatchNode peer(logs, {});
  EXPECT_FALSE(peer.desk().on_peer_message(NodeId{1}, std::array{std::byte{31}}));
  EXPECT_FALSE(peer.desk().on());
  EXPECT_TRUE(peer.desk().on_peer_message(NodeId{1}, node_.told));
  EXPECT_TRUE(peer.desk().on());
}

TEST_F(WatchDeskTest, ANamesWatchersHearOfItAndNoOthers) {
  node_.open(1, 1, {.text = "a"});
  node_.open(2, 1, {.text = "b"});
  node_.open(3, 1, {.target = WatchTarget::Prefix, .text = "a"});
  node_.open(4, 1, {.target = WatchTarget::Session, .session = SessionId{5}});
  for (std::uint64_t connection = 1; connection <= 4; ++connection) {
    hear(connection);
  }
  const std::uint64_t revision = acquire("a");
  acquire("ab", 6);
  node_.turn();
  const auto first = hear(1).blocks;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].revision.value, revision);
  EXPECT_EQ(first[0].shard.value, shard_of_name("a"));
  EXPECT_EQ(first[0].events[0].kind, WatchEventKind::Granted);
  EXPECT_TRUE(hear(2).blocks.empty());
  EXPECT_EQ(hear(3).blocks.size(), 2u);
  EXPECT_EQ(hear(4).blocks, first);
}

TEST_F(WatchDeskTest, TheFirstAnswerSaysWhereNowIs) {
  const std::uint64_t revision = acquire("a");
  node_.open(1, 7, {.text = "a"});
  const auto heard = hear(1);
  EXPECT_EQ(heard.progress,
            (std::vector{ShardRevision{ShardId{shard_of_name("a")}, LogIndex{revision}}}));
  EXPECT_EQ(heard.last.request_id, 7u);
  EXPECT_EQ(node_.sink.parked[1], 1);
  node_.open(2, 7, {.target = WatchTarget::Prefix});
  EXPECT_EQ(hear(2).progress.size(), kShards);
}

TEST_F(WatchDeskTest, WaitersAreToldToWhoAsks) {
  node_.open(1, 1, {.text = "a"});
  node_.open(2, 1, {.text = "a"}, true);
  acquire("a");
  acquire("a", 6);
  node_.turn();
  EXPECT_EQ(hear(1).blocks.size(), 1u);
  EXPECT_EQ(hear(2).blocks.size(), 2u);
}

// Kinds of what a connection was told since the last time.
std::vector<WatchEventKind> kinds_of(const std::vector<WatchBlock>& blocks) {
  std::vector<WatchEventKind> kinds;
  for (const WatchBlock& block : blocks) {
    for (const protocol::WatchEvent& event : block.events) {
      kinds.push_back(event.kind);
    }
  }
  return kinds;
}

TEST_F(WatchDeskTest, W2OnlyEventsOfTheWantedKindsAreSent) {
  using enum WatchEventKind;
  const auto released = protocol::watch_kind_bit(Released);
  const auto waiting = protocol::watch_kind_bit(Waiting);
  node_.open(1, 1, {.text = "a", .kinds = released});
  node_.open(2, 1, {.target = WatchTarget::Prefix, .kinds = waiting});
  node_.open(3, 1, {.text = "a", .kinds = waiting}, false, true);
  node_.open(4, 1, {.text = "a", .kinds = released}, true);  // Whatever the flag says.
  node_.open(5, 1, {.target = WatchTarget::Session, .session = SessionId{5}, .kinds = released});
  for (std::uint64_t connection = 1; connection <= 5; ++connection) {
    hear(connection);
  }
  acquire("a");
  acquire("a", 6);
  node_.turn();
  for (const std::uint64_t connection : {1, 4, 5}) {
    EXPECT_TRUE(node_.sink.sent[connection].empty()) << connection << " was sent nothing at all";
  }
  const std::uint64_t revision = release("a");
  node_.turn();
  EXPECT_EQ(kinds_of(hear(2).blocks), std::vector{Waiting});
  EXPECT_EQ(kinds_of(hear(3).blocks), std::vector{Waiting});
  for (const std::uint64_t connection : {1, 4, 5}) {
    const auto blocks = hear(connection).blocks;
    EXPECT_EQ(kinds_of(blocks), std::vector{Released}) << connection;
    ASSERT_EQ(blocks.size(), 1u);
    EXPECT_EQ(blocks[0].revision.value, revision);
  }
}

// From the ring and from history, and progress is told beyond what was left out.
TEST_F(WatchDeskTest, W2KindsHoldForThePastToo) {
  churn("a", 2);
  node_.open(1, 1, {.text = "b"});  // Recording begins.
  churn("a", 2);
  acquire("a");
  const auto released = protocol::watch_kind_bit(WatchEventKind::Released);
  const ShardId shard{shard_of_name("a")};
  node_.open(2, 1, {.text = "a", .kinds = released, .from = {{shard, LogIndex{1}}}});
  node_.settle();
  const auto all = hear(2).blocks;
  EXPECT_EQ(kinds_of(all), (std::vector<WatchEventKind>(4, WatchEventKind::Released)));
  EXPECT_EQ(all.back().revision.value, 8u);
  protocol::RequestSlot ask;
  ask.kind = protocol::RequestKind::WatchProgress;
  ask.request_id = 2;
  ask.sequence = 1;
  node_.request(2, ask);
  EXPECT_EQ(hear(2).progress, (std::vector{ShardRevision{shard, LogIndex{9}}}));
}

TEST_F(WatchDeskTest, ThePastComesFromTheRingAndBehindItFromHistory) {
  acquire("a");
  release("a");
  node_.open(1, 1, {.text = "b"});  // Recording begins.
  acquire("a");
  release("a");
  node_.turn();
  const ShardId shard{shard_of_name("a")};
  node_.open(2, 1, {.text = "a", .from = {{shard, LogIndex{3}}}});
  node_.turn();
  EXPECT_EQ(hear(2).blocks.size(), 2u);
  node_.open(3, 1, {.text = "a", .from = {{shard, LogIndex{1}}}});
  node_.settle();
  const auto all = hear(3).blocks;
  ASSERT_EQ(all.size(), 4u);
  for (std::uint64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(all[k].revision.value, k + 1);
  }
  churn("a", 1);
  EXPECT_EQ(hear(2).blocks.size(), 2u);
  EXPECT_EQ(hear(3).blocks.size(), 2u);
}

// A resident node's log from before its leaves were records, which it goes on with.
TEST_F(WatchDeskTest, W1ThePastOfADevicesLogComesFromHistoryToo) {
  acquire("a");
  release("a");
  const ShardId shard{shard_of_name("a")};
  for (std::vector<std::byte>& leaf : logs_[shard.value]) {
    const auto entries = locks::entries_of(locks::decode(record_body(leaf)).value());
    ASSERT_EQ(entries.size(), 1u);
    const auto bytes = std::as_bytes(std::span{entries});
    leaf.assign(bytes.begin(), bytes.end());
  }
  acquire("a");
  node_.open(1, 1, {.text = "b"});  // Recording begins.
  release("a");
  node_.open(2, 1, {.text = "a", .from = {{shard, LogIndex{1}}}});
  node_.settle();
  const auto all = hear(2).blocks;
  ASSERT_EQ(all.size(), 4u);
  for (std::uint64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(all[k].revision.value, k + 1);
    ASSERT_EQ(all[k].events.size(), 1u);
    EXPECT_EQ(all[k].events[0].kind,
              k % 2 == 0 ? WatchEventKind::Granted : WatchEventKind::Released);
  }
}

TEST_F(WatchDeskTest, WhatIsPrunedIsRefusedWithTheFirstRevisionThatThereIs) {
  acquire("a");
  release("a");
  node_.history_first = 1;
  const ShardId shard{shard_of_name("a")};
  node_.open(1, 1, {.text = "a", .from = {{shard, LogIndex{1}}}});
  const auto heard = hear(1);
  EXPECT_EQ(heard.errors, code(ErrorCode::WatchCompacted));
  EXPECT_EQ(heard.last.extra, 3u);
  EXPECT_EQ(heard.last.shard, shard.value);
  EXPECT_EQ(node_.desk().watch_count(), 0u);
  EXPECT_EQ(node_.sink.parked[1], 0);
}

TEST_F(WatchDeskTest, WhoHasSeenMoreThanThisNodeIsToldNothingTwice) {
  churn("a", 2);
  const ShardId shard{shard_of_name("a")};
  node_.open(1, 1, {.text = "a", .from = {{shard, LogIndex{7}}}});
  churn("a", 2);
  const auto heard = hear(1).blocks;
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].revision.value, 7u);
}

TEST_F(WatchDeskTest, ProgressIsToldOnDemandAndAtItsIntervalAfterTheEvents) {
  node_.turn();
  node_.open(1, 1, {.text = "b"});
  node_.turn();  // Now the desk knows the time.
  node_.open(1, 2, {.text = "a", .progress_ms = 1000});
  hear(1);
  const std::uint64_t revision = acquire("a");
  protocol::RequestSlot ask;
  ask.kind = protocol::RequestKind::WatchProgress;
  ask.request_id = 3;
  ask.sequence = 2;
  node_.request(1, ask);
  const auto heard = hear(1);
  EXPECT_EQ(heard.blocks.size(), 1u);
  ASSERT_EQ(heard.progress.size(), 1u);
  EXPECT_EQ(heard.progress[0].revision.value, revision);
  node_.desk().on_sweep(node_.now_ms + 999, true);
  EXPECT_TRUE(hear(1).progress.empty());
  node_.desk().on_sweep(node_.now_ms + 1000, true);
  EXPECT_EQ(hear(1).progress.size(), 1u);
}

// The events of this very turn do not get to a connection that is full, nor does what comes behind.
TEST_F(WatchDeskTest, ProgressThatIsAskedForOverAFullConnectionComesWhenThereIsRoom) {
  node_.open(1, 1, {.text = "a"});
  node_.sink.full.insert(1);
  acquire("a");
  protocol::RequestSlot ask;
  ask.kind = protocol::RequestKind::WatchProgress;
  ask.request_id = 2;
  ask.sequence = 1;
  node_.request(1, ask);
  node_.sink.full.clear();
  node_.settle();
  const Heard heard = hear(1);
  ASSERT_EQ(heard.blocks.size(), 1u);
  EXPECT_EQ(heard.progress.back().revision, heard.blocks[0].revision);
}

TEST_F(WatchDeskTest, W5AThousandWatchesOfOneNameAreEachToldOfEachChangeOnce) {
  constexpr std::uint64_t kEach = 1000;
  for (const std::uint64_t connection : {1u, 2u}) {
    for (std::uint64_t k = 1; k <= kEach; ++k) {
      node_.open(connection, k, {.text = "a"});
    }
    hear(connection);
  }
  const std::uint64_t revision = acquire("a");
  node_.settle();
  for (const std::uint64_t connection : {1u, 2u}) {
    std::set<std::uint64_t> told;
    for (const auto& each : node_.sink.sent[connection]) {
      EXPECT_TRUE(told.insert(each.slot.request_id).second);
    }
    EXPECT_EQ(told.size(), kEach);
    const auto blocks = hear(connection).blocks;
    ASSERT_EQ(blocks.size(), kEach);
    EXPECT_EQ(blocks.front().revision.value, revision);
    EXPECT_EQ(blocks.front(), blocks.back());
  }
  node_.sink.gone.insert(1);
  node_.desk().on_sweep(node_.now_ms, true);
  node_.settle();
  EXPECT_EQ(node_.desk().watch_count(), kEach);
}

TEST_F(WatchDeskTest, ACloseEndsTheWatchAndNothingFollows) {
  node_.open(1, 1, {.text = "a"});
  protocol::RequestSlot close;
  close.kind = protocol::RequestKind::WatchClose;
  close.sequence = 1;
  node_.request(1, close);
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchClosed));
  EXPECT_EQ(node_.sink.parked[1], 0);
  node_.request(1, close);
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchUnknown));
  churn("a", 1);
  EXPECT_TRUE(hear(1).blocks.empty());
}

TEST_F(WatchDeskTest, WhatMakesNoSenseIsRefusedByItsOwnCode) {
  const auto refused = [this](const WatchQuery& query) {
    node_.open(1, 1, query);
    return hear(1).errors;
  };
  EXPECT_EQ(refused({.text = ""}), code(ErrorCode::NameEmpty));
  EXPECT_EQ(refused({.target = WatchTarget::Session}), code(ErrorCode::SessionZero));
  EXPECT_EQ(refused({.text = "a", .session = SessionId{5}}), code(ErrorCode::WatchInvalid));
  EXPECT_EQ(refused({.text = "a", .from = {{ShardId{shard_of_name("a")}, LogIndex{0}}}}),
            code(ErrorCode::WatchInvalid));
  EXPECT_EQ(
      refused({.text = "a", .from = {{ShardId{(shard_of_name("a") + 1) % kShards}, LogIndex{1}}}}),
      code(ErrorCode::WatchInvalid));
  EXPECT_EQ(refused({.target = WatchTarget::Prefix, .shard_first = ShardId{3}, .shard_count = 2}),
            code(ErrorCode::ShardOutOfRange));
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::WatchOpen;
  node_.request(1, slot, std::array{std::byte{1}});
  EXPECT_EQ(hear(1).errors, code(ErrorCode::PayloadMalformed));
  node_.open(1, 1, {.text = "a"});
  node_.open(1, 1, {.text = "b"});
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchInvalid));
}

TEST_F(WatchDeskTest, ANodeWithoutAMajorityEndsItsWatchesAndTakesNone) {
  node_.open(1, 1, {.text = "a"});
  hear(1);
  node_.desk().on_sweep(1000, false);
  EXPECT_TRUE(hear(1).errors.empty());  // As in an election.
  node_.desk().on_sweep(2000, false);
  node_.desk().on_sweep(3000, false);
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchCutOff));
  node_.open(1, 2, {.text = "a"});
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchCutOff));
  node_.desk().on_sweep(4000, true);
  node_.open(1, 3, {.text = "a"});
  EXPECT_TRUE(hear(1).errors.empty());
}

TEST_F(WatchDeskTest, AStateThatWasInstalledEndsTheWatchesOfItsShard) {
  node_.open(1, 1, {.text = "a"});
  hear(1);
  node_.desk().on_installed(ShardId{(shard_of_name("a") + 1) % kShards});
  EXPECT_TRUE(hear(1).errors.empty());
  node_.desk().on_installed(ShardId{shard_of_name("a")});
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchCompacted));
}

class SmallRingTest : public WatchDeskTest {
 protected:
  SmallRingTest() : WatchDeskTest(WatchHubOptions{.ring_bytes_max = 4096}) {}
};

TEST_F(SmallRingTest, W4WhoDoesNotReadIsEndedWithItsOwnCodeAndNobodyWaits) {
  node_.open(1, 1, {.text = "a"});
  node_.open(2, 1, {.text = "a"});
  hear(1);
  hear(2);
  node_.sink.full.insert(1);
  std::size_t told = 0;
  for (int k = 0; k < 500; ++k) {
    churn("a", 1);
    const auto heard = hear(2);
    told += heard.blocks.size();
    EXPECT_TRUE(heard.errors.empty());
  }
  EXPECT_EQ(told, 1000u);
  EXPECT_EQ(hear(1).errors, code(ErrorCode::WatchLagging));
  EXPECT_EQ(node_.desk().watch_count(), 1u);
  EXPECT_LE(node_.desk().recorded_bytes(), 4096u);
}

TEST_F(SmallRingTest, WhoReadsAgainInTimeHasMissedNothing) {
  node_.open(1, 1, {.text = "a"});
  hear(1);
  node_.sink.full.insert(1);
  churn("a", 3);
  EXPECT_TRUE(hear(1).blocks.empty());
  node_.sink.full.clear();
  node_.settle();
  const auto heard = hear(1).blocks;
  ASSERT_EQ(heard.size(), 6u);
  for (std::uint64_t k = 0; k < 6; ++k) {
    EXPECT_EQ(heard[k].revision.value, k + 1);
  }
  churn("a", 1);
  EXPECT_EQ(hear(1).blocks.size(), 2u);
}

TEST_F(SmallRingTest, AReplayGivesOneBatchAfterTheOtherToWhoReads) {
  constexpr int kTimes = 10'000;  // Some batches.
  churn("a", kTimes);
  node_.open(1, 1, {.text = "a", .from = {{ShardId{shard_of_name("a")}, LogIndex{1}}}});
  node_.sink.full.insert(1);
  node_.settle();
  auto blocks = hear(1).blocks;
  EXPECT_TRUE(blocks.empty());
  node_.sink.full.clear();
  node_.settle();
  blocks = hear(1).blocks;
  ASSERT_EQ(blocks.size(), 2u * kTimes);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    EXPECT_EQ(blocks[k].revision.value, k + 1);
  }
}

TEST_F(SmallRingTest, AReplayForAConnectionThatIsGoneIsGivenUp) {
  churn("a", 200);
  node_.open(1, 1, {.text = "a", .from = {{ShardId{shard_of_name("a")}, LogIndex{1}}}});
  node_.sink.gone.insert(1);
  node_.settle();
  EXPECT_EQ(node_.desk().watch_count(), 0u);
}

}  // namespace
}  // namespace gcoord::server
