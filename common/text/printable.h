// Characters that do something to a terminal in place of being printed, and text without them.
//
// They are the control characters (C0, DEL, C1), the line separators U+2028 and U+2029, the marks
// that change the direction of text around them, and Unicode's noncharacters. New names and notes
// with one of them are refused (protocol/validate.h). What came from outside all the same is
// printed by shown(): a name of before, the words of another node. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gcoord {

bool is_printable(char32_t code_point);

// Whether the text is well-formed UTF-8 of printable characters only. True for no text.
bool is_printable(std::string_view text);

// The text with \u{...} in place of each character that is not printable, in hexadecimal digits,
// and U+FFFD in place of each byte that is not UTF-8. One line: line feeds are written so, too.
std::string shown(std::string_view text);

// The text in double quotes, as shown(), with a '\' before each '"' and '\' of it. For words of
// others within a line: nothing in them looks like the line's own words, and they can be read back.
std::string in_quotes(std::string_view text);

}  // namespace gcoord
