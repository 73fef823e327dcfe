#include "common/text/cells.h"

#include <gtest/gtest.h>

namespace gcoord {
namespace {

TEST(Cells, AreNotBytes) {
  EXPECT_EQ(cells_of(""), 0u);
  EXPECT_EQ(cells_of("abc"), 3u);
  EXPECT_EQ(cells_of("Schl\u00fcssel"), 9u);
  EXPECT_EQ(cells_of("\u65e5\u672c"), 4u);
  EXPECT_EQ(cells_of("\U0001f512"), 2u);
  EXPECT_EQ(cells_of("\xff\xff"), 2u);
}

TEST(Cells, MarksJoinWhatTheyStandBehind) {
  EXPECT_EQ(cells_of("e\u0301"), 1u);
  EXPECT_EQ(cells_of("\u1112\u1161\u11ab"), 2u);
}

TEST(Cells, ABeginningEndsBeforeTheCharacterThatDoesNotFit) {
  EXPECT_EQ(fitting("a\u65e5b", 2), "a");
  EXPECT_EQ(fitting("a\u65e5b", 3), "a\u65e5");
  EXPECT_EQ(fitting("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(fitting("abc", 9), "abc");
  EXPECT_EQ(fitting("abc", 0), "");
}

}  // namespace
}  // namespace gcoord
