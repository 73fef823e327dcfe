// The hash index against std::map, with hashes that collide on purpose.
#include "common/tables/hash_index.h"

#include "common/random.h"
#include "common/tables/growing_index.h"
#include "common/tables/mapped_column.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace gcoord {
namespace {

RC_GTEST_PROP(HashIndexProperty, FindsExactlyWhatIsThereThroughGrowthAndRemoval, ()) {
  // Row r has the hash hashes[r]; few distinct hashes near the end of the table make long runs
  // that wrap around.
  const auto hashes = *rc::gen::container<std::vector<std::uint32_t>>(
      120,
      rc::gen::weightedOneOf<std::uint32_t>({{3, rc::gen::inRange<std::uint32_t>(0, 8)},
                                             {3, rc::gen::inRange(0xfffffff8u, 0xffffffffu)},
                                             {1, rc::gen::arbitrary<std::uint32_t>()}}));
  const auto toggles =
      *rc::gen::container<std::vector<std::uint32_t>>(400, rc::gen::inRange<std::uint32_t>(1, 120));
  GrowingIndex index;
  std::set<std::uint32_t> present;
  for (const std::uint32_t row : toggles) {
    index.reserve(static_cast<std::uint32_t>(present.size()) + 1);
    if (present.erase(row) == 0) {
      index.view().insert(hashes[row], row);
      present.insert(row);
    } else {
      index.view().erase(hashes[row], row);
    }
    for (std::uint32_t wanted = 1; wanted < 120; ++wanted) {
      const std::uint32_t found = index.view().find(
          hashes[wanted], [wanted](std::uint32_t candidate) { return candidate == wanted; });
      RC_ASSERT(found == (present.contains(wanted) ? wanted : 0));
    }
  }
}

// Rows of the index that a table still holds.
std::size_t rows_in(const HashIndex& table) {
  std::size_t count = 0;
  for (std::size_t i = 0; table.lines != nullptr && i <= table.mask; ++i) {
    for (const std::uint64_t slot : table.lines[i].slot) {
      count += slot != 0 ? 1 : 0;
    }
  }
  return count;
}

TEST(GrowingIndex, DoublingMovesAFewRowsPerCallAndEveryRowStaysFindable) {
  constexpr std::uint32_t kRows = 4096;
  GrowingIndex index;
  index.reserve(kRows);
  const auto hash_of = [](std::uint32_t row) { return static_cast<std::uint32_t>(mix64(row)); };
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    index.view().insert(hash_of(row), row);
  }
  index.reserve(kRows + 1);
  std::size_t before = kRows;
  std::uint32_t added = 0;
  for (; index.moving(); ++added) {
    const std::size_t left = rows_in(index.view().previous);
    ASSERT_LE(before - left, GrowingIndex::kMovesPerCall);
    before = left;
    index.view().insert(hash_of(kRows + 1 + added), kRows + 1 + added);
    index.reserve(kRows + 1);
  }
  EXPECT_LT(added, kRows);  // Done before the next doubling.
  for (std::uint32_t row = 1; row <= kRows + added; ++row) {
    const auto same = [row](std::uint32_t candidate) { return candidate == row; };
    ASSERT_EQ(index.view().find(hash_of(row), same), row);
  }
}

TEST(MappedColumn, GrowingKeepsTheContentAndAddsZeroes) {
  MappedColumn<std::uint64_t> column;
  std::size_t filled = 0;
  // From 16 MiB on with huge pages, whose edges are none.
  for (const std::size_t count : {1u, 512u, 513u, 100'000u, 3'000'001u, 7'000'003u, 100u}) {
    column.resize(count);
    for (std::size_t i = 0; i < column.size(); ++i) {
      ASSERT_EQ(column[i], i < filled ? i + 1 : 0);
    }
    for (; filled < column.size(); ++filled) {
      column[filled] = filled + 1;
    }
  }
  EXPECT_EQ(column.size(), 7'000'003u);
  column.clear();
  EXPECT_EQ(column.memory_bytes(), 0u);
}

}  // namespace
}  // namespace gcoord
