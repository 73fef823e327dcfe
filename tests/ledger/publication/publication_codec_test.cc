#include "ledger/heads/entry.h"
#include "ledger/heads/message.h"
#include "ledger/heads/round.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"

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
      AlarmMessage{ShardId{6}, 123},
      BeginMessage{80'000,
                   {.first = 66'048, .groups = {{hash_of(8), hash_of(9)}, {hash_of(10)}}},
                   {hash_of(11)}}};
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

RoundEntry round_of(std::uint64_t round, const ledger::MemoryTree& log, std::size_t count) {
  ledger::MemoryTree grown;
  for (std::uint64_t at = 0; at < log.size(); ++at) {
    grown.append(log.entries(at, 1).value().front());
  }
  RoundEntry entry{.round = round, .old_size = log.size()};
  for (std::size_t k = 0; k < count; ++k) {
    entry.heads.push_back({ShardId{static_cast<std::uint32_t>(k)}, round, hash_of(1)});
    grown.append(ledger::encode_head(entry.heads.back()));
  }
  entry.root = ledger::root_at(grown, grown.size()).value();
  return entry;
}

TEST(PublicationState, TakesOnlyRoundsThatContinueItAndAddUp) {
  ledger::MemoryTree log;
  const RoundEntry first = round_of(1, log, 3);
  PublicationState state;
  RoundEntry wrong = first;
  wrong.round = 2;
  EXPECT_FALSE(state.apply(wrong));
  wrong = first;
  wrong.old_size = 1;
  EXPECT_FALSE(state.apply(wrong));
  wrong = first;
  wrong.root[3] ^= std::byte{1};
  EXPECT_FALSE(state.apply(wrong));
  wrong = first;
  wrong.heads[1].size ^= 1;
  EXPECT_FALSE(state.apply(wrong));
  wrong = first;
  wrong.heads.clear();
  EXPECT_FALSE(state.apply(wrong));
  EXPECT_EQ(state, PublicationState{});
  EXPECT_TRUE(state.apply(first));
  EXPECT_FALSE(state.apply(first));
  EXPECT_EQ(state.size(), 3u);
  EXPECT_EQ(state.root(), first.root);
  for (const ledger::ShardHead& head : first.heads) {
    log.append(ledger::encode_head(head));
  }
  EXPECT_TRUE(state.apply(round_of(2, log, kHeadsPerEntryMax)));
}

TEST(PublicationState, ComesBackFromItsBytes) {
  PublicationState state;
  ASSERT_TRUE(state.apply(round_of(1, {}, 7)));
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
  for (const PublicationEntry& entry : {PublicationEntry{round_of(1, {}, 1)},
                                        PublicationEntry{round_of(2, {}, kHeadsPerEntryMax)},
                                        PublicationEntry{KeyEntry{NodeId{9}, {}}}}) {
    const auto bytes = encode(entry);
    EXPECT_EQ(decode_publication_entry(bytes), entry);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto cut = decode_publication_entry(std::span(bytes).first(length));
      ASSERT_TRUE(!cut || !PublicationState{}.apply(*cut)) << length;
    }
  }
  EXPECT_FALSE(decode_publication_entry(std::vector<std::byte>{std::byte{9}}));
}

}  // namespace
}  // namespace gcoord::server
