#include "common/assert.h"

#include <gtest/gtest.h>

namespace gcoord {
namespace {

TEST(Assert, EvaluatesItsConditionOnce) {
  int evaluated = 0;
  GCOORD_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(AssertDeathTest, PrintsExpressionAndPlaceInEveryBuild) {
  const int last = 1;
  EXPECT_DEATH(GCOORD_ASSERT(2 <= last), "gcoord: assertion failed: 2 <= last at .*assert_test");
}

}  // namespace
}  // namespace gcoord
