#include "consensus/step/stepper.h"
#include "server/replicas/recovery.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

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
    return recovery_.finish([this](ShardId) { ++replayed_count_; });
  }

  const consensus::Log& log() const { return stepper_->columns().log[kShard.value]; }

  static constexpr ShardId kShard{1};
  std::unique_ptr<consensus::Stepper> stepper_ = consensus::make_cpu_stepper(2, 1);
  EntryPool pool_;
  EntryLog log_{pool_, 2};
  ToyService service_;
  Recovery recovery_{stepper_->columns(), NodeId{1}, pool_, log_, service_};
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

TEST_F(RecoveryTest, AStateThatTheServiceRefusesFailsTheOpening) {
  std::vector<std::byte> hard;
  encode_hard_value(hard, {.configuration = configuration_});
  recovery_.on_shard(kShard, hard, bytes_of("xx"));
  EXPECT_EQ(finish().code(), StatusCode::DataLoss);
}

}  // namespace
}  // namespace gcoord::server
