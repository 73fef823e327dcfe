#include "locks/commands/entry_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::locks {
namespace {

std::vector<std::byte> record(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t k = 0; k < bytes; ++k) {
    made[k] = static_cast<std::byte>(mix64(k + bytes));
  }
  return made;
}

// As a leader's host numbers what it asks for.
std::vector<LockEntry> numbered(std::vector<LockEntry> entries, std::uint64_t first) {
  for (LockEntry& entry : entries) {
    entry.request = first++;
  }
  return entries;
}

std::optional<std::vector<std::byte>> read(const std::vector<LockEntry>& entries) {
  return record_of(std::span{entries}.first(entries.size() - 1), entries.back());
}

TEST(EntryRecord, ComesBackFromItsEntriesWhateverItsLength) {
  for (std::size_t bytes = 1; bytes <= kEntryRecordBytesMax; bytes += bytes < 100 ? 1 : 97) {
    const auto entries = numbered(record_entries(record(bytes)), 7);
    EXPECT_LE(entries.size(), kRecordPiecesMax + 1u);
    EXPECT_EQ(read(entries), record(bytes)) << bytes;
  }
  EXPECT_EQ(record_entries(record(kEntryRecordBytesMax)).size(), kRecordPiecesMax + 1u);
}

TEST(EntryRecord, PiecesOfOthersMayStandBeforeItsOwn) {
  auto entries = numbered(record_entries(record(200)), 100);
  const auto others = numbered(record_entries(record(90)), 10);
  entries.insert(entries.begin(), others.begin(), others.end() - 1);
  EXPECT_EQ(read(entries), record(200));
}

TEST(EntryRecord, IsNothingWhereAPieceIsMissingOrOfAnotherAttempt) {
  const auto whole = numbered(record_entries(record(200)), 7);
  for (std::size_t k = 0; k + 1 < whole.size(); ++k) {
    auto entries = whole;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_EQ(read(entries), std::nullopt) << k;
    entries = whole;
    entries[k].request += 100;
    EXPECT_EQ(read(entries), std::nullopt) << k;
  }
}

TEST(EntryRecord, IsNothingWhereOneBitIsAnother) {
  const auto whole = numbered(record_entries(record(77)), 7);
  const auto bytes = std::as_bytes(std::span{whole});
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto entries = whole;
    auto* const turned =
        reinterpret_cast<std::byte*>(entries.data()) + bit / 8;  // NOLINT: bytes of a value.
    *turned ^= std::byte{1} << (bit % 8);
    const auto answer = read(entries);
    EXPECT_TRUE(!answer || answer == record(77)) << bit;  // Bits that say nothing change nothing.
  }
}

TEST(EntryRecord, NothingToLocksIsWhatTablesNeverSee) {
  for (const std::uint8_t kind :
       {std::uint8_t{0}, kEntryPiece, kEntryBarrier, kEntryConfiguration, kEntryRecord}) {
    EXPECT_TRUE(is_nothing_to_locks(kind));
  }
  EXPECT_FALSE(is_nothing_to_locks(static_cast<std::uint8_t>(LockCommandKind::Acquire)));
  EXPECT_FALSE(is_nothing_to_locks(static_cast<std::uint8_t>(LockCommandKind::Unknown)));
}

}  // namespace
}  // namespace gcoord::locks
