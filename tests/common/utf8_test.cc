#include "common/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord {
namespace {

// RFC 3629, section 3: the table that maps a code point to its bytes, surrogates and all.
std::string encode(std::uint32_t code_point) {
  const auto tail = [&](unsigned shift) {
    return static_cast<char>(0x80u | ((code_point >> shift) & 0x3fu));
  };
  if (code_point < 0x80) {
    return {static_cast<char>(code_point)};
  }
  if (code_point < 0x800) {
    return {static_cast<char>(0xc0u | (code_point >> 6)), tail(0)};
  }
  if (code_point < 0x10000) {
    return {static_cast<char>(0xe0u | (code_point >> 12)), tail(6), tail(0)};
  }
  return {static_cast<char>(0xf0u | (code_point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, AcceptsTheFirstAndLastCodePointOfEveryLength) {
  EXPECT_TRUE(utf8_well_formed(""));
  for (const std::uint32_t code_point :
       {0x0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd7ffu, 0xe000u, 0xffffu, 0x10000u, 0x10ffffu}) {
    EXPECT_TRUE(utf8_well_formed(encode(code_point))) << code_point;
  }
}

TEST(Utf8, RefusesSurrogatesAndWhatIsBeyondUnicode) {
  EXPECT_FALSE(utf8_well_formed(encode(0xd800)));
  EXPECT_FALSE(utf8_well_formed(encode(0xdfff)));
  EXPECT_FALSE(utf8_well_formed(encode(0x110000)));
  EXPECT_FALSE(utf8_well_formed("\xff"));
}

TEST(Utf8, RefusesOverlongForms) {
  EXPECT_FALSE(utf8_well_formed("\xc0\xaf"));
  EXPECT_FALSE(utf8_well_formed("\xc1\xbf"));
  EXPECT_FALSE(utf8_well_formed("\xe0\x80\xaf"));
  EXPECT_FALSE(utf8_well_formed("\xe0\x9f\xbf"));
  EXPECT_FALSE(utf8_well_formed("\xf0\x80\x80\xaf"));
  EXPECT_FALSE(utf8_well_formed("\xf0\x8f\xbf\xbf"));
}

TEST(Utf8, RefusesATailWithoutItsHeadAndAHeadWithoutItsTail) {
  EXPECT_FALSE(utf8_well_formed("\x80"));
  EXPECT_FALSE(utf8_well_formed("a\xbf"));
  for (const std::uint32_t code_point : {0x80u, 0x20acu, 0x1f512u}) {
    const std::string whole = encode(code_point);
    for (std::size_t length = 1; length < whole.size(); ++length) {
      EXPECT_FALSE(utf8_well_formed(whole.substr(0, length))) << code_point << " cut at " << length;
      EXPECT_FALSE(utf8_well_formed(whole.substr(0, length) + "a")) << code_point;
    }
  }
}

RC_GTEST_PROP(Utf8, AcceptsAnySequenceOfCodePoints, ()) {
  const auto plane = rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 0xd800),
                                    rc::gen::inRange<std::uint32_t>(0xe000, 0x110000));
  std::string text;
  for (const auto code_point : *rc::gen::container<std::vector<std::uint32_t>>(plane)) {
    text += encode(code_point);
  }
  RC_ASSERT(utf8_well_formed(text));
}

}  // namespace
}  // namespace gcoord
