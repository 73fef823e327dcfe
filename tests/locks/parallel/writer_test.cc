// Writers of one set of tables, side by side: indexes and rings of free rows that they share.
#include "locks/parallel/writer.h"

#include "common/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace gcoord::locks {
namespace {

// Each writer toggles keys of its own, all of them in the same few lines.
TEST(SharedIndex, SeveralWritersFindTheirOwnRowsWhateverTheOthersDo) {
  constexpr std::uint32_t kWriters = 4;
  constexpr std::uint32_t kRowsEach = 8;
  std::vector<IndexLine> lines(16);
  const HashIndex index{.lines = lines.data(), .mask = 15, .writers = IndexWriters::Many};
  std::array<std::uint32_t, kWriters> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&, writer] {
        std::uint32_t present = 0;
        for (std::uint32_t i = 0; i < 20'000; ++i) {
          const std::uint32_t number = random_below(random64(writer, 1, i), kRowsEach);
          const std::uint32_t row = 1 + number * kWriters + writer;
          const bool was_there = (present >> number & 1) != 0;
          const std::uint32_t found =
              index.find(row % 3, [row](std::uint32_t candidate) { return candidate == row; });
          wrong[writer] += found == (was_there ? row : 0) ? 0 : 1;
          if (was_there) {
            wrong[writer] += index.erase(row % 3, row) ? 0 : 1;
          } else {
            index.insert(row % 3, row);
          }
          present ^= 1u << number;
        }
      });
    }
  }
  for (const std::uint32_t count : wrong) {
    EXPECT_EQ(count, 0u);
  }
}

// What was taken in an earlier batch goes to the end of the ring, where later batches find it.
TEST(RowWindow, RowsBeyondTheOwnGoToTheEndOfTheRing) {
  std::vector<NameBlock> records(9);
  std::vector<std::uint32_t> ring(16);
  std::uint32_t returned = 8;
  RowWindow window{.first = 4, .next = 4, .last = 6};
  RowPool<NameBlock, NameBlockRow> pool;
  pool.records = records.data();
  pool.free_rows = ring.data();
  pool.window = &window;
  pool.returned = &returned;
  pool.capacity = 8;
  pool.position_mask = 15;
  const NameBlockRow taken = pool.take();
  EXPECT_EQ(taken.value, 5u);  // Its position was never written.
  pool.give_back(NameBlockRow{1});
  EXPECT_EQ(window.next, 4u);
  pool.give_back(NameBlockRow{2});
  EXPECT_EQ(returned, 9u);
  EXPECT_EQ(ring[8], 2u);
  EXPECT_EQ(pool.take(), NameBlockRow{1});
}

// Rows that were claimed and not taken come back, each once, whoever returns them.
TEST(LockWriter, RowsThatItDidNotTakeGoToTheEndOfTheRing) {
  constexpr std::uint32_t kRows = 16;
  std::vector<NameBlock> records(kRows + 1);
  std::vector<std::uint32_t> ring(2 * kRows);
  PoolTops tops{.returned = kRows};
  RowPool<NameBlock, NameBlockRow> pool;
  pool.records = records.data();
  pool.free_rows = ring.data();
  pool.returned = &tops.returned;
  pool.capacity = kRows;
  pool.position_mask = 2 * kRows - 1;
  std::array<RowWindow, 2> windows{claim_rows(tops, 10), claim_rows(tops, 6)};
  EXPECT_EQ(tops.available(), 0u);
  pool.window = &windows[0];
  EXPECT_EQ(pool.take(), NameBlockRow{1});
  return_rows(pool, windows[0], tops);
  return_rows(pool, windows[1], tops);
  EXPECT_EQ(tops.available(), kRows - 1);
  RowWindow all = claim_rows(tops, tops.available());
  pool.window = &all;
  std::vector<std::uint32_t> rows;
  while (pool.available() != 0) {
    rows.push_back(pool.take().value);
  }
  std::ranges::sort(rows);
  std::vector<std::uint32_t> wanted(kRows - 1);
  std::iota(wanted.begin(), wanted.end(), 2u);
  EXPECT_EQ(rows, wanted);
}

}  // namespace
}  // namespace gcoord::locks
