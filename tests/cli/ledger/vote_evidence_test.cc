#include "cli/ledger/vote_evidence.h"

#include "protocol/error_codes.h"
#include "server/evidence/double_vote.h"
#include "tests/server/evidence/statements.h"

#include <gtest/gtest.h>

namespace gcoord::cli {
namespace {

using server::signer_of;
using server::vote;

std::string evidence_text() {
  const NodeId voter{3};
  const auto one = server::signed_by_voter(server::statement_of(voter, NodeId{1}, {vote(5, 9)}));
  const auto two = server::signed_by_voter(server::statement_of(voter, NodeId{2}, {vote(5, 9)}));
  return server::print_evidence(
      server::judge_votes({one, two}, vote(5, 9), signer_of(voter).key()).value());
}

TEST(VoteEvidenceTest, SaysWhoVotedTwice) {
  const std::string text = evidence_text();
  EXPECT_TRUE(is_vote_evidence(text));
  EXPECT_FALSE(is_vote_evidence("{}"));
  const auto facts =
      verify_vote_evidence(text, {signer_of(NodeId{2}).key(), signer_of(NodeId{3}).key()});
  ASSERT_TRUE(facts.ok()) << facts.status().to_string();
  EXPECT_EQ(facts.value().value("proves", std::string{}), "double_vote");
  EXPECT_EQ(facts.value().value("voter", std::string{}), "3");
  EXPECT_EQ(facts.value().value("candidates", std::string{}), "1,2");
}

TEST(VoteEvidenceTest, AKeyThatNobodyTrustsProvesNothing) {
  const auto facts = verify_vote_evidence(evidence_text(), {signer_of(NodeId{3}, 2).key()});
  EXPECT_EQ(facts.status().detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::EvidenceUnproven));
  const auto junk = verify_vote_evidence("gcoord evidence of two votes 1\n", {});
  EXPECT_EQ(junk.status().detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::EvidenceMalformed));
}

}  // namespace
}  // namespace gcoord::cli
