#include "ledger/memory_tree.h"
#include "server/publication_entry.h"
#include "server/publication_message.h"
#include "server/publication_round.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

ledger::MerkleHash hash_of(std::uint8_t first) {
  ledger::MerkleHash hash{};
  hash.fill(std::byte{first});
  return hash;
}

std::vector<PublicationMessage> messages() {
  const std::vector<ledger::ShardHead> heads{{ShardId{3}, 9, hash_of(1)},
                                             {ShardId{5}, 1, hash_of(2)}};
  LedgerKey key{};
  key.fill(std::byte{7});
  LedgerSignature signature{};
  signature.fill(std::byte{8});
  return {
      PageMessage{.batch = 1, .old_size = 2, .page = 0, .page_count = 1, .heads = heads},
      VerdictMessage{1, 0, {{0, HeadVerdict::Behind, {}}, {4, HeadVerdict::Differs, hash_of(3)}}},
      SignatureMessage{77, hash_of(4), signature},
      LeavesQuery{5, 9},
      LeavesMessage{5, 9, {hash_of(5)}, heads},
      HashQuery{ShardId{1}, {8, 2, 256}},
      HashMessage{ShardId{1}, {8, 2, 2}, {hash_of(6), hash_of(7)}},
      KeyMessage{key},
      AlarmMessage{ShardId{6}, 123}};
}

TEST(PublicationMessage, ComesBackAsItWasWritten) {
  ASSERT_EQ(messages().size(), std::variant_size_v<PublicationMessage>);
  for (const PublicationMessage& message : messages()) {
    const auto bytes = encode(message);
    EXPECT_EQ(bytes.front(), kPublicationKind);
    const auto decoded = decode_publication_message(bytes);
    ASSERT_TRUE(decoded) << message.index();
    EXPECT_EQ(*decoded, message) << message.index();
  }
}

TEST(PublicationMessage, EveryFlippedBitAndEveryCutIsFound) {
  for (const PublicationMessage& message : messages()) {
    const auto bytes = encode(message);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      auto flipped = bytes;
      flipped[bit / 8] ^= std::byte{1} << bit % 8;
      const auto decoded = decode_publication_message(flipped);
      // The kind is not under the checksum; a body that reads as another kind is judged there.
      ASSERT_TRUE(!decoded || (bit / 8 == 1 && decoded->index() != message.index())) << bit;
    }
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_FALSE(decode_publication_message(std::span(bytes).first(length)));
    }
  }
}

TEST(PublicationState, TakesOnlyRoundsThatContinueIt) {
  PublicationState state;
  const RoundEntry first{1, 0, 3, hash_of(1), hash_of(2)};
  EXPECT_FALSE(state.apply(RoundEntry{2, 0, 3, {}, {}}));
  EXPECT_FALSE(state.apply(RoundEntry{1, 1, 3, {}, {}}));
  EXPECT_FALSE(state.apply(RoundEntry{1, 0, 0, {}, {}}));
  EXPECT_FALSE(state.apply(RoundEntry{1, 0, kHeadsPerRoundMax + 1, {}, {}}));
  EXPECT_EQ(state, PublicationState{});
  EXPECT_TRUE(state.apply(first));
  EXPECT_FALSE(state.apply(first));
  EXPECT_FALSE(state.apply(RoundEntry{2, 3, 3, {}, {}}));
  EXPECT_TRUE(state.apply(RoundEntry{2, 3, 4, {}, {}}));
  EXPECT_EQ(state.last().size, 4u);
}

TEST(PublicationState, ComesBackFromItsBytes) {
  PublicationState state;
  ASSERT_TRUE(state.apply(RoundEntry{1, 0, 3, hash_of(1), hash_of(2)}));
  ASSERT_TRUE(state.apply(KeyEntry{NodeId{2}, {}}));
  ASSERT_TRUE(state.apply(KeyEntry{NodeId{1}, {}}));
  EXPECT_FALSE(state.apply(KeyEntry{NodeId{0}, {}}));
  std::vector<std::byte> bytes;
  state.serialize(bytes);
  EXPECT_EQ(PublicationState::parse(bytes), state);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(PublicationState::parse(std::span(bytes).first(length)));
  }
}

TEST(PublicationEntry, ComesBackAsItWasWritten) {
  for (const PublicationEntry& entry :
       {PublicationEntry{RoundEntry{1, 2, 3, hash_of(1), hash_of(2)}},
        PublicationEntry{KeyEntry{NodeId{9}, {}}}}) {
    const auto bytes = encode(entry);
    EXPECT_EQ(decode_publication_entry(bytes), entry);
    EXPECT_FALSE(decode_publication_entry(std::span(bytes).first(bytes.size() - 1)));
  }
  EXPECT_FALSE(decode_publication_entry(std::vector<std::byte>{std::byte{9}}));
}

}  // namespace
}  // namespace gcoord::server
