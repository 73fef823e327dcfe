// What a node does about the refusals of its peers, by the clock of the test.
#include "server/peers/directory_claim.h"

#include "ledger/disk/memory_disk.h"
#include "server/interfaces/errors.h"
#include "server/peers/vote_gate.h"

#include <gtest/gtest.h>

#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kSecondMs = 1000;

const netcore::Refusal kDuplicate{
    netcore::RefusalCode::DuplicateNode, "a live node is already node 2", {}, true};

netcore::Refusal refusal_of(netcore::RefusalCode code, Incarnation known, bool is_proven) {
  return {.code = code, .text = "no", .known = known, .is_proven = is_proven};
}

class DirectoryClaimTest : public testing::Test {
 protected:
  ledger::MemoryDisk disk_;
  std::unique_ptr<ledger::IdentityFile> identity_ =
      ledger::IdentityFile::open(disk_, {ClusterId{7}, NodeId{2}, 64}, 991).value();
};

TEST_F(DirectoryClaimTest, ASecondProcessEndsWhenItsRefusalsDoNot) {
  DirectoryClaim claim{*identity_, false};
  std::uint64_t now_ms = 500;
  for (; now_ms < 500 + DirectoryClaim::kDuplicateMs; now_ms += kSecondMs) {
    EXPECT_TRUE(claim.on_refused(NodeId{1}, kDuplicate, now_ms).ok()) << now_ms;
  }
  const Status ended = claim.on_refused(NodeId{1}, kDuplicate, now_ms);
  EXPECT_EQ(ended.detail(), kNodeIdDuplicate);
  EXPECT_EQ(ended.message(), "a peer refuses this node: a live node is already node 2");
}

TEST_F(DirectoryClaimTest, ANodeWhoseLostLinksArePeersToNoticeOutlastsThem) {
  DirectoryClaim claim{*identity_, false};
  for (std::uint64_t now_ms = 0; now_ms < 10 * DirectoryClaim::kDuplicateMs;
       now_ms += 2 * DirectoryClaim::kDuplicateMs) {
    EXPECT_TRUE(claim.on_refused(NodeId{1}, kDuplicate, now_ms + 1).ok());
    EXPECT_TRUE(claim.on_refused(NodeId{1}, kDuplicate, now_ms + 4001).ok());
  }
}

TEST_F(DirectoryClaimTest, ALiveNodeIsNotSucceeded) {
  DirectoryClaim claim{*identity_, true};
  const Incarnation before = identity_->incarnation();
  netcore::Refusal refusal = kDuplicate;
  refusal.known = Incarnation{9};
  EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal, 1).ok());
  EXPECT_EQ(claim.on_refused(NodeId{1}, refusal, 1 + DirectoryClaim::kDuplicateMs).detail(),
            kNodeIdDuplicate);
  EXPECT_EQ(identity_->incarnation(), before);
  EXPECT_FALSE(identity_->rejoining());
}

// It may be true, so the node must not vote; it may be a lie, so the node goes on.
TEST_F(DirectoryClaimTest, OneWordThatThisIsAnOldCopyIsADoubtUntilAllVotersAdmitTheNode) {
  DirectoryClaim claim{*identity_, false};
  claim.set_voters({NodeId{1}, NodeId{3}});
  VoteGate gate{*identity_, {}, 10};
  ASSERT_TRUE(identity_->mark_established().ok());
  gate.begin(Tick{5});
  const Tick before = gate.vote_after();
  EXPECT_FALSE(gate.doubt(claim.doubted()));
  const netcore::Refusal old_copy =
      refusal_of(netcore::RefusalCode::OldIncarnation, Incarnation{9}, false);
  EXPECT_TRUE(claim.on_refused(NodeId{1}, old_copy, 1).ok());
  EXPECT_TRUE(claim.doubted());
  EXPECT_FALSE(gate.doubt(claim.doubted()));
  EXPECT_GT(gate.vote_after(), Tick{1'000'000'000});
  claim.on_admitted(NodeId{1});  // It may have lost its power, and what it knew.
  EXPECT_TRUE(claim.doubted());
  claim.on_admitted(NodeId{3});
  EXPECT_TRUE(gate.doubt(claim.doubted())) << "the rows are to be woken";
  EXPECT_EQ(gate.vote_after(), before);
}

// It may vote since the copy was made, of which the copy knows nothing.
TEST_F(DirectoryClaimTest, TheWordOfWhoIsNoVoterIsADoubtToo) {
  DirectoryClaim claim{*identity_, false};
  claim.set_voters({NodeId{1}, NodeId{3}});
  claim.on_admitted(NodeId{1});
  const netcore::Refusal old_copy =
      refusal_of(netcore::RefusalCode::OldIncarnation, Incarnation{9}, false);
  EXPECT_TRUE(claim.on_refused(NodeId{7}, old_copy, 1).ok());
  EXPECT_TRUE(claim.doubted());
  claim.on_admitted(NodeId{3});
  EXPECT_FALSE(claim.doubted());
  EXPECT_TRUE(claim.on_refused(NodeId{7}, old_copy, 2).ok());
  EXPECT_FALSE(claim.doubted()) << "all voters have it";
}

// Nothing proves a single one: somebody else may answer where a peer was.
TEST_F(DirectoryClaimTest, OnlyAMajorityOfTheOtherVotersSaysThatANodeHasLeft) {
  const netcore::Refusal refusal{netcore::RefusalCode::RemovedNode, "node 2 was removed", {}};
  DirectoryClaim claim{*identity_, true};
  claim.set_voters({NodeId{1}, NodeId{3}, NodeId{4}});
  for (std::uint64_t now_ms = 1; now_ms < 100 * kSecondMs; now_ms += kSecondMs) {
    EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal, now_ms).ok()) << now_ms;
  }
  EXPECT_TRUE(claim.on_refused(NodeId{5}, refusal, 1).ok());  // No voter.
  claim.on_admitted(NodeId{1});
  EXPECT_TRUE(claim.on_refused(NodeId{3}, refusal, 1).ok());
  const Status ended = claim.on_refused(NodeId{1}, refusal, 1);
  EXPECT_EQ(ended.detail(), kNodeRemoved);
  EXPECT_EQ(ended.message(), "peers refuse this node: node 2 was removed");
}

// The same without a secret of the cluster, for every reason.
TEST_F(DirectoryClaimTest, OneUnprovenWordEndsNothing) {
  for (const auto& [code, detail] :
       {std::pair{netcore::RefusalCode::OldIncarnation, kDirectoryRefused},
        std::pair{netcore::RefusalCode::ReplacedDirectory, kDirectoryRefused},
        std::pair{netcore::RefusalCode::DifferentSettings, kSettingsDiffer}}) {
    DirectoryClaim claim{*identity_, false};
    claim.set_voters({NodeId{1}, NodeId{3}});
    const netcore::Refusal refusal = refusal_of(code, Incarnation{9}, false);
    EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal, 1).ok());
    EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal, 2).ok());
    EXPECT_TRUE(claim.on_refused(NodeId{9}, refusal, 3).ok());  // No voter.
    EXPECT_EQ(claim.on_refused(NodeId{3}, refusal, 4).detail(), detail);
  }
}

TEST_F(DirectoryClaimTest, OneProvenWordEndsANodeThatForgot) {
  DirectoryClaim claim{*identity_, false};
  claim.set_voters({NodeId{1}, NodeId{3}});
  EXPECT_EQ(
      claim
          .on_refused(NodeId{1},
                      refusal_of(netcore::RefusalCode::ReplacedDirectory, Incarnation{9}, true),
                      1)
          .detail(),
      kDirectoryRefused);
}

TEST_F(DirectoryClaimTest, UnprovenDuplicatesTakeAMajorityToo) {
  DirectoryClaim claim{*identity_, false};
  claim.set_voters({NodeId{1}, NodeId{3}});
  const netcore::Refusal refusal = refusal_of(netcore::RefusalCode::DuplicateNode, {}, false);
  for (std::uint64_t now_ms = 1; now_ms < 100 * kSecondMs; now_ms += kSecondMs) {
    EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal, now_ms).ok()) << now_ms;
  }
}

TEST_F(DirectoryClaimTest, OneUnprovenWordChangesNoDirectory) {
  DirectoryClaim claim{*identity_, true};
  claim.set_voters({NodeId{1}, NodeId{3}});
  const Incarnation before = identity_->incarnation();
  const auto forged =
      refusal_of(netcore::RefusalCode::ReplacedDirectory, incarnation_of(kGenerationMax, 1), false);
  EXPECT_TRUE(claim.on_refused(NodeId{1}, forged, 1).ok());
  EXPECT_EQ(identity_->incarnation(), before);
  EXPECT_FALSE(identity_->rejoining());
}

TEST_F(DirectoryClaimTest, HalfOfTheOthersAreEnoughWhereTheOperatorHasSaidSo) {
  const auto refusal =
      refusal_of(netcore::RefusalCode::ReplacedDirectory, incarnation_of(2, 2), false);
  for (const bool rejoin : {false, true}) {
    DirectoryClaim claim{*identity_, rejoin};
    claim.set_voters({NodeId{1}, NodeId{3}, NodeId{4}, NodeId{5}});
    EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal, 1).ok());
    EXPECT_EQ(claim.on_refused(NodeId{3}, refusal, 1).detail(), rejoin ? kDirectoryTakenOver : 0);
  }
}

// Only that voter met the life that the directory has forgotten: no second word can come.
TEST_F(DirectoryClaimTest, TheWordOfOneIsEnoughWhereAllOthersHaveAdmittedAndTheOperatorHasSaidSo) {
  const auto refusal = refusal_of(netcore::RefusalCode::OldIncarnation, Incarnation{9}, false);
  for (const bool rejoin : {false, true}) {
    DirectoryClaim claim{*identity_, rejoin};
    claim.set_voters({NodeId{1}, NodeId{3}, NodeId{4}, NodeId{5}});
    for (const NodeId voter : {NodeId{1}, NodeId{4}}) {
      claim.on_admitted(voter);
      EXPECT_TRUE(claim.on_refused(NodeId{3}, refusal, 1).ok()) << "node 5 was not heard";
    }
    claim.on_admitted(NodeId{5});
    EXPECT_EQ(claim.on_refused(NodeId{3}, refusal, 1).detail(), rejoin ? kDirectoryTakenOver : 0);
  }
  EXPECT_EQ(generation_of(identity_->incarnation()), 1u);
}

// Somebody who repeats the word would use up the generations.
TEST_F(DirectoryClaimTest, TheWordOfOneCostsOneGenerationAndNoSecondOneBeforeTheRejoinIsOver) {
  const auto code = netcore::RefusalCode::OldIncarnation;
  const auto admitted_by_3 = [this] {
    DirectoryClaim claim{*identity_, true};
    claim.set_voters({NodeId{1}, NodeId{3}});
    claim.on_admitted(NodeId{3});
    return claim;
  };
  DirectoryClaim first = admitted_by_3();
  const auto far = refusal_of(code, incarnation_of(kGenerationMax, 1), false);
  EXPECT_TRUE(first.on_refused(NodeId{1}, far, 1).ok());
  const auto near = refusal_of(code, Incarnation{9}, false);
  EXPECT_EQ(first.on_refused(NodeId{1}, near, 2).detail(), kDirectoryTakenOver);
  const Incarnation successor = identity_->incarnation();
  DirectoryClaim second = admitted_by_3();
  EXPECT_TRUE(second.on_refused(NodeId{1}, refusal_of(code, successor, false), 3).ok());
  EXPECT_EQ(identity_->incarnation(), successor);
}

TEST_F(DirectoryClaimTest, AMajorityMakesTheDirectoryTheSuccessorOfTheNewestThatItKnows) {
  DirectoryClaim claim{*identity_, true};
  claim.set_voters({NodeId{1}, NodeId{3}});
  const auto code = netcore::RefusalCode::ReplacedDirectory;
  EXPECT_TRUE(claim.on_refused(NodeId{1}, refusal_of(code, incarnation_of(4, 2), false), 1).ok());
  EXPECT_EQ(claim.on_refused(NodeId{3}, refusal_of(code, incarnation_of(3, 7), false), 1).detail(),
            kDirectoryTakenOver);
  EXPECT_TRUE(identity_->rejoining());
}

}  // namespace
}  // namespace gcoord::server
