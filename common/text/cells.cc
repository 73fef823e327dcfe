#include "common/text/cells.h"

#include "common/text/cell_table.h"
#include "common/utf8.h"

#include <algorithm>
#include <span>

namespace gcoord {

namespace {

bool among(std::span<const CodePoints> sorted, char32_t code_point) {
  const auto above = std::ranges::upper_bound(sorted, code_point, {}, &CodePoints::first);
  return above != sorted.begin() && code_point <= std::prev(above)->last;
}

std::size_t cells_of_character(const Utf8Character& character) {
  return character.well_formed ? cells_of(character.code_point) : 1;
}

}  // namespace

std::size_t cells_of(char32_t code_point) {
  if (code_point < 0x300) {
    return 1;
  }
  return among(kJoining, code_point) ? 0 : among(kWide, code_point) ? 2 : 1;
}

std::size_t cells_of(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) {
    const Utf8Character first = utf8_first(text);
    cells += cells_of_character(first);
    text.remove_prefix(first.bytes);
  }
  return cells;
}

std::string_view fitting(std::string_view text, std::size_t cells) {
  std::size_t taken = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character next = utf8_first(text.substr(at));
    taken += cells_of_character(next);
    if (taken > cells) {
      return text.substr(0, at);
    }
    at += next.bytes;
  }
  return text;
}

}  // namespace gcoord
