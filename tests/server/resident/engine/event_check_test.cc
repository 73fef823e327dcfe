// A device that lies to its host: whatever it writes to a lane, the node stops with GC7101 and
// believes none of it.
#include "server/resident/engine/event_check.h"

#include "common/device/device_errors.h"
#include "server/device_turn/store.h"
#include "server/resident/engine/event_drain.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

class LyingDevice : public testing::Test {
 protected:
  LyingDevice() {
    hosts_.lock_and_unlock(1);
    hosts_.turns(200);
    leader_ = hosts_.leader_of(hosts_.shard());
    EXPECT_TRUE(hosts_.world.nodes[leader_].turn->stop(0).ok());
    drain_.emplace(EventDrain::Environment{
        .node = memory(), .requests = *host().requests, .rows = *host().rows, .now_ms = [] {
          return std::uint64_t{1};
        }});
  }

  Hosts::Host& host() { return hosts_.each[leader_]; }

  ResidentNode& memory() { return *hosts_.world.nodes[leader_].memory; }

  std::uint32_t lane() { return host().requests->lane_of(hosts_.shard()); }

  // Writes a slot to a lane as the stripe does.
  template <typename Slot>
  void write(std::uint32_t lane, const Slot& slot) {
    std::uint32_t words[netcore::kSlotWords];
    static_assert(sizeof words == sizeof slot);
    std::memcpy(words, &slot, sizeof words);
    const netcore::GpuChannelDevice& client = memory().view().client;
    netcore::LaneSender to = netcore::open_sender(client, netcore::Band::Rpc, lane);
    const netcore::Reservation place = to.reserve(1);
    ASSERT_EQ(place.slot_count, 1u);
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
    netcore::close_sender(client, netcore::Band::Rpc, lane, to);
  }

  void write(const TurnReply& reply) { write(lane(), reply); }

  // What the host makes of it all.
  Status hear() {
    const auto drained = drain_->drain();
    return drained.ok() ? Status{} : drained.status();
  }

  // The next entry of the shard as the device would tell it, but for its hash.
  TurnReply told() {
    TurnReply reply;
    reply.shard = hosts_.shard();
    reply.verdict = TurnVerdict::Told;
    reply.index = host().rows->applied(hosts_.shard()) + 1;
    reply.result.word[0] = host().service.state_hash(hosts_.shard());
    return reply;
  }

  void expect_found(const TurnReply& reply, const char* what) {
    write(reply);
    EXPECT_EQ(hear().detail(), kDeviceFailed) << what;
  }

  void expect_found(const TurnReply& reply, const locks::LockEntry& entry, const char* what) {
    write(reply);
    write(lane(), entry);
    EXPECT_EQ(hear().detail(), kDeviceFailed) << what;
  }

  Hosts hosts_;
  std::uint32_t leader_ = 0;
  std::optional<EventDrain> drain_;
};

TEST_F(LyingDevice, WhatItMaySayIsTaken) {
  TurnReply reply = told();
  write(reply);
  write(lane(), locks::barrier_entry());
  TurnReply late = told();  // The end of a request that ended.
  late.verdict = TurnVerdict::Overloaded;
  late.tag = host().requests->tag_last();
  write(late);
  EXPECT_TRUE(hear().ok());
  EXPECT_EQ(host().rows->applied(hosts_.shard()), reply.index);
}

TEST_F(LyingDevice, ItNamesARowThatIsNotOfTheLane) {
  for (const std::uint32_t shard : {kShards, ~0u, ~0u - 1}) {
    TurnReply reply = told();
    reply.shard = ShardId{shard};
    expect_found(reply, locks::barrier_entry(), "a row beyond all");
  }
  TurnReply reply = told();
  const std::uint32_t other = (lane() + 1) % kLanes;
  write(other, reply);
  write(other, locks::barrier_entry());
  EXPECT_EQ(hear().detail(), kDeviceFailed);
  for (const TurnVerdict verdict : {TurnVerdict::Installed, TurnVerdict::Overloaded}) {
    reply.verdict = verdict;
    reply.tag = 1;
    write(other, reply);
    EXPECT_EQ(hear().detail(), kDeviceFailed);
  }
}

TEST_F(LyingDevice, ItSaysWhatNoVerdictSays) {
  for (const std::uint32_t verdict : {6u, 12u, ~0u}) {
    TurnReply reply = told();
    reply.verdict = static_cast<TurnVerdict>(verdict);
    expect_found(reply, "no verdict");
  }
  TurnReply reply = told();
  reply.verdict = TurnVerdict::Store;  // In memory mode.
  expect_found(reply, "nothing is stored here");
  for (const std::uint32_t count : {kStageMax + 1, ~kStoreSnapshot, ~0u}) {
    reply.detail = count;
    expect_found(reply, "more entries than a request has");
  }
  reply.detail = 0;
  reply.leader = NodeId{kTurnNodes + 1};
  expect_found(reply, "a vote for nobody");
}

TEST_F(LyingDevice, ItCountsNoopsThatFitNoSlot) {
  for (const std::uint32_t count : {0u, kNoopsPerSlot + 1, ~0u}) {
    HostNoops noops;
    noops.count = count;
    write(lane(), noops);
    EXPECT_EQ(hear().detail(), kDeviceFailed) << count;
  }
  HostNoops noops;
  noops.count = 1;
  noops.noop[0] = {.row = kShards, .own_term = 0, .index = LogIndex{1}};
  write(lane(), noops);
  EXPECT_EQ(hear().detail(), kDeviceFailed);
}

TEST_F(LyingDevice, ItAnswersRequestsThatWereNeverMade) {
  const std::uint64_t never = host().requests->tag_last() + 1;
  locks::LockEntry entry = locks::barrier_entry();
  for (const std::uint64_t tag : {std::uint64_t{0}, never, kOwnTermTag | 7, ~std::uint64_t{0}}) {
    TurnReply reply = told();
    reply.tag = entry.request = tag;
    reply.verdict = TurnVerdict::Committed;
    expect_found(reply, entry, "an answer");
    reply.verdict = TurnVerdict::NotLeader;
    expect_found(reply, "a refusal");
    reply.shard = ShardId{~0u};
    reply.verdict = TurnVerdict::Refused;
    expect_found(reply, "the answer to a probe");
  }
  TurnReply reply = told();
  reply.tag = never;
  expect_found(reply, entry, "told with a request's tag");
}

// Its tag is right, and so is its shard: a client would hear of another command's end.
TEST_F(LyingDevice, ItAnswersARequestWithAnotherOnesEntry) {
  host().requests->read(hosts_.shard(), 1001, consensus::ReadProof::LeaseOrRound);
  TurnReply reply = told();
  reply.tag = host().requests->tag_last();
  reply.verdict = TurnVerdict::Committed;
  locks::LockEntry entry =
      locks::entries_of(locks::make_register_session(SessionId{9}, 1000)).front();
  expect_found(reply, entry, "an entry of no request");
  entry.request = reply.tag;
  expect_found(reply, entry, "another request's entry");
  EXPECT_TRUE(host().service.reads.empty());
}

TEST_F(LyingDevice, ItAnswersARequestInTheNameOfAnotherShard) {
  host().requests->read(hosts_.shard(), 1001, consensus::ReadProof::LeaseOrRound);
  TurnReply reply = told();
  reply.tag = host().requests->tag_last();
  reply.shard = hosts_.shard().value + 1 < kShards &&
                        host().requests->lane_of(ShardId{hosts_.shard().value + 1}) == lane()
                    ? ShardId{hosts_.shard().value + 1}
                    : ShardId{hosts_.shard().value - 1};
  ASSERT_EQ(host().requests->lane_of(reply.shard), lane());
  reply.verdict = TurnVerdict::NotLeader;
  expect_found(reply, "a refusal of another shard");
  EXPECT_TRUE(host().service.reads.empty());
}

TEST_F(LyingDevice, ItProvesReadsByNothingAndCommandsAsReads) {
  host().requests->read(hosts_.shard(), 1001, consensus::ReadProof::LeaseOrRound);
  TurnReply reply = told();
  reply.tag = host().requests->tag_last();
  reply.verdict = TurnVerdict::ReadReady;
  for (const std::uint32_t way : {0u, 3u, ~0u}) {
    reply.detail = way;
    expect_found(reply, "a way that there is not");
  }
  reply.detail = static_cast<std::uint32_t>(ReadWay::Lease);
  reply.index = LogIndex{};
  expect_found(reply, "index 0");
  reply = {.shard = hosts_.shard(), .verdict = TurnVerdict::ReadReady, .index = LogIndex{1}};
  reply.detail = static_cast<std::uint32_t>(ReadWay::Round);
  reply.tag = host().requests->tag_last() + 1;
  expect_found(reply, "a read that was never made");
  host().requests->command(hosts_.shard(), locks::make_register_session(SessionId{9}, 1000), 1002);
  reply.tag = host().requests->tag_last();
  expect_found(reply, "a command as a read");
  EXPECT_TRUE(host().service.reads.empty());
  EXPECT_TRUE(host().service.failed.empty());
}

TEST_F(LyingDevice, ItProvesAReadOfWhatItNeverTells) {
  host().requests->read(hosts_.shard(), 1001, consensus::ReadProof::Round);
  TurnReply reply = told();
  reply.tag = host().requests->tag_last();
  reply.verdict = TurnVerdict::ReadReady;
  reply.detail = static_cast<std::uint32_t>(ReadWay::Round);
  const LogIndex applied = host().rows->applied(hosts_.shard());
  const std::uint64_t page = memory().options().shape.log_slots;
  for (const LogIndex index : {applied + page + 1, LogIndex{~std::uint64_t{0}}}) {
    reply.index = index;
    expect_found(reply, "more than a page beyond what is told");
  }
  reply.index = applied + page;
  write(reply);
  EXPECT_TRUE(hear().ok());
  EXPECT_TRUE(host().service.reads.empty());
}

TEST_F(LyingDevice, ALeaseWithNothingToCompareWithIsAskedAgain) {
  host().requests->read(hosts_.shard(), 1001, consensus::ReadProof::LeaseOrRound);
  host().requests->push();
  TurnReply reply = told();
  reply.tag = host().requests->tag_last();
  reply.index = host().rows->applied(hosts_.shard());
  reply.verdict = TurnVerdict::ReadReady;
  reply.detail = static_cast<std::uint32_t>(ReadWay::Lease);
  write(reply);
  EXPECT_TRUE(hear().ok());
  EXPECT_TRUE(host().service.reads.empty());
  reply.tag = host().requests->tag_last();
  reply.detail = static_cast<std::uint32_t>(ReadWay::Round);
  write(reply);
  EXPECT_TRUE(hear().ok());
  EXPECT_EQ(host().service.reads.at(1001), StatusCode::Ok);
}

TEST_F(LyingDevice, ItsOutcomesAndItsRoomCannotBe) {
  const locks::LockEntry entry =
      locks::entries_of(locks::make_register_session(SessionId{9}, 1000)).front();
  TurnReply reply = told();
  reply.index = LogIndex{};
  expect_found(reply, entry, "index 0");
  reply = told();
  reply.result.word[1] = 3;
  expect_found(reply, entry, "an outcome of no kind");
  reply.result.word[1] = static_cast<std::uint64_t>(LockTurnDone::Absent) | 1u << 8;
  expect_found(reply, entry, "absent, and an answer");
  reply.result.word[1] = std::uint64_t{2 * host().requests->room_max() + 2} << 32;
  expect_found(reply, entry, "more room than there is");
  reply.result.word[1] = static_cast<std::uint64_t>(LockTurnDone::Applied);
  expect_found(reply, locks::barrier_entry(), "a barrier that did something");
}

TEST_F(LyingDevice, ALeaderCannotLeadInATermBeforeThatOfTheLast) {
  EXPECT_TRUE(hear().ok());
  LeaderTable table = memory().view().leaders;
  const std::uint32_t row = row_of_shard(hosts_.shard());
  const std::uint64_t good = table.word[row];
  const auto say = [&](std::uint64_t word, std::uint64_t page) {
    table.tell(row, word);
    table.close(lane(), row - rows_of_stripe(memory().options().shape, lane()).first, page);
  };
  LeaderWord earlier = decode_leader(good);
  ASSERT_GT(earlier.term.value, 0u);
  earlier.term = Term{earlier.term.value - 1};
  say(encode(earlier), ~std::uint64_t{0} - 1);
  EXPECT_EQ(hear().detail(), kDeviceFailed);
}

}  // namespace
}  // namespace gcoord::server
