// The small parts of the engine: deadlines, reads, admission, sets of shards.
#include "common/incarnation.h"
#include "common/shard_bits.h"
#include "consensus/step/stepper.h"
#include "ledger/disk/memory_disk.h"
#include "server/peers/admission.h"
#include "server/replicas/deadlines.h"
#include "server/replicas/reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using Cookies = std::vector<std::uint64_t>;

class DeadlineIndexTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kRows = 4 * DeadlineIndex::kBlockRows;

  void set(std::uint32_t row, std::uint64_t tick) {
    stepper_->columns().hot[row].deadline = Tick{tick};
    index_.lower(row, Tick{tick});
  }

  std::vector<std::uint32_t> collect(std::uint64_t tick, std::uint32_t row_count_max) {
    std::vector<std::uint32_t> rows;
    index_.collect(stepper_->columns(), Tick{tick}, row_count_max, [&](std::uint32_t row) {
      rows.push_back(row);
      stepper_->columns().hot[row].deadline = kTickNever;
      return true;
    });
    return rows;
  }

  std::unique_ptr<consensus::Stepper> stepper_ = consensus::make_cpu_stepper(kRows, 1);
  DeadlineIndex index_{kRows};
};

TEST_F(DeadlineIndexTest, DueRowsAreFoundAndTheNextDeadlineIsKnown) {
  set(3, 10);
  set(700, 20);
  set(701, 30);
  EXPECT_EQ(index_.next(), Tick{10});
  EXPECT_EQ(collect(9, 100), std::vector<std::uint32_t>{});
  EXPECT_EQ(collect(20, 100), (std::vector<std::uint32_t>{3, 700}));
  EXPECT_EQ(index_.next(), Tick{30});
  EXPECT_EQ(collect(30, 100), std::vector<std::uint32_t>{701});
  EXPECT_EQ(index_.next(), kTickNever);
}

TEST_F(DeadlineIndexTest, WhatATurnDoesNotTakeStaysDueAndNobodyStarves) {
  for (std::uint32_t row = 0; row < kRows; ++row) {
    set(row, 5);
  }
  std::size_t found = 0;
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(index_.next(), Tick{5});
    found += collect(5, 10).size();
  }
  EXPECT_EQ(found, kRows);
  EXPECT_EQ(index_.next(), kTickNever);
}

TEST_F(DeadlineIndexTest, RowsThatAreLeftForLaterStayDue) {
  set(3, 5);
  set(4, 5);
  const auto only_four = [](std::uint32_t row) { return row == 4; };
  index_.collect(stepper_->columns(), Tick{5}, 10, only_four);
  stepper_->columns().hot[4].deadline = kTickNever;
  EXPECT_EQ(index_.next(), Tick{5});
  EXPECT_EQ(collect(5, 10), std::vector<std::uint32_t>{3});
}

TEST_F(DeadlineIndexTest, ANodeBeginsWhereItIsTold) {
  index_.begin_at(1, 2);
  set(0, 5);
  set(kRows / 2, 5);
  EXPECT_EQ(collect(5, 1), std::vector<std::uint32_t>{kRows / 2});
}

TEST(RowReads, AReadOfThisTurnWaitsForTheNext) {
  RowReads reads;
  reads.add(7, 1, ReadMode::Lease);
  reads.add(8, 2, ReadMode::Lease);
  EXPECT_FALSE(reads.has_fresh_before(1));
  EXPECT_EQ(reads.take_fresh(2), Cookies{7});
  EXPECT_EQ(reads.take_fresh(3), Cookies{8});
  EXPECT_TRUE(reads.empty());
}

TEST(RowReads, R2ALeaseServesThoseThatTrustItAndTheOthersStayForARound) {
  RowReads reads;
  reads.add(7, 1, ReadMode::Round);
  reads.add(8, 1, ReadMode::Lease);
  reads.add(9, 2, ReadMode::Lease);
  EXPECT_EQ(reads.take_fresh_by_lease(2), Cookies{8});
  EXPECT_TRUE(reads.has_fresh_before(2));
  EXPECT_EQ(reads.take_fresh(3), (Cookies{7, 9}));
}

TEST(RowReads, OnlyTheOpenRoundIsClosed) {
  RowReads reads;
  reads.open_round(5, {1, 2});
  EXPECT_EQ(reads.close_round(4), Cookies{});
  EXPECT_EQ(reads.close_round(5), (Cookies{1, 2}));
  EXPECT_EQ(reads.close_round(5), Cookies{});
}

TEST(RowReads, ReadsAreAnsweredWhenTheirIndexIsApplied) {
  RowReads reads;
  reads.await(LogIndex{10}, {1});
  reads.await(LogIndex{12}, {2});
  EXPECT_EQ(reads.take_applied(LogIndex{11}), Cookies{1});
  EXPECT_EQ(reads.take_lost(), Cookies{2});
  EXPECT_TRUE(reads.empty());
}

TEST(ShardBits, AreWalkedInOrder) {
  ShardBits some(200);
  ShardBits others(200);
  some.set(0);
  some.set(130);
  others.set(63);
  others.set(199);
  std::vector<std::uint32_t> walked;
  for (std::uint32_t shard = 0; (shard = some.next_in_either(others, shard)) < 200; ++shard) {
    walked.push_back(shard);
  }
  EXPECT_EQ(walked, (std::vector<std::uint32_t>{0, 63, 130, 199}));
}

class AdmissionTest : public testing::Test {
 protected:
  struct Asked {
    std::uint32_t node = 2;
    std::uint64_t directory = 77;
    std::uint32_t incarnation = 1;
    std::uint64_t life = 5;
    std::uint64_t durable = 0;
    bool is_proven = false;
  };

  netcore::Admission ask(const Asked& asked) {
    return admission().admit({.cluster = ClusterId{1},
                              .node = NodeId{asked.node},
                              .incarnation = Incarnation{asked.incarnation},
                              .directory = netcore::DirectoryId{asked.directory},
                              .life = asked.life,
                              .durable = asked.durable,
                              .settings = settings_,
                              .is_proven = asked.is_proven});
  }

  PeerAdmission& admission() {
    if (!admission_) {
      admission_.emplace(
          *identity_, peers_, netcore::AgreedSettings{4, 10, 1000, 3}, [this](const Status&) {
            ++failure_count_;
          });
    }
    return *admission_;
  }

  // This node ends and starts again.
  void restart() {
    admission_.reset();
    identity_ = ledger::IdentityFile::open(disk_, {ClusterId{1}, NodeId{1}, 4}, 11).value();
  }

  ledger::MemoryDisk disk_;
  std::unique_ptr<ledger::IdentityFile> identity_ =
      ledger::IdentityFile::open(disk_, {ClusterId{1}, NodeId{1}, 4}, 11).value();
  std::vector<netcore::PeerAddress> peers_{{NodeId{2}, "h", 1}, {NodeId{3}, "h", 2}};
  netcore::AgreedSettings settings_{4, 10, 1000, 3};
  int failure_count_ = 0;
  std::optional<PeerAdmission> admission_;
};

TEST_F(AdmissionTest, AKnownNodeComesBackInALaterLife) {
  EXPECT_TRUE(ask({.incarnation = 1}).admitted());
  EXPECT_TRUE(ask({.incarnation = 1}).admitted());
  EXPECT_TRUE(ask({.incarnation = 3, .life = 6}).admitted());
  EXPECT_EQ(identity_->peers().at(0).incarnation, Incarnation{3});
}

TEST_F(AdmissionTest, AGenerationRisesByOneWithARejoin) {
  ASSERT_TRUE(ask({.incarnation = incarnation_of(1, 3).value}).admitted());
  // As one unproven greeting would use up an id for ever.
  const auto leap =
      ask({.directory = 78, .incarnation = incarnation_of(kGenerationMax, 1).value, .life = 9});
  EXPECT_EQ(leap.code, netcore::RefusalCode::NotAdmitted);
  EXPECT_NE(leap.text.find("GC3126"), std::string::npos) << leap.text;
  EXPECT_FALSE(
      ask({.directory = 78, .incarnation = incarnation_of(3, 1).value, .life = 9}).admitted());
  EXPECT_FALSE(ask({.incarnation = incarnation_of(3, 4).value, .life = 9}).admitted());
  EXPECT_EQ(identity_->peers().at(0).incarnation, incarnation_of(1, 3));
  EXPECT_TRUE(
      ask({.directory = 78, .incarnation = incarnation_of(2, 1).value, .life = 9}).admitted());
}

TEST_F(AdmissionTest, ANodeThatHasProvenItselfMayHaveRejoinedWhileThisOneWasAway) {
  ASSERT_TRUE(ask({.incarnation = incarnation_of(1, 3).value}).admitted());
  EXPECT_FALSE(ask({.directory = 78,
                    .incarnation = incarnation_of(40, 1).value,
                    .life = 9,
                    .is_proven = true})
                   .admitted());
  EXPECT_TRUE(ask({.directory = 78,
                   .incarnation = incarnation_of(4, 1).value,
                   .life = 9,
                   .is_proven = true})
                  .admitted());
}

TEST_F(AdmissionTest, ARestoredNodeMeetsOnlyNodesThatWereRestoredOrFollowOne) {
  constexpr std::uint32_t kFirst = ledger::kRestoredStart + 1;
  ASSERT_TRUE(
      ledger::IdentityFile::create(disk_, {ClusterId{1}, NodeId{1}, 4}, 11, Incarnation{kFirst})
          .ok());
  restart();
  EXPECT_EQ(identity_->incarnation(), Incarnation{kFirst + 1});
  EXPECT_TRUE(identity_->restored());
  EXPECT_EQ(ask({.incarnation = 1}).code, netcore::RefusalCode::NotAdmitted);
  EXPECT_EQ(ask({.incarnation = ledger::kRestoredStart}).code, netcore::RefusalCode::NotAdmitted);
  EXPECT_TRUE(ask({.incarnation = kFirst}).admitted());
  EXPECT_TRUE(ask({.node = 3, .incarnation = incarnation_of(1, 2).value}).admitted());
  EXPECT_EQ(ask({.directory = 78, .incarnation = kFirst}).code,
            netcore::RefusalCode::ReplacedDirectory);
}

// It ended the node, whenever a peer came back.
TEST_F(AdmissionTest, OnAFullDiskPeersWaitAndTheNodeStays) {
  EXPECT_TRUE(ask({}).admitted());
  disk_.set_capacity_bytes(0);
  EXPECT_EQ(ask({.incarnation = 2}).code, netcore::RefusalCode::NotAdmitted);
  EXPECT_EQ(ask({.incarnation = 2}).code, netcore::RefusalCode::NotAdmitted);
  admission().on_durable(NodeId{2}, Incarnation{2}, 1000);
  admission().on_durable(NodeId{3}, Incarnation{}, 0);
  EXPECT_TRUE(admission().remember().ok());
  EXPECT_FALSE(admission().established());
  EXPECT_EQ(failure_count_, 0);
  disk_.set_capacity_bytes(1 << 20);
  EXPECT_TRUE(ask({.incarnation = 2, .durable = 1000}).admitted());
  admission().on_durable(NodeId{2}, Incarnation{2}, 2000);
  EXPECT_TRUE(admission().established());
  EXPECT_TRUE(admission().remember().ok());
  const auto kept = ledger::IdentityFile::read(disk_).value();
  EXPECT_EQ(kept->peers().at(0).incarnation, Incarnation{2});
  EXPECT_EQ(kept->peers().at(0).durable, 2000u);
}

TEST_F(AdmissionTest, AReplacedDirectoryIsRefused) {
  EXPECT_TRUE(ask({}).admitted());
  EXPECT_EQ(ask({.directory = 78, .incarnation = 2}).code, netcore::RefusalCode::ReplacedDirectory);
}

TEST_F(AdmissionTest, AnOldCopyOfADirectoryIsRefused) {
  EXPECT_TRUE(ask({.incarnation = 5}).admitted());
  EXPECT_EQ(ask({.incarnation = 4}).code, netcore::RefusalCode::OldIncarnation);
}

TEST_F(AdmissionTest, ACopyFromTheLastLifeIsRefusedByTheLengthOfItsLog) {
  EXPECT_TRUE(ask({.incarnation = 5, .durable = 10}).admitted());
  admission().on_durable(NodeId{2}, Incarnation{5}, 90);
  // The backup was taken at 40, in life 5: its next life is one that nobody has met.
  EXPECT_EQ(ask({.incarnation = 6, .life = 8, .durable = 40}).code,
            netcore::RefusalCode::OldIncarnation);
  EXPECT_EQ(ask({.incarnation = 9, .life = 9, .durable = 40}).code,
            netcore::RefusalCode::OldIncarnation);
  EXPECT_TRUE(ask({.incarnation = 6, .life = 7, .durable = 90}).admitted());
}

TEST_F(AdmissionTest, TheLengthOfALogIsRememberedOverARestart) {
  EXPECT_TRUE(ask({.incarnation = 5, .durable = 10}).admitted());
  admission().on_durable(NodeId{2}, Incarnation{5}, 90);
  EXPECT_TRUE(admission().remember().ok());
  restart();
  EXPECT_EQ(ask({.incarnation = 6, .durable = 40}).code, netcore::RefusalCode::OldIncarnation);
  EXPECT_TRUE(ask({.incarnation = 5, .durable = 95}).admitted());
}

TEST_F(AdmissionTest, TwoProcessesOnCopiesOfOneDirectoryAreToldApart) {
  EXPECT_TRUE(ask({.incarnation = 5, .life = 1, .durable = 10}).admitted());
  EXPECT_EQ(ask({.incarnation = 5, .life = 2, .durable = 10}).code,
            netcore::RefusalCode::OldIncarnation);
}

// Found by the simulator: who had restarted had forgotten which process ran the incarnation.
TEST_F(AdmissionTest, ACopyThatClaimsAKnownIncarnationIsRefusedAfterARestart) {
  EXPECT_TRUE(ask({.incarnation = 5, .life = 1, .durable = 10}).admitted());
  restart();
  EXPECT_EQ(ask({.incarnation = 5, .life = 2, .durable = 10}).code,
            netcore::RefusalCode::OldIncarnation);
  EXPECT_TRUE(ask({.incarnation = 5, .life = 1, .durable = 10}).admitted());
}

TEST_F(AdmissionTest, ADirectoryOfTheNextGenerationIsAdmittedAndBeginsANewLog) {
  EXPECT_TRUE(ask({.incarnation = 5, .durable = 10}).admitted());
  admission().on_durable(NodeId{2}, Incarnation{5}, 90);
  const std::uint32_t next = incarnation_of(1, 6).value;
  EXPECT_TRUE(ask({.directory = 78, .incarnation = next, .life = 7}).admitted());
  EXPECT_TRUE(ask({.directory = 78, .incarnation = next + 1, .life = 8, .durable = 3}).admitted());
  EXPECT_EQ(ask({.directory = 78, .incarnation = next + 2, .life = 9}).code,
            netcore::RefusalCode::OldIncarnation);
  // The one before it is gone for ever, however often it starts.
  const auto old = ask({.incarnation = 60, .life = 9, .durable = 900});
  EXPECT_EQ(old.code, netcore::RefusalCode::ReplacedDirectory);
  EXPECT_EQ(old.known.value, next + 1);
  restart();
  EXPECT_EQ(ask({.incarnation = 60, .life = 9, .durable = 900}).code,
            netcore::RefusalCode::ReplacedDirectory);
}

TEST_F(AdmissionTest, ASecondDirectoryOfAGenerationIsRefused) {
  const std::uint32_t next = incarnation_of(1, 6).value;
  EXPECT_TRUE(ask({.incarnation = next}).admitted());
  const auto second = ask({.directory = 78, .incarnation = next + 5, .life = 7});
  EXPECT_EQ(second.code, netcore::RefusalCode::ReplacedDirectory);
  EXPECT_EQ(second.known.value, next);
  EXPECT_NE(second.text.find("--rejoin"), std::string::npos) << second.text;
}

TEST_F(AdmissionTest, ANodeWithOtherSettingsIsRefused) {
  settings_[0] = 8;
  const auto refusal = ask({});
  EXPECT_EQ(refusal.code, netcore::RefusalCode::DifferentSettings);
  EXPECT_NE(refusal.text.find("--shards 8"), std::string::npos) << refusal.text;
  settings_[0] = 4;
  settings_[4] = resident_setting(true, 512);
  const auto stripes = ask({}).text;
  EXPECT_NE(stripes.find("durable and --turn resident --turn-stripes 512"), std::string::npos)
      << stripes;
}

// Each tells the other to start a newer release, and none waits for a way that will never be there.
TEST_F(AdmissionTest, ANodeWithAResidentTurnOfAnOlderReleaseIsRefusedByName) {
  const auto refused = [this](std::uint32_t kind) {
    settings_[4] = kind | 512u << kStripesShift;
    const auto refusal = ask({});
    EXPECT_EQ(refusal.code, netcore::RefusalCode::DifferentSettings);
    return refusal.text;
  };
  EXPECT_NE(kResidentSetting, kResidentPlainSetting);
  const std::string older = "--turn resident of an older release --turn-stripes 512";
  for (const std::uint32_t memory : {kResidentMappedSetting, kResidentPlainSetting}) {
    EXPECT_THAT(refused(memory), testing::HasSubstr("memory and " + older));
  }
  for (const std::uint32_t durable :
       {kResidentMappedDurableSetting, kResidentPlainDurableSetting}) {
    EXPECT_THAT(refused(durable), testing::HasSubstr("durable and " + older));
  }
  for (const bool durable : {false, true}) {
    const std::string now = refused(durable ? kResidentDurableSetting : kResidentSetting);
    EXPECT_THAT(now, testing::HasSubstr("--turn resident --turn-stripes 512"));
  }
}

TEST_F(AdmissionTest, ADirectoryIsEstablishedOnceEveryNodeHasAdmittedIt) {
  EXPECT_FALSE(admission().established());
  const auto hear = [this](std::uint32_t node) {
    ASSERT_TRUE(ask({.node = node}).admitted());
    admission().on_durable(NodeId{node}, Incarnation{1}, 0);
  };
  hear(3);
  EXPECT_FALSE(admission().established());
  restart();
  hear(2);
  EXPECT_FALSE(admission().established());
  hear(3);
  EXPECT_TRUE(admission().established());
  restart();
  EXPECT_TRUE(admission().established());
}

TEST_F(AdmissionTest, WhoCannotBeRememberedIsNotAdmitted) {
  EXPECT_EQ(admission().awaited().size(), 2u);
  disk_.fail_writes(true);
  EXPECT_EQ(ask({}).code, netcore::RefusalCode::NotAdmitted);
  EXPECT_EQ(failure_count_, 1);
}

}  // namespace
}  // namespace gcoord::server
