#include "ledger/tiles/hidden_entry.h"

#include "ledger/base/error_details.h"
#include "ledger/tiles/tile_reader.h"
#include "ledger/tiles/tlog_tiles.h"
#include "tests/ledger/wal/stored_log.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::ledger {
namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

TEST(HiddenEntry, SaysItsLeafAndNoMoreThanIsShown) {
  const auto entry = bytes("a record with a secret");
  const auto stand_in = hidden_entry(entry, bytes("a record"));
  const auto parsed = parse_hidden_entry(stand_in);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->leaf, hash_leaf(entry));
  EXPECT_TRUE(std::ranges::equal(parsed->shown, bytes("a record")));
  EXPECT_TRUE(parse_hidden_entry(hidden_entry(entry, {}))->shown.empty());
  EXPECT_EQ(leaf_of_entry(stand_in), hash_leaf(entry));
  EXPECT_EQ(leaf_of_entry(entry), hash_leaf(entry));
}

TEST(HiddenEntry, WhatIsCutOrMarkedOtherwiseIsNone) {
  const auto stand_in = hidden_entry(bytes("entry"), {});
  for (std::size_t length = 0; length < stand_in.size(); ++length) {
    EXPECT_FALSE(parse_hidden_entry(std::span(stand_in).first(length))) << length;
  }
  for (std::size_t k = 0; k < kHiddenEntryMark.size(); ++k) {
    auto other = stand_in;
    other[k] ^= std::byte{1};
    EXPECT_FALSE(parse_hidden_entry(other)) << k;
  }
}

// An entry in a log that looks like a stand-in is what was hashed, and is given as that.
TEST(HiddenEntry, AnEntryIsComparedByItsBytesFirst) {
  const auto looks_hidden = hidden_entry(bytes("another"), {});
  EXPECT_EQ(match_entry(looks_hidden, hash_leaf(looks_hidden)), EntryMatch::Whole);
  EXPECT_EQ(match_entry(looks_hidden, hash_leaf(bytes("another"))), EntryMatch::Hidden);
  EXPECT_EQ(match_entry(looks_hidden, hash_leaf(bytes("a third"))), EntryMatch::None);
}

class HidingLog : public ::testing::Test {
 protected:
  // Its source gives this in place of entry 7.
  void put(const std::vector<std::byte>& entry) {
    auto entries = log_.tree.entries(0, kEntries).value();
    entries[7] = entry;
    log_.tiles.files["tile/entries/000.p/" + std::to_string(kEntries)] =
        encode_bundle(entries).value();
  }

  static constexpr std::size_t kEntries = 20;
  StoredLog log_{kEntries};
};

TEST_F(HidingLog, IsReadWithStandInsWhoseHashesFit) {
  put(hidden_entry(numbered_entry(7), bytes("said")));
  const auto reader = TileReader::open(log_.tiles, kEntries, log_.root()).value();
  reader->take_stand_ins();
  const auto entries = reader->entries(6, 3);
  ASSERT_TRUE(entries.ok()) << entries.status().to_string();
  EXPECT_EQ(entries.value()[0], numbered_entry(6));
  EXPECT_EQ(parse_hidden_entry(entries.value()[1])->leaf, hash_leaf(numbered_entry(7)));
  const auto bundle = reader->bundle(0).value();
  EXPECT_EQ(bundle.hidden, std::vector<std::uint64_t>{7});
  EXPECT_TRUE(bundle.wrong.empty());
}

// Nobody could hide an entry of another shard otherwise and have it pass.
TEST_F(HidingLog, InALogWithNothingToHideAStandInIsAWrongEntry) {
  put(hidden_entry(numbered_entry(7), {}));
  const auto reader = TileReader::open(log_.tiles, kEntries, log_.root()).value();
  EXPECT_EQ(reader->entries(7, 1).status().detail(), kEntryHash);
  EXPECT_EQ(reader->bundle(0).value().wrong, std::vector<std::uint64_t>{7});
  EXPECT_TRUE(reader->bundle(0).value().hidden.empty());
}

TEST_F(HidingLog, AStandInOfAnotherEntryIsWrong) {
  put(hidden_entry(numbered_entry(8), {}));
  const auto reader = TileReader::open(log_.tiles, kEntries, log_.root()).value();
  reader->take_stand_ins();
  EXPECT_EQ(reader->entries(7, 1).status().detail(), kEntryHash);
  const auto bundle = reader->bundle(0).value();
  EXPECT_EQ(bundle.wrong, std::vector<std::uint64_t>{7});
  EXPECT_TRUE(bundle.hidden.empty());
}

}  // namespace
}  // namespace gcoord::ledger
