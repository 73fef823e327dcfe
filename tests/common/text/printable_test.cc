#include "common/text/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord {
namespace {

TEST(Printable, TextOfAnyScriptIs) {
  for (const char* text : {"", "a b", "Schl\u00fcssel", "\u65e5\u672c", "e\u0301", "\U0001f512"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(shown(text), text);
  }
}

TEST(Printable, NothingThatMovesACursorOrTurnsTheDirectionIs) {
  for (const char* text :
       {"\n",     "\t",     "\x1b[2J", "\x7f",       "\u0080", "\u009b", "\u2028", "\u2029",
        "\u061c", "\u200e", "\u200f",  "\u202a",     "\u202e", "\u2066", "\u2069", "\ufdd0",
        "\ufdef", "\ufffe", "\uffff",  "\U0003ffff", "\xff",   "\xc3"}) {
    EXPECT_FALSE(is_printable(text)) << text;
  }
  EXPECT_FALSE(is_printable(std::string(1, '\0')));
  EXPECT_TRUE(is_printable("\u200d\ufeff\ufdcf\ufdf0")) << "joins, but does not control";
}

TEST(Printable, WhatIsNotIsShownAsItsNumber) {
  EXPECT_EQ(shown("a\x1b[31mb"), "a\\u{1b}[31mb");
  EXPECT_EQ(shown("\u009b2J\u202e!"), "\\u{9b}2J\\u{202e}!");
  EXPECT_EQ(shown("\U0010ffff"), "\\u{10ffff}");
  EXPECT_EQ(shown("one\ntwo"), "one\\u{a}two");
  EXPECT_EQ(shown(std::string("\0x", 2)), "\\u{0}x");
}

TEST(Printable, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(shown("a\xff\xc3"), "a\ufffd\ufffd");
  EXPECT_EQ(shown("\x9b"), "\ufffd");
}

TEST(Printable, QuotedWordsEndWhereTheirQuoteEnds) {
  EXPECT_EQ(in_quotes(""), R"("")");
  EXPECT_EQ(in_quotes("ann@build-7"), R"("ann@build-7")");
  EXPECT_EQ(in_quotes(R"(x" (y) 'z')"), R"("x\" (y) 'z'")");
  EXPECT_EQ(in_quotes(R"(a\)"), R"("a\\")");
  // A control and its escape, as somebody may type it, are told apart.
  EXPECT_EQ(in_quotes("\x1b"), R"("\u{1b}")");
  EXPECT_EQ(in_quotes(R"(\u{1b})"), R"("\\u{1b}")");
  EXPECT_EQ(in_quotes("Schl\u00fcssel\xff"), "\"Schl\u00fcssel\ufffd\"");
  // The formatter of a log escapes the line once more.
  EXPECT_EQ(shown(in_quotes("\x1b\"\n")), in_quotes("\x1b\"\n"));
}

}  // namespace
}  // namespace gcoord
