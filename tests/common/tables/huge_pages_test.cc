#include "common/tables/huge_pages.h"

#include "common/tables/column_arena.h"
#include "tests/common/tables/page_flags.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord {
namespace {

TEST(HugePages, BeginWithAHugePageAndWantSuch) {
  if (!has_huge_pages()) {
    GTEST_SKIP() << "this kernel has no huge pages";
  }
  const HugePages pages = make_huge_pages(2 * kHugePageBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.get()) % kHugePageBytes, 0u);
  EXPECT_TRUE(wants_huge_pages(pages.get()));
  EXPECT_TRUE(wants_huge_pages(pages.get() + 2 * kHugePageBytes - 1));
}

TEST(HugePages, AHintThatNamesNoWholePageChangesNothing) {
  if (!has_huge_pages()) {
    GTEST_SKIP() << "this kernel has no huge pages";
  }
  ColumnArena arena{kHugePageBytes / 2};
  auto* column = arena.column<std::byte>(kHugePageBytes / 2);
  want_huge_pages(column, kHugePageBytes / 2);
  EXPECT_FALSE(wants_huge_pages(column));
}

TEST(ColumnArena, ItsDensePartWantsHugePagesAndTheRestDoesNot) {
  if (!has_huge_pages()) {
    GTEST_SKIP() << "this kernel has no huge pages";
  }
  constexpr std::size_t kBytes = 3 * kHugePageBytes;
  ColumnArena arena{kBytes, kHugePageBytes};
  auto* column = arena.column<std::byte>(kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column) % kHugePageBytes, 0u);
  EXPECT_TRUE(wants_huge_pages(column));
  EXPECT_FALSE(wants_huge_pages(column + kHugePageBytes));
  EXPECT_EQ(column[0], std::byte{0});
  column[kBytes - 1] = std::byte{1};  // All of it is there.
}

TEST(ColumnArena, IsDenseAsAWholeUnlessToldOtherwise) {
  if (!has_huge_pages()) {
    GTEST_SKIP() << "this kernel has no huge pages";
  }
  ColumnArena arena{2 * kHugePageBytes};
  auto* column = arena.column<std::byte>(2 * kHugePageBytes);
  EXPECT_TRUE(wants_huge_pages(column));
  EXPECT_TRUE(wants_huge_pages(column + 2 * kHugePageBytes - 1));
}

}  // namespace
}  // namespace gcoord
