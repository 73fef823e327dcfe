// Cells that text takes on a terminal: two for a wide character of East Asia or a picture, none for
// a mark that joins the character before it. Bytes that are not UTF-8 take one each, as terminals
// show them. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace gcoord {

std::size_t cells_of(char32_t code_point);

std::size_t cells_of(std::string_view text);

// The longest beginning of the text that fits into so many cells; never ends within a character.
std::string_view fitting(std::string_view text, std::size_t cells);

}  // namespace gcoord
