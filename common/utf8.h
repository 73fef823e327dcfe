// UTF-8 as it should be (RFC 3629): no overlong forms, no surrogates, at most U+10FFFF. Names come
// from clients and are printed by tools; malformed ones are refused at every door. Host only;
// thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace gcoord {

bool utf8_well_formed(std::string_view text);

struct Utf8Character {
  char32_t code_point = 0;
  std::size_t bytes = 1;
  bool well_formed = false;  // Else it is one byte that begins no character.
};

// The first character of a text that is not empty.
Utf8Character utf8_first(std::string_view text);

}  // namespace gcoord
