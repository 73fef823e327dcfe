#include "common/utf8.h"

#include <cstddef>

namespace gcoord {
namespace {

struct Lead {
  std::size_t followers = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xbf;
  bool valid = true;
};

// What may follow a lead byte: table 3-7 of the Unicode Standard, which shuts out overlong forms
// and surrogates by narrowing the second byte.
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) {
    return {};
  }
  if (byte >= 0xc2 && byte <= 0xdf) {
    return {.followers = 1};
  }
  if (byte >= 0xe0 && byte <= 0xef) {
    const unsigned char second_min = byte == 0xe0 ? 0xa0 : 0x80;
    const unsigned char second_max = byte == 0xed ? 0x9f : 0xbf;
    return {.followers = 2, .second_min = second_min, .second_max = second_max};
  }
  if (byte >= 0xf0 && byte <= 0xf4) {
    const unsigned char second_min = byte == 0xf0 ? 0x90 : 0x80;
    const unsigned char second_max = byte == 0xf4 ? 0x8f : 0xbf;
    return {.followers = 3, .second_min = second_min, .second_max = second_max};
  }
  return {.valid = false};
}

unsigned char byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

}  // namespace

Utf8Character utf8_first(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const Lead lead = lead_of(first);
  if (!lead.valid || text.size() <= lead.followers) {
    return {};
  }
  // A lead byte has one mark more than it has followers, and a zero behind them.
  char32_t code_point = lead.followers == 0 ? first : first & (0x3fu >> lead.followers);
  for (std::size_t i = 1; i <= lead.followers; ++i) {
    const unsigned char follower = byte_at(text, i);
    const unsigned char low = i == 1 ? lead.second_min : 0x80;
    const unsigned char high = i == 1 ? lead.second_max : 0xbf;
    if (follower < low || follower > high) {
      return {};
    }
    code_point = (code_point << 6) | (follower & 0x3fu);
  }
  return {.code_point = code_point, .bytes = 1 + lead.followers, .well_formed = true};
}

bool utf8_well_formed(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character first = utf8_first(text);
    if (!first.well_formed) {
      return false;
    }
    text.remove_prefix(first.bytes);
  }
  return true;
}

}  // namespace gcoord
