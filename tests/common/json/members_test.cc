// Members of an object from outside: numbers that are strings, arrays, and what is wrong first.
#include "common/json/members.h"

#include "common/json/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace gcoord {
namespace {

using Three = std::array<std::uint64_t, 3>;

TEST(JsonMembers, NumbersMayBeStringsAndMayBeAbsent) {
  const Json object = parse_json(R"({"a":7,"b":"18446744073709551615"})");
  JsonMembers members(object);
  EXPECT_EQ(members.number<std::uint32_t>("a"), 7u);
  EXPECT_EQ(members.number<std::uint64_t>("b"), ~std::uint64_t{0});
  EXPECT_EQ(members.number<std::uint32_t>("c"), 0u);
  EXPECT_EQ(members.first_wrong(), "");
  EXPECT_EQ(members.number<std::uint32_t>("b"), 0u) << "too large";
  EXPECT_EQ(members.first_wrong(), "b");
}

TEST(JsonMembers, AnArrayOfNumbersHasItsSize) {
  const Json object =
      parse_json(R"({"a":[1,2,18446744073709551615],"b":[1,2],"c":[1,-2,3],"d":7})");
  JsonMembers members(object);
  EXPECT_EQ((members.numbers<std::uint64_t, 3>("a")), (Three{1, 2, ~std::uint64_t{0}}));
  EXPECT_EQ((members.numbers<std::uint64_t, 3>("none")), Three{});
  EXPECT_EQ(members.first_wrong(), "");
  for (const char* name : {"b", "c", "d"}) {
    JsonMembers wrong(object);
    static_cast<void>(wrong.numbers<std::uint64_t, 3>(name));
    EXPECT_EQ(wrong.first_wrong(), name);
  }
}

TEST(JsonMembers, TheFirstWrongMemberIsRemembered) {
  const Json object = parse_json(R"({"a":true,"b":[]})");
  JsonMembers members(object);
  EXPECT_TRUE(members.flag("a"));
  members.require("z");
  static_cast<void>(members.text("b"));
  EXPECT_EQ(members.first_wrong(), "z");
}

}  // namespace
}  // namespace gcoord
