#include "consensus/step/stepper.h"
#include "server/replicas/recovery.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::server {
namespace {

using consensus::EntryKind;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class RecoveryTest : public testing::Test {
 protected:
  RecoveryTest() {
    consensus::Configuration configuration;
    configuration.node[0] = NodeId{1};
    configuration.weight[0] = 1;
    configuration.voters = 1;
    recovery_.set_initial_configuration(configuration);
    configuration_ = configuration;
  }

  void record(std::uint64_t lsn) { recovery_.on_record(ledger::Lsn{lsn}); }

  void entry(std::uint64_t index, std::uint64_t term, const std::string& text) {
    recovery_.on_entries(kShard, LogIndex{index}, 1);
    recovery_.on_entry(
        kShard,
        LogIndex{index},
        Term{term},
        static_cast<std::uint8_t>(text.empty() ? EntryKind::Noop : EntryKind::Command),
        bytes_of(text));
  }

  void load(std::uint64_t lsn, std::uint64_t floor) {
    std::vector<std::byte> hard;
    encode_hard_value(hard,
                      {.lsn = ledger::Lsn{lsn},
                       .term = Term{2},
                       .floor = LogIndex{floor},
                       .floor_term = Term{2},
                       .configuration = configuration_});
    recovery_.on_shard(kShard, hard, {});
  }

  Status finish() {
    return recovery_.finish([this](std::uint32_t) { ++replayed_count_; });
  }

  const consensus::Log& log() const { return stepper_->columns().log[kShard.value]; }

  static constexpr ShardId kShard{1};
  std::unique_ptr<consensus::Stepper> stepper_ = consensus::make_cpu_stepper(2, 1);
  const consensus::RowMap map_{2};
  EntryPool pool_;
  EntryLog log_{pool_, 2};
  ToyService service_;
  Recovery recovery_{{map_, stepper_->columns(), pool_, log_, service_}, NodeId{1}};
  consensus::Configuration configuration_;
  int replayed_count_ = 0;
};

TEST_F(RecoveryTest, DecidedEntriesAreAppliedAndTheRestWaits) {
  record(1);
  recovery_.on_hard_state(kShard, Term{3}, NodeId{1});
  entry(1, 1, "");
  entry(2, 3, "decided");
  entry(3, 3, "not yet");
  recovery_.on_commit(kShard, LogIndex{2});
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(service_.commands(kShard), std::vector<std::string>{"decided"});
  EXPECT_EQ(log().applied, LogIndex{2});
  EXPECT_EQ(log().last, LogIndex{3});
  EXPECT_EQ(stepper_->columns().hot[1].vote, NodeId{1});
  EXPECT_EQ(replayed_count_, 1);
}

TEST_F(RecoveryTest, WritingAtAnIndexRemovesWhatWasAbove) {
  record(1);
  recovery_.on_hard_state(kShard, Term{4}, NodeId{0});
  entry(1, 1, "kept");
  entry(2, 1, "lost");
  entry(3, 1, "lost");
  record(2);
  entry(2, 4, "written over");
  recovery_.on_commit(kShard, LogIndex{2});
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(service_.commands(kShard), (std::vector<std::string>{"kept", "written over"}));
  EXPECT_EQ(log().last, LogIndex{2});
}

TEST_F(RecoveryTest, RecordsThatTheCheckpointHoldsAreSkipped) {
  load(10, 5);
  record(10);
  entry(4, 2, "held by the checkpoint");
  recovery_.on_hard_state(kShard, Term{1}, NodeId{1});
  record(11);
  entry(6, 2, "news");
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(log().floor, LogIndex{5});
  EXPECT_EQ(log().last, LogIndex{6});
  EXPECT_EQ(stepper_->columns().hot[1].term, Term{2});
}

TEST_F(RecoveryTest, AnInstalledSnapshotReplacesLogAndState) {
  record(1);
  recovery_.on_hard_state(kShard, Term{2}, NodeId{0});
  entry(1, 1, "gone");
  std::vector<std::byte> snapshot;
  encode_snapshot_head(snapshot, configuration_);
  ToyService other;
  other.apply({.shard = kShard, .index = LogIndex{9}, .payload = bytes_of("from afar")});
  other.serialize(kShard, snapshot);
  record(2);
  recovery_.on_snapshot_installed(kShard, LogIndex{9}, Term{2}, snapshot);
  record(3);
  entry(10, 2, "after");
  recovery_.on_commit(kShard, LogIndex{10});
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(service_.commands(kShard), (std::vector<std::string>{"from afar", "after"}));
  EXPECT_EQ(log().floor, LogIndex{9});
}

TEST_F(RecoveryTest, AGapInTheLogIsRot) {
  record(1);
  recovery_.on_hard_state(kShard, Term{2}, NodeId{0});
  entry(1, 1, "one");
  entry(3, 1, "three");
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

TEST_F(RecoveryTest, TermsThatFallAreRot) {
  record(1);
  recovery_.on_hard_state(kShard, Term{5}, NodeId{0});
  entry(1, 5, "one");
  entry(2, 4, "two");
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

TEST_F(RecoveryTest, AnEntryOfATermThatWasNeverReachedIsRot) {
  record(1);
  recovery_.on_hard_state(kShard, Term{2}, NodeId{0});
  entry(1, 3, "one");
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

TEST_F(RecoveryTest, AShardBeyondTheCountIsRot) {
  record(1);
  recovery_.on_hard_state(ShardId{2}, Term{2}, NodeId{0});
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

// The rows of two slices, in a directory that holds shards of all.
class SlicedRecoveryTest : public testing::Test {
 protected:
  SlicedRecoveryTest() {
    stepper_->name_rows(map_);
    configuration_.node[0] = NodeId{1};
    configuration_.weight[0] = 1;
    configuration_.voters = 1;
    recovery_.set_initial_configuration(configuration_);
  }

  void load(ShardId shard, std::uint64_t lsn) {
    std::vector<std::byte> hard;
    encode_hard_value(hard,
                      {.lsn = ledger::Lsn{lsn},
                       .term = Term{2},
                       .floor = LogIndex{5},
                       .floor_term = Term{2},
                       .configuration = configuration_});
    encode_hard_entry(hard, Term{2}, {EntryKind::Command, bytes_of("kept")});
    recovery_.on_shard(shard, hard, {});
  }

  void entry(ShardId shard, std::uint64_t index, const std::string& text) {
    recovery_.on_entries(shard, LogIndex{index}, 1);
    recovery_.on_entry(shard,
                       LogIndex{index},
                       Term{2},
                       static_cast<std::uint8_t>(EntryKind::Command),
                       bytes_of(text));
    recovery_.on_commit(shard, LogIndex{index});
  }

  Status finish() {
    return recovery_.finish([this](std::uint32_t row) { replayed_.push_back(row); });
  }

  static constexpr std::array<std::uint8_t, 2> kSlicesHere = {3, 9};
  const consensus::RowMap map_{700, kSlicesHere.data(), kSlicesHere.size()};
  std::unique_ptr<consensus::Stepper> stepper_ = consensus::make_cpu_stepper(6, 1);
  EntryPool pool_;
  EntryLog log_{pool_, 6};
  ToyService service_;
  Recovery recovery_{{map_, stepper_->columns(), pool_, log_, service_}, NodeId{1}};
  consensus::Configuration configuration_;
  std::vector<std::uint32_t> replayed_;
};

TEST_F(SlicedRecoveryTest, ItsShardsComeToTheirRowsAndOthersNowhere) {
  load(ShardId{265}, 3);
  load(ShardId{264}, 4);
  recovery_.on_record(ledger::Lsn{5});
  entry(ShardId{265}, 7, "news");
  entry(ShardId{515}, 1, "first");
  entry(ShardId{264}, 99, "continues nothing that is here");
  recovery_.on_hard_state(ShardId{1}, Term{9}, NodeId{1});
  recovery_.on_truncate(ShardId{2}, LogIndex{1});
  recovery_.on_snapshot_installed(ShardId{4}, LogIndex{1}, Term{1}, {});
  recovery_.on_hard_state(ShardId{515}, Term{2}, NodeId{1});
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(replayed_, (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(service_.commands(ShardId{265}), (std::vector<std::string>{"kept", "news"}));
  EXPECT_EQ(service_.commands(ShardId{515}), std::vector<std::string>{"first"});
  EXPECT_EQ(service_.install_count, 1);
  EXPECT_EQ(stepper_->columns().log[3].last, LogIndex{7});
  for (const std::uint32_t row : {0u, 1u, 2u, 5u}) {
    EXPECT_EQ(stepper_->columns().log[row].last, LogIndex{}) << row;
  }
}

TEST_F(SlicedRecoveryTest, TheLogHasToReachTheCheckpointsOfOthersToo) {
  load(ShardId{265}, 3);
  load(ShardId{264}, 40);
  EXPECT_EQ(recovery_.newest_checkpoint_lsn(), ledger::Lsn{40});
}

TEST_F(SlicedRecoveryTest, RotInAShardOfOthersIsRot) {
  recovery_.on_shard(ShardId{264}, bytes_of("no hard value"), {});
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

TEST_F(SlicedRecoveryTest, AShardBeyondTheCountIsRotWhateverItsSlice) {
  recovery_.on_record(ledger::Lsn{1});
  recovery_.on_hard_state(ShardId{700}, Term{2}, NodeId{0});
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

TEST_F(RecoveryTest, AStateThatTheServiceRefusesFailsTheOpening) {
  std::vector<std::byte> hard;
  encode_hard_value(hard, {.configuration = configuration_});
  recovery_.on_shard(kShard, hard, bytes_of("xx"));
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

}  // namespace
}  // namespace gcoord::server
