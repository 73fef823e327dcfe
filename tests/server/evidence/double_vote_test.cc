#include "server/evidence/double_vote.h"

#include "protocol/error_codes.h"
#include "server/evidence/store.h"
#include "tests/scratch_folder.h"
#include "tests/server/evidence/statements.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

constexpr NodeId kVoter{3};

std::vector<std::byte> vote_for(NodeId candidate, std::vector<VoteGrant> grants) {
  return signed_by_voter(statement_of(kVoter, candidate, std::move(grants)));
}

VoteEvidence evidence_of(const VoteGrant& of) {
  return judge_votes(
             {vote_for(NodeId{2}, {of}), vote_for(NodeId{1}, {of})}, of, signer_of(kVoter).key())
      .value();
}

Status judged(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return judge_votes({a, b}, vote(0, 5), signer_of(kVoter).key()).status();
}

TEST(DoubleVoteTest, TwoCandidatesInOneTermAreEvidence) {
  const auto evidence = judge_votes(
      {vote_for(NodeId{2}, {vote(7, 1), vote(0, 5)}), vote_for(NodeId{1}, {vote(0, 5)})},
      vote(0, 5),
      signer_of(kVoter).key());
  ASSERT_TRUE(evidence.ok()) << evidence.status().to_string();
  const DoubleVote& shown = evidence.value().shown;
  EXPECT_EQ(shown.voter, kVoter);
  EXPECT_EQ(shown.of, vote(0, 5));
  EXPECT_EQ(shown.candidates, (std::array{NodeId{1}, NodeId{2}}));
  EXPECT_EQ(name_of(shown), "votes-node-3-life-5-shard-0-term-5");
}

TEST(DoubleVoteTest, WhatContradictsNothingIsNone) {
  const auto a = vote_for(NodeId{1}, {vote(0, 5)});
  EXPECT_EQ(judged(a, a).detail(), static_cast<std::uint32_t>(ErrorCode::EvidenceUnproven));
  EXPECT_FALSE(judged(a, vote_for(NodeId{1}, {vote(0, 5), vote(1, 5)})).ok());
  EXPECT_FALSE(judged(a, vote_for(NodeId{2}, {vote(0, 6)})).ok());
  EXPECT_FALSE(judged(a, vote_for(NodeId{2}, {vote(1, 5)})).ok());
  VoteStatement other = statement_of(kVoter, NodeId{2}, {vote(0, 5)});
  other.life = Incarnation{6};
  EXPECT_FALSE(judged(a, signed_by_voter(other)).ok());
  other.life = Incarnation{5};
  other.cluster = ClusterId{78};
  EXPECT_FALSE(judged(a, signed_by_voter(other)).ok());
  EXPECT_FALSE(judged(a, signed_by_voter(statement_of(NodeId{4}, NodeId{2}, {vote(0, 5)}))).ok());
  EXPECT_FALSE(judged(a, {}).ok());
}

TEST(DoubleVoteTest, BothSignaturesMustBeTheVoters) {
  const auto a = vote_for(NodeId{1}, {vote(0, 5)});
  const VoteStatement second = statement_of(kVoter, NodeId{2}, {vote(0, 5)});
  EXPECT_TRUE(judged(a, signed_by_voter(second)).ok());
  EXPECT_FALSE(judged(a, sign_statement(second, signer_of(kVoter, 2))).ok());
  EXPECT_FALSE(judged(sign_statement(second, signer_of(kVoter, 2)), a).ok());
  EXPECT_FALSE(
      judge_votes({a, signed_by_voter(second)}, vote(0, 5), signer_of(NodeId{4}).key()).ok());
}

TEST(DoubleVoteTest, TheTextIsReadBack) {
  const VoteEvidence evidence = evidence_of(vote(0, 5));
  const std::string text = print_evidence(evidence);
  EXPECT_NE(text.find("\ncandidates 1 2\n"), text.npos);
  const auto read = parse_evidence(text);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read.value().shown, evidence.shown);
  EXPECT_EQ(read.value().statements, evidence.statements);
  EXPECT_EQ(read.value().key.text(), signer_of(kVoter).key().text());
}

TEST(DoubleVoteTest, AChangedCharacterIsSeen) {
  const std::string text = print_evidence(evidence_of(vote(0, 5)));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '1' ? '2' : '1';
    EXPECT_FALSE(parse_evidence(changed).ok()) << at;
    EXPECT_FALSE(parse_evidence(text.substr(0, at)).ok()) << at;
  }
  EXPECT_FALSE(parse_evidence(text + "\n").ok());
  EXPECT_FALSE(parse_evidence(std::string(kDoubleVoteTextMax + 1, 'a')).ok());
}

class EvidenceStoreTest : public testing::Test {
 protected:
  std::string path(const std::string& name) { return folder_.path(name); }

  ScratchFolder folder_;
  std::vector<std::string> damaged_;
};

TEST_F(EvidenceStoreTest, KeepsEvidenceOverAStart) {
  EvidenceStore store(path(""));
  ASSERT_TRUE(store.load(damaged_).ok());
  EXPECT_FALSE(std::filesystem::exists(path("evidence")));
  const VoteEvidence evidence = evidence_of(vote(0, 5));
  EXPECT_FALSE(store.has(evidence.shown));
  ASSERT_TRUE(store.add(evidence).ok());
  EXPECT_TRUE(store.has(evidence.shown));
  EvidenceStore again(path(""));
  ASSERT_TRUE(again.load(damaged_).ok());
  EXPECT_EQ(again.list(), std::vector{evidence.shown});
  EXPECT_TRUE(damaged_.empty());
}

TEST_F(EvidenceStoreTest, DamagedFilesAreNamedAndLeft) {
  EvidenceStore store(path(""));
  ASSERT_TRUE(store.add(evidence_of(vote(0, 5))).ok());
  const std::string file = path("evidence/votes-node-3-life-5-shard-0-term-5");
  std::filesystem::rename(file, path("evidence/votes-node-4-life-5-shard-0-term-5"));
  std::ofstream(path("evidence/notes.txt")) << "an operator's";
  std::ofstream(path("evidence/votes-node-3")) << "gcoord evidence of two votes 1\n";
  EvidenceStore again(path(""));
  ASSERT_TRUE(again.load(damaged_).ok());
  EXPECT_TRUE(again.list().empty());
  EXPECT_EQ(damaged_,
            (std::vector<std::string>{"votes-node-3", "votes-node-4-life-5-shard-0-term-5"}));
  EXPECT_TRUE(std::filesystem::exists(path("evidence/notes.txt")));
}

TEST_F(EvidenceStoreTest, OneVoterCannotFillIt) {
  EvidenceStore store(path(""));
  for (std::uint64_t term = 1; term <= EvidenceStore::kVoterFilesMax; ++term) {
    ASSERT_TRUE(store.has_room(kVoter));
    ASSERT_TRUE(store.add(evidence_of(vote(0, term))).ok());
  }
  EXPECT_FALSE(store.has_room(kVoter));
  EXPECT_TRUE(store.has_room(NodeId{4}));
}

TEST_F(EvidenceStoreTest, AFailedWriteIsRememberedForThisLife) {
  std::ofstream(path("evidence")) << "no folder";
  EvidenceStore store(path(""));
  const VoteEvidence evidence = evidence_of(vote(0, 5));
  EXPECT_FALSE(store.add(evidence).ok());
  EXPECT_TRUE(store.has(evidence.shown));
}

}  // namespace
}  // namespace gcoord::server
