#include "common/strong_id.h"

#include "common/ids.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <type_traits>
#include <unordered_set>

namespace gcoord {
namespace {

// What must not compile is stated as what is not convertible.
static_assert(!std::is_convertible_v<std::uint64_t, Term>);
static_assert(!std::is_convertible_v<Term, std::uint64_t>);
static_assert(!std::is_convertible_v<Term, LogIndex>);
static_assert(!std::is_constructible_v<Term, LogIndex>);
static_assert(std::is_trivially_copyable_v<ShardId>);
static_assert(sizeof(ShardId) == 4 && sizeof(Term) == 8);

TEST(StrongId, StartsAtZero) {
  EXPECT_EQ(Term{}, Term{0});
  EXPECT_EQ(Term{}.value, 0u);
}

TEST(StrongId, StepsAndMeasuresDistance) {
  LogIndex index{41};
  EXPECT_EQ(++index, LogIndex{42});
  EXPECT_EQ(index + 8, LogIndex{50});
  EXPECT_EQ(index - std::uint64_t{2}, LogIndex{40});
  EXPECT_EQ(LogIndex{50} - LogIndex{42}, 8u);
}

TEST(StrongId, WrapsLikeItsRepresentation) {
  EXPECT_EQ(ShardId{~std::uint32_t{0}} + 1, ShardId{0});
  EXPECT_EQ(ShardId{0} - 1u, ShardId{~std::uint32_t{0}});
}

TEST(StrongId, IsAKeyOfHashedContainers) {
  const std::unordered_set<NodeId> nodes{NodeId{1}, NodeId{2}, NodeId{1}};
  EXPECT_EQ(nodes.size(), 2u);
}

RC_GTEST_PROP(StrongId, ComparesLikeItsValue, (std::uint64_t a, std::uint64_t b)) {
  const Term left{a};
  const Term right{b};
  RC_ASSERT((left == right) == (a == b));
  RC_ASSERT((left != right) == (a != b));
  RC_ASSERT((left < right) == (a < b));
  RC_ASSERT((left <= right) == (a <= b));
  RC_ASSERT((left > right) == (a > b));
  RC_ASSERT((left >= right) == (a >= b));
  RC_ASSERT(min_id(left, right).value == (a < b ? a : b));
  RC_ASSERT(max_id(left, right).value == (a < b ? b : a));
}

}  // namespace
}  // namespace gcoord
