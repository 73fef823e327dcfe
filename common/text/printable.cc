#include "common/text/printable.h"

#include "common/utf8.h"

#include <algorithm>
#include <charconv>

namespace gcoord {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.

bool between(char32_t first, char32_t code_point, char32_t last) {
  return first <= code_point && code_point <= last;
}

bool controls(char32_t code_point) {
  return code_point < 0x20 || between(0x7f, code_point, 0x9f) ||
         between(0x2028, code_point, 0x2029);
}

// Unicode's Bidi_Control: UAX #9, section 2.
bool turns_direction(char32_t code_point) {
  return code_point == 0x061c || between(0x200e, code_point, 0x200f) ||
         between(0x202a, code_point, 0x202e) || between(0x2066, code_point, 0x2069);
}

// The Unicode Standard, section 23.7: 32 in a row, and the last two of each plane.
bool noncharacter(char32_t code_point) {
  return between(0xfdd0, code_point, 0xfdef) || (code_point & 0xfffe) == 0xfffe;
}

std::string escape_of(char32_t code_point) {
  char digits[8];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof(digits), static_cast<unsigned long>(code_point), 16);
  return "\\u{" + std::string(digits, end) + "}";
}

// Nearly every text.
bool plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte >= 0x20 && byte < 0x7f; });
}

}  // namespace

bool is_printable(char32_t code_point) {
  return !controls(code_point) && !turns_direction(code_point) && !noncharacter(code_point);
}

bool is_printable(std::string_view text) {
  if (plain_ascii(text)) {
    return true;
  }
  while (!text.empty()) {
    const Utf8Character first = utf8_first(text);
    if (!first.well_formed || !is_printable(first.code_point)) {
      return false;
    }
    text.remove_prefix(first.bytes);
  }
  return true;
}

std::string shown(std::string_view text) {
  if (plain_ascii(text)) {
    return std::string{text};
  }
  std::string line;
  while (!text.empty()) {
    const Utf8Character first = utf8_first(text);
    if (!first.well_formed) {
      line += kReplacement;
    } else if (is_printable(first.code_point)) {
      line += text.substr(0, first.bytes);
    } else {
      line += escape_of(first.code_point);
    }
    text.remove_prefix(first.bytes);
  }
  return line;
}

std::string in_quotes(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      escaped += '\\';
    }
    escaped += byte;
  }
  return '"' + shown(escaped) + '"';
}

}  // namespace gcoord
