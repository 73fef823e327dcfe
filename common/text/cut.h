// Text that is cut to a number of bytes, and stays UTF-8 if it was. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>

namespace gcoord {

// Leaves at most `bytes_max` bytes; a character that would be cut goes as a whole.
inline void cut_utf8(std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) {
    return;
  }
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80) {
    --end;
  }
  text.resize(end);
}

}  // namespace gcoord
