#include "ledger/tiles/tlog_tiles.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/proof.h"
#include "ledger/tiles/tile_reader.h"
#include "tests/ledger/wal/stored_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gcoord::ledger {
namespace {

using ::testing::HasSubstr;

TEST(TilePath, AreThoseOfTheSpecification) {
  EXPECT_EQ(to_string(TilePath{.level = 0, .index = 0}), "tile/0/000");
  EXPECT_EQ(to_string(TilePath{.level = 3, .index = 1234067}), "tile/3/x001/x234/067");
  EXPECT_EQ(to_string(TilePath{.level = 1, .index = 1000, .width = 40}), "tile/1/x001/000.p/40");
  EXPECT_EQ(to_string(TilePath{TilePath::Kind::Entries, 0, 999, 1}), "tile/entries/999.p/1");
  for (const char* text : {"tile/0/000",
                           "tile/7/000",
                           "tile/3/x001/x234/067",
                           "tile/1/x001/000.p/40",
                           "tile/entries/x999/x999/999.p/255"}) {
    EXPECT_EQ(to_string(parse_tile_path(text).value()), text);
  }
}

TEST(TilePath, HaveOneSpelling) {
  for (const char* text : {"",
                           "tile",
                           "tile/",
                           "tile/0",
                           "tile/0/",
                           "tile/8/000",
                           "tile/00/000",
                           "tile/0/00",
                           "tile/0/0000",
                           "tile/0/x000/000",
                           "tile/0/x1/000",
                           "tile/0/001/000",
                           "tile/0/000.p/0",
                           "tile/0/000.p/256",
                           "tile/0/000.p/01",
                           "tile/0/000.p/",
                           "tile/0/000.p",
                           "tile/0/000/",
                           "tile/0/../000",
                           "tile/-1/000",
                           "tile/entries",
                           "tile/entries/",
                           "tile/Entries/000",
                           "/tile/0/000",
                           "tile/0/000 ",
                           "tile//000",
                           "tile/7/001",
                           "tile/0/x072/x057/x594/x037/x927/936",
                           "tile/0/x999/x999/x999/x999/x999/x999/x999/x999/999"}) {
    EXPECT_EQ(parse_tile_path(text).status().detail(), kTilePath) << text;
  }
  EXPECT_TRUE(parse_tile_path("tile/0/x072/x057/x594/x037/x927/935").ok());  // 2^56 - 1.
}

TEST(EntryBundle, IsReadAsItWasWritten) {
  const std::vector<std::vector<std::byte>> entries = {
      {}, {std::byte{1}}, std::vector<std::byte>(kBundleEntryBytesMax, std::byte{7})};
  const auto bytes = encode_bundle(entries).value();
  EXPECT_EQ(bytes.size(), 3 * 2 + 1 + kBundleEntryBytesMax);
  EXPECT_EQ(decode_bundle(bytes, 3).value(), entries);
  EXPECT_EQ(decode_bundle(bytes, 2).status().detail(), kBundleMalformed);
  EXPECT_EQ(decode_bundle(bytes, 4).status().detail(), kBundleMalformed);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{4}, bytes.size() - 1}) {
    EXPECT_EQ(decode_bundle(std::span(bytes).first(cut), 3).status().detail(), kBundleMalformed);
  }
  const std::vector<std::vector<std::byte>> large = {
      std::vector<std::byte>(kBundleEntryBytesMax + 1)};
  EXPECT_EQ(encode_bundle(large).status().detail(), kBundleMalformed);
}

TEST(TileAt, ALogHasTheTilesOfItsSizeOnly) {
  const StoredLog log(300);
  const auto refusal = [&](const char* path) {
    return tile_at(log.tree, parse_tile_path(path).value()).status().detail();
  };
  EXPECT_EQ(refusal("tile/0/000"), 0u);
  EXPECT_EQ(refusal("tile/0/001.p/44"), 0u);
  EXPECT_EQ(refusal("tile/0/001.p/7"), 0u);  // Of an older, smaller tree.
  EXPECT_EQ(refusal("tile/0/001.p/45"), kLedgerBeyond);
  EXPECT_EQ(refusal("tile/0/001"), kLedgerBeyond);
  EXPECT_EQ(refusal("tile/0/002.p/1"), kLedgerBeyond);
  EXPECT_EQ(refusal("tile/0/x072/x057/x594/x037/x927/935"), kLedgerBeyond);
  EXPECT_EQ(refusal("tile/1/000.p/1"), 0u);
  EXPECT_EQ(refusal("tile/1/000.p/2"), kLedgerBeyond);
  EXPECT_EQ(refusal("tile/7/000.p/1"), kLedgerBeyond);
  EXPECT_EQ(refusal("tile/entries/001.p/44"), 0u);
  EXPECT_EQ(refusal("tile/entries/001.p/45"), kLedgerBeyond);
}

class TileReaderOfSize : public ::testing::TestWithParam<std::size_t> {};

TEST_P(TileReaderOfSize, ShowsWhatTheTreeShows) {
  const StoredLog log(GetParam());
  const auto reader = TileReader::open(log.tiles, log.tree.size(), log.root()).value();
  for (std::uint32_t level = 0; level < 64; ++level) {
    for (std::uint64_t index = 0; index < log.tree.size() >> level; ++index) {
      ASSERT_EQ(reader->hashes(level, index, 1).value(), log.tree.hashes(level, index, 1).value());
    }
    EXPECT_EQ(reader->hashes(level, log.tree.size() >> level, 1).status().detail(), kLedgerBeyond);
  }
  for (std::uint64_t index = 0; index < log.tree.size(); index += 100) {
    const std::size_t count = std::min<std::size_t>(200, log.tree.size() - index);
    EXPECT_EQ(reader->entries(index, count).value(), log.tree.entries(index, count).value());
  }
  EXPECT_EQ(reader->entries(log.tree.size(), 1).status().detail(), kLedgerBeyond);
}

INSTANTIATE_TEST_SUITE_P(Sizes,
                         TileReaderOfSize,
                         ::testing::Values(0, 1, 2, 255, 256, 257, 511, 512, 1000, 65536, 65795));

TEST(TileReader, ProofsFromTilesVerify) {
  const StoredLog log(1000);
  const auto reader = TileReader::open(log.tiles, 1000, log.root()).value();
  for (std::uint64_t index = 0; index < 1000; index += 13) {
    const auto proof = inclusion_proof(*reader, index, 1000).value();
    const MerkleHash leaf = hash_leaf(numbered_entry(index));
    EXPECT_TRUE(verify_inclusion({index, 1000, leaf, log.root()}, proof).ok());
    const MerkleHash old = root_at(*reader, index).value();
    const auto growth = consistency_proof(*reader, index, 1000).value();
    EXPECT_TRUE(verify_consistency({index, 1000, old, log.root()}, growth).ok());
  }
}

TEST(TileReader, AnOlderTreeIsReadFromTheFilesOfANewerOne) {
  const StoredLog log(600);
  const MerkleHash root = root_at(log.tree, 300).value();
  const auto reader = TileReader::open(log.tiles, 300, root);  // 001.p/44 is full by now.
  ASSERT_FALSE(reader.ok());  // tile/1/000.p/1 has become tile/1/000.p/2.
  EXPECT_EQ(reader.status().detail(), kLedgerAbsent);
  StoredLog full(65536 + 44);
  full.tiles.files["tile/1/000.p/1"] =
      tile_at(full.tree, parse_tile_path("tile/1/000.p/1").value()).value();
  const auto older = TileReader::open(full.tiles, 300, root_at(full.tree, 300).value());
  ASSERT_TRUE(older.ok());
  EXPECT_EQ(older.value()->entries(299, 1).value()[0], numbered_entry(299));
}

// Reads everything that a log shows; ok if nothing is wrong.
Status read_all(const TileSource& tiles, std::uint64_t size, const MerkleHash& root) {
  GCOORD_TRY(const auto reader, TileReader::open(tiles, size, root));
  for (std::uint64_t index = 0; index < size; index += kTileWidth) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kTileWidth, size - index));
    GCOORD_TRY(const auto hashes, reader->hashes(0, index, count));
    GCOORD_TRY(const auto entries, reader->entries(index, count));
  }
  return {};
}

// Of the files of a log, every `stride`th bit; the file is named, or it is one of the tree's edge.
void flip_bits(std::size_t size, std::size_t stride) {
  StoredLog log(size);
  const MerkleHash root = log.root();
  ASSERT_TRUE(read_all(log.tiles, size, root).ok());
  for (auto& [path, bytes] : log.tiles.files) {
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += stride) {
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      const Status status = read_all(log.tiles, size, root);
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      ASSERT_FALSE(status.ok()) << path << " bit " << bit;
      EXPECT_THAT(status.message(), HasSubstr(path));
      const bool entries = path.find("entries") != path.npos;
      EXPECT_EQ(status.detail() == kTileHash, !entries) << status.to_string();
    }
  }
}

TEST(TileReader, EveryFlippedBitOfASmallLogIsFoundAndLocated) {
  flip_bits(5, 1);
  flip_bits(17, 1);
}

TEST(TileReader, FlippedBitsOfALargerLogAreFoundAndLocated) {
  flip_bits(257, 61);
  flip_bits(600, 509);
}

TEST(TileReader, FilesOfAnotherLengthAreRefused) {
  StoredLog log(300);
  const MerkleHash root = log.root();
  for (auto& [path, bytes] : log.tiles.files) {
    const std::vector<std::byte> before = bytes;
    bytes.pop_back();
    EXPECT_FALSE(read_all(log.tiles, 300, root).ok()) << path;
    bytes = before;
    bytes.push_back({});
    EXPECT_FALSE(read_all(log.tiles, 300, root).ok()) << path;
    bytes.clear();
    EXPECT_FALSE(read_all(log.tiles, 300, root).ok()) << path;
    bytes = before;
  }
}

TEST(TileReader, AWrongRootIsRefusedAtOnce) {
  const StoredLog log(20);
  EXPECT_EQ(TileReader::open(log.tiles, 20, empty_root()).status().detail(), kTileHash);
  EXPECT_EQ(TileReader::open(log.tiles, 0, log.root()).status().detail(), kTileHash);
}

}  // namespace
}  // namespace gcoord::ledger
