// The stream of a snapshot: what goes in comes out, and nothing that was changed on the way does.
#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"
#include "ledger/base/flipped_bit.h"
#include "tests/ledger/snapshot/snapshot_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace gcoord::ledger {
namespace {

using testing::HasSubstr;

// Reads bytes in pieces of the given size.
Status read(std::span<const std::byte> bytes, SnapshotVisitor& visitor, std::size_t piece = 7) {
  SnapshotDecoder decoder(visitor);
  while (!bytes.empty()) {
    const std::size_t size = std::min(piece, bytes.size());
    if (const Status fed = decoder.feed(bytes.first(size)); !fed.ok()) {
      EXPECT_EQ(decoder.finish().detail(), fed.detail()) << "the first failure stays";
      return fed;
    }
    bytes = bytes.subspan(size);
  }
  return decoder.finish();
}

Status read(std::span<const std::byte> bytes) {
  SampleReader reader;
  return read(bytes, reader);
}

std::vector<std::byte> sample() {
  return encode_sample(sample_header(), sample_shards());
}

// Puts the right checksum into the head that begins at the offset.
void mend_head(std::vector<std::byte>& bytes, std::size_t at) {
  store(&bytes[at + 20], crc32c(std::span{bytes}.subspan(at, 20)));
}

constexpr std::size_t kFirstHead = kSnapshotPrologueBytes;

void expect_equal(const std::vector<SampleShard>& read, const std::vector<SampleShard>& written) {
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t k = 0; k < read.size(); ++k) {
    EXPECT_EQ(read[k].head.shard, written[k].head.shard);
    EXPECT_EQ(read[k].head.applied, written[k].head.applied);
    EXPECT_EQ(read[k].head.applied_term, written[k].head.applied_term);
    EXPECT_EQ(read[k].head.term, written[k].head.term);
    EXPECT_EQ(read[k].state, written[k].state);
  }
}

TEST(SnapshotCodec, GivesBackHeaderAndShards) {
  SampleReader reader;
  const Status status = read(sample(), reader);
  ASSERT_TRUE(status.ok()) << status.to_string();
  ASSERT_TRUE(reader.header.has_value());
  EXPECT_EQ(reader.header->cluster, sample_header().cluster);
  EXPECT_EQ(reader.header->time_ms, sample_header().time_ms);
  EXPECT_EQ(reader.header->node, sample_header().node);
  EXPECT_EQ(reader.header->shard_count, sample_header().shard_count);
  EXPECT_TRUE(reader.header->durable);
  EXPECT_EQ(reader.header->release, "0.1.0");
  ASSERT_EQ(reader.header->nodes.size(), 3u);
  EXPECT_EQ(reader.header->nodes[1].incarnation, Incarnation{7});
  expect_equal(reader.shards, sample_shards());
}

TEST(SnapshotCodec, CutsALongStateIntoPartsAndHoldsOneAtATime) {
  std::vector<SampleShard> shards = {
      {sample_shards()[0].head, sample_state(kSnapshotPartBytesMax, 5)},
      {sample_shards()[1].head, sample_state(2 * kSnapshotPartBytesMax + 17, 6)}};
  SampleReader reader;
  ASSERT_TRUE(read(encode_sample(sample_header(), shards), reader, 100'000).ok());
  expect_equal(reader.shards, shards);
}

TEST(SnapshotCodec, GivesBackFrontiersOfTrees) {
  std::vector<SampleShard> shards = sample_shards();
  SnapshotHeader header = sample_header();
  header.ledger = true;
  shards[0].frontier = SnapshotFrontier{9, {MerkleHash{std::byte{1}}, MerkleHash{std::byte{2}}}};
  shards[1].frontier = SnapshotFrontier{1, {MerkleHash{std::byte{3}}}};
  shards[2].frontier = SnapshotFrontier{};
  SampleReader reader;
  ASSERT_TRUE(read(encode_sample(header, shards), reader).ok());
  EXPECT_TRUE(reader.header->ledger);
  ASSERT_EQ(reader.shards.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(reader.shards[k].frontier.has_value());
    EXPECT_EQ(reader.shards[k].frontier->size, shards[k].frontier->size);
    EXPECT_EQ(reader.shards[k].frontier->peaks, shards[k].frontier->peaks);
  }
}

TEST(SnapshotCodec, RefusesAFrontierWithTooFewPeaks) {
  std::vector<std::byte> bytes;
  SnapshotEncoder encoder(sample_header(), [&bytes](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  encoder.shard(sample_shards()[0].head, sample_shards()[0].state);
  std::vector<std::byte> frontier(8 + kMerkleHashBytes);
  store(frontier.data(), std::uint64_t{3});
  encoder.section(SnapshotKind::Frontier, 0, frontier);
  encoder.finish();
  EXPECT_EQ(read(bytes).detail(), kSnapshotImpossible);
}

RC_GTEST_PROP(SnapshotCodec, GivesBackWhateverWentInByPiecesOfAnySize, ()) {
  std::vector<SampleShard> shards;
  SnapshotHeader header = sample_header();
  for (std::uint32_t shard = 0; shard < header.shard_count; ++shard) {
    if (*rc::gen::arbitrary<bool>()) {
      const auto term = *rc::gen::inRange<std::uint64_t>(0, 1'000);
      shards.push_back({{.shard = ShardId{shard},
                         .applied = LogIndex{*rc::gen::arbitrary<std::uint64_t>()},
                         .applied_term = Term{*rc::gen::inRange<std::uint64_t>(0, term + 1)},
                         .term = Term{term}},
                        sample_state(*rc::gen::inRange<std::size_t>(0, 300), shard)});
    }
  }
  header.durable = *rc::gen::arbitrary<bool>();
  SampleReader reader;
  const auto piece = *rc::gen::inRange<std::size_t>(1, 200);
  RC_ASSERT(read(encode_sample(header, shards), reader, piece).ok());
  RC_ASSERT(reader.header->durable == header.durable);
  expect_equal(reader.shards, shards);
}

TEST(SnapshotCodec, FindsEachFlippedBitAndSaysWhereItIs) {
  const std::vector<std::byte> whole = sample();
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bytes = whole;
      bytes[byte] ^= static_cast<std::byte>(1u << bit);
      const Status status = read(bytes);
      ASSERT_EQ(status.detail(), kSnapshotRot) << byte << "." << bit << ": " << status.to_string();
      const std::string where =
          "as if bit " + std::to_string(bit) + " of byte " + std::to_string(byte) + " were";
      const bool of_checksum = status.message().find("as if") == std::string::npos;
      if (!of_checksum) {
        EXPECT_THAT(status.message(), HasSubstr(where));
      }
    }
  }
}

TEST(SnapshotCodec, NamesTheBitInTheStateOfAShard) {
  std::vector<std::byte> bytes = sample();
  const auto state = sample_state(100, 9);
  const auto found = std::search(bytes.begin(), bytes.end(), state.begin(), state.end());
  ASSERT_NE(found, bytes.end());
  const auto at = static_cast<std::size_t>(found - bytes.begin()) + 41;
  bytes[at] ^= std::byte{16};
  const Status status = read(bytes);
  EXPECT_THAT(status.message(), HasSubstr("of shard 7"));
  EXPECT_THAT(status.message(), HasSubstr("bit 4 of byte " + std::to_string(at)));
}

TEST(SnapshotCodec, MissesTheRestOfAFileThatWasCutAnywhere) {
  const std::vector<std::byte> whole = sample();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read(std::span{whole}.first(size)).detail(), kSnapshotCut) << size;
  }
}

TEST(SnapshotCodec, TakesNothingBehindTheEnd) {
  std::vector<std::byte> bytes = sample();
  bytes.push_back(std::byte{0});
  EXPECT_EQ(read(bytes).detail(), kSnapshotTrailing);
  std::vector<std::byte> twice = sample();
  const std::vector<std::byte> again = sample();
  twice.insert(twice.end(), again.begin(), again.end());
  EXPECT_EQ(read(twice).detail(), kSnapshotTrailing);
}

TEST(SnapshotCodec, TellsAnotherFileFromADamagedOne) {
  EXPECT_EQ(read(sample_state(500, 3)).detail(), kSnapshotForeign);
  EXPECT_EQ(read(sample_state(5, 3)).detail(), kSnapshotForeign);
  EXPECT_EQ(read({}).detail(), kSnapshotCut);
}

TEST(SnapshotCodec, RefusesANewerFormatByItsNumber) {
  std::vector<std::byte> bytes = sample();
  store(&bytes[8], std::uint32_t{2});
  store(&bytes[12], crc32c(std::span{bytes}.first(12)));
  const Status status = read(bytes);
  EXPECT_EQ(status.detail(), kSnapshotFormat);
  EXPECT_THAT(status.message(), HasSubstr("format 2"));
}

TEST(SnapshotCodec, RefusesKindsItDoesNotKnowUnlessTheyMayBePassedOver) {
  for (const std::uint16_t flags : {std::uint16_t{0}, kSnapshotPassOver}) {
    std::vector<std::byte> bytes;
    SnapshotEncoder encoder(sample_header(), [&bytes](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    encoder.shard(sample_shards()[0].head, sample_shards()[0].state);
    encoder.section(static_cast<SnapshotKind>(77), flags, sample_state(20, 1));
    encoder.finish();
    SampleReader reader;
    const Status status = read(bytes, reader);
    EXPECT_EQ(status.detail(), flags == 0 ? kSnapshotFormat : 0u) << status.to_string();
  }
}

// Each is what somebody could write who computes the checksums right.
TEST(SnapshotCodec, RefusesWhatCannotBeThoughItsChecksumsAreRight) {
  const auto expect_impossible = [](std::vector<std::byte> bytes, std::size_t head_at) {
    mend_head(bytes, head_at);
    const Status status = read(bytes);
    EXPECT_EQ(status.detail(), kSnapshotImpossible) << status.to_string();
  };
  std::vector<std::byte> oversized = sample();
  store(&oversized[kFirstHead + 8], std::uint32_t{kSnapshotPartBytesMax + 1});
  expect_impossible(oversized, kFirstHead);
  std::vector<std::byte> reserved = sample();
  store(&reserved[kFirstHead + 12], std::uint32_t{1});
  expect_impossible(reserved, kFirstHead);
  std::vector<std::byte> unordered = sample();
  store(&unordered[kFirstHead], static_cast<std::uint16_t>(SnapshotKind::Shard));
  expect_impossible(unordered, kFirstHead);
  std::vector<std::byte> unfinished = sample();
  store(&unfinished[kFirstHead + 2], std::uint16_t{0});
  expect_impossible(unfinished, kFirstHead);
  const std::size_t header_bytes = load<std::uint32_t>(&sample()[kFirstHead + 8]);
  const std::size_t shard_at = kFirstHead + kSnapshotHeadBytes + header_bytes;
  std::vector<std::byte> beyond = sample();
  store(&beyond[shard_at + 4], std::uint32_t{8});
  expect_impossible(beyond, shard_at);
}

TEST(SnapshotCodec, FindsAFlippedBitOnlyWhereOneExplainsTheDamage) {
  std::vector<std::byte> bytes = sample_state(1000, 2);
  const std::uint32_t stored = crc32c(bytes);
  bytes[0] ^= std::byte{1};
  const auto one = find_flipped_bit(stored, crc32c(bytes), bytes.size());
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->byte, 0u);
  EXPECT_EQ(one->bit, 0u);
  bytes[999] ^= std::byte{128};
  EXPECT_FALSE(find_flipped_bit(stored, crc32c(bytes), bytes.size()).has_value());
  EXPECT_FALSE(find_flipped_bit(stored, stored, bytes.size()).has_value());
}

}  // namespace
}  // namespace gcoord::ledger
