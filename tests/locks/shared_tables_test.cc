// Index lines, windows of free rows and blocks of names, which many writers share. Here with one
// writer at a time and on the host: a kernel's local memory has no atomic operations.
// lock_writer_test and lock_turn_service_test let many writers meet, and a device do the same.
#include "common/random.h"
#include "common/tables/hash_index.h"
#include "common/tables/row_pool.h"
#include "locks/state/names.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kSeeds = 512;

struct AnyRow {
  std::uint32_t row;

  bool operator()(std::uint32_t candidate) const { return candidate == row; }
};

// Rows 1 to 16 in four lines, with hashes that meet in few of them; toggled at random, with and
// without a spare slot, alone or as one of many.
void shared_index_finds_exactly_what_is_there(std::uint32_t seed) {
  constexpr std::uint32_t kRows = 16;
  IndexLine lines[4];
  IndexSpare spare;
  HashIndex index{.lines = lines, .mask = 3, .spare = seed % 2 == 0 ? &spare : nullptr};
  index.writers = seed % 4 < 2 ? IndexWriters::One : IndexWriters::Many;
  const std::uint32_t spread = 1 + seed % 5;
  std::uint32_t present = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t row = 1 + random_below(random64(seed, 1, i), kRows);
    const std::uint32_t hash = row % spread;
    if ((present >> row & 1) == 0) {
      index.insert(hash, row);
    } else {
      EXPECT_TRUE(index.erase(hash, row));
    }
    present ^= 1u << row;
    for (std::uint32_t wanted = 1; wanted <= kRows; ++wanted) {
      const std::uint32_t found = index.find(wanted % spread, AnyRow{wanted});
      EXPECT_TRUE(found == ((present >> wanted & 1) != 0 ? wanted : 0));
    }
  }
}

// After everything is erased no line remembers that a row passed it.
void shared_index_emptied_lines_are_as_new(std::uint32_t seed) {
  constexpr std::uint32_t kRows = 20;
  IndexLine lines[4];
  IndexSpare spare;
  const HashIndex index{.lines = lines, .mask = 3, .spare = &spare};
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    index.insert(random_below(random64(seed, 2, row), 3), row);
  }
  for (std::uint32_t row = kRows; row > 0; --row) {
    EXPECT_TRUE(index.erase(random_below(random64(seed, 2, row), 3), row));
  }
  index.release_spare();
  for (const IndexLine& line : lines) {
    EXPECT_TRUE(line.last == 0);
    for (const std::uint64_t slot : line.slot) {
      EXPECT_TRUE(slot == 0);
    }
  }
}

struct TestRecord {
  std::uint32_t value = 7;
};

// A writer with a window of four rows in a ring: rows it gave back last come first.
TEST(RowWindow, TakesWhatItGaveBackLast) {
  constexpr std::uint32_t kRing = 32;
  TestRecord records[kRing / 2 + 1];
  std::uint32_t ring[kRing] = {};
  for (std::uint32_t i = 0; i < kRing / 2; ++i) {
    ring[i] = kRing / 2 - i;
  }
  RowWindow window{.first = 4, .next = 4, .last = 8};
  RowPool<TestRecord, StrongId<struct TestRowTag, std::uint32_t>> pool;
  pool.records = records;
  pool.free_rows = ring;
  pool.window = &window;
  pool.capacity = kRing / 2;
  pool.position_mask = kRing - 1;
  const auto first = pool.take();
  EXPECT_TRUE(first.value == ring[4]);
  EXPECT_TRUE(pool[first].value == 7);
  const auto second = pool.take();
  pool.give_back(first);
  EXPECT_TRUE(pool.take() == first);
  pool.give_back(second);
  pool.give_back(first);
  EXPECT_TRUE(window.next == window.first);
  EXPECT_TRUE(pool.take() == first);
}

void name_blocks_give_back_the_name_that_was_stored(std::uint32_t seed) {
  constexpr std::uint32_t kBlocks = 6;
  NameBlock blocks[kBlocks + 1];
  std::uint32_t free_rows[kBlocks] = {};
  RowWindow window{.last = kBlocks};
  LockTables tables;
  tables.name_blocks.records = blocks;
  tables.name_blocks.free_rows = free_rows;
  tables.name_blocks.window = &window;
  tables.name_blocks.capacity = kBlocks;
  constexpr std::uint32_t kBytesMax = kBlocks * NameBlock::kBytes;
  char name[kBytesMax];
  const std::uint32_t name_bytes = 1 + seed % kBytesMax;
  for (std::uint32_t i = 0; i < name_bytes; ++i) {
    name[i] = static_cast<char>(random64(seed, 3, i));
  }
  const NameBlockRow first = store_name(tables, name, name_bytes);
  EXPECT_TRUE(window.next == name_block_count(name_bytes));
  char loaded[kBytesMax] = {};
  EXPECT_TRUE(load_name(tables, first, loaded) == name_bytes);
  for (std::uint32_t i = 0; i < name_bytes; ++i) {
    EXPECT_TRUE(loaded[i] == name[i]);
  }
  release_name(tables, first);
  EXPECT_TRUE(window.next == 0);
}

TEST(SharedIndex, FindsExactlyWhatIsThere) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    shared_index_finds_exactly_what_is_there(seed);
  }
}

TEST(SharedIndex, EmptiedLinesAreAsNew) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    shared_index_emptied_lines_are_as_new(seed);
  }
}

TEST(NameBlocks, GiveBackTheNameThatWasStored) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    name_blocks_give_back_the_name_that_was_stored(seed);
  }
}

}  // namespace
}  // namespace gcoord::locks
