#include "server/evidence/statement.h"

#include "server/evidence/message.h"
#include "tests/server/evidence/statements.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

TEST(VoteStatement, IsReadBackAndItsSignatureHolds) {
  const VoteStatement said = statement_of(NodeId{3}, NodeId{1}, {vote(0, 4), vote(9, 7)});
  const auto bytes = signed_by_voter(said);
  EXPECT_EQ(bytes.size(), kStatementHeadBytes + 2 * kStatementGrantBytes + 64);
  EXPECT_EQ(decode_statement(bytes), said);
  EXPECT_TRUE(statement_genuine(bytes, signer_of(NodeId{3}).key()));
  EXPECT_FALSE(statement_genuine(bytes, signer_of(NodeId{3}, 2).key()));
  EXPECT_TRUE(said.grants_vote(vote(9, 7)));
  EXPECT_FALSE(said.grants_vote(vote(9, 4)));
}

TEST(VoteStatement, TheSignatureCoversEveryByte) {
  const auto bytes = signed_by_voter(statement_of(NodeId{3}, NodeId{1}, {vote(0, 4), vote(9, 7)}));
  const auto key = signer_of(NodeId{3}).key();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto changed = bytes;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(statement_genuine(changed, key)) << at;
  }
}

TEST(VoteStatement, BytesThatNoNodeMakesAreRefused) {
  const auto bytes = signed_by_voter(statement_of(NodeId{3}, NodeId{1}, {vote(0, 4), vote(9, 7)}));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_statement(std::span(bytes).first(length))) << length;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_statement(longer));
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    auto changed = bytes;  // Version, algorithm, count.
    changed[at] = std::byte{9};
    EXPECT_FALSE(decode_statement(changed)) << at;
  }
  const auto refused = [](VoteStatement statement) {
    return !decode_statement(sign_statement(statement, signer_of(NodeId{3})));
  };
  EXPECT_TRUE(refused(statement_of(NodeId{3}, NodeId{3}, {vote(0, 4)})));
  EXPECT_TRUE(refused(statement_of(NodeId{0}, NodeId{1}, {vote(0, 4)})));
  EXPECT_TRUE(refused(statement_of(NodeId{3}, NodeId{0}, {vote(0, 4)})));
  EXPECT_TRUE(refused(statement_of(NodeId{3}, NodeId{1}, {vote(0, 0)})));
}

TEST(VoteMessage, IsReadBackAndOthersAreNone) {
  const VoteStatement said = statement_of(NodeId{3}, NodeId{1}, {vote(2, 8)});
  const auto bytes = signed_by_voter(said);
  const auto message = encode_vote_message(VoteMessageKind::Shown, bytes);
  const auto read = decode_vote_message(message);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, VoteMessageKind::Shown);
  EXPECT_EQ(read->statement, said);
  EXPECT_TRUE(std::ranges::equal(read->bytes, bytes));
  auto other_kind = message;
  other_kind[1] = std::byte{3};
  EXPECT_FALSE(decode_vote_message(other_kind));
  EXPECT_FALSE(decode_vote_message(std::span(message).first(2)));
  EXPECT_FALSE(is_vote_message(std::span(message).subspan(1)));
}

TEST(VoteMessage, TheLargestOneFitsAPeerMessage) {
  std::vector<VoteGrant> grants;
  for (std::uint32_t shard = 0; shard < kStatementGrantsMax; ++shard) {
    grants.push_back(vote(shard, 1));
  }
  const auto bytes = signed_by_voter(statement_of(NodeId{3}, NodeId{1}, std::move(grants)));
  EXPECT_EQ(bytes.size(), kStatementBytesMax);
  EXPECT_TRUE(decode_vote_message(encode_vote_message(VoteMessageKind::Granted, bytes)));
}

}  // namespace
}  // namespace gcoord::server
