#include "common/tables/column_arena.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord {
namespace {

TEST(ColumnArena, SumsUpWhatItsColumnsTake) {
  EXPECT_EQ(ColumnArena::bytes_for<std::uint64_t>(0), 0u);
  EXPECT_EQ(ColumnArena::bytes_for<std::uint64_t>(1), 128u);
  EXPECT_EQ(ColumnArena::bytes_for<std::uint64_t>(16), 128u);
  EXPECT_EQ(ColumnArena::bytes_for<std::uint64_t>(17), 256u);
}

TEST(ColumnArena, CarvesAlignedZeroedColumnsThatDoNotOverlap) {
  constexpr std::size_t kRows = 100;
  ColumnArena arena{ColumnArena::bytes_for<std::uint32_t>(kRows) +
                    ColumnArena::bytes_for<std::uint64_t>(kRows)};
  auto* narrow = arena.column<std::uint32_t>(kRows);
  auto* wide = arena.column<std::uint64_t>(kRows);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(narrow) % ColumnArena::kAlignment, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide) % ColumnArena::kAlignment, 0u);
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(narrow[row], 0u);
    EXPECT_EQ(wide[row], 0u);
    narrow[row] = ~std::uint32_t{0};
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(wide[row], 0u);
  }
  EXPECT_EQ(arena.used_bytes(), arena.capacity_bytes());
}

TEST(ColumnArena, MayBeEmpty) {
  const ColumnArena arena{0};
  EXPECT_EQ(arena.capacity_bytes(), 0u);
}

TEST(ColumnArenaDeathTest, StopsWhoAsksForMoreThanTheSum) {
  ColumnArena arena{ColumnArena::bytes_for<std::uint64_t>(16)};
  static_cast<void>(arena.column<std::uint64_t>(16));
  EXPECT_DEATH(static_cast<void>(arena.column<std::uint8_t>(1)), "assertion failed");
}

}  // namespace
}  // namespace gcoord
