// Keys of a terminal as actions of top. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli::top {

enum class Action : std::uint8_t {
  Up,
  Down,
  PageUp,
  PageDown,
  First,
  Last,
  OtherTable,
  Open,
  Back,
  SortLeft,
  SortRight,
  SortBy,  // KeyPress::letter is the key of the column.
  Reverse,
  Slower,
  Faster,
  Pause,
  Help,
  Redraw,
  Quit,
  Other,  // A key without a meaning of its own.
};

struct KeyPress {
  Action action{};
  char letter = 0;  // Of SortBy.

  friend bool operator==(const KeyPress&, const KeyPress&) = default;
};

// Takes the whole keys off the beginning of what was typed.
// The beginning of an escape sequence stays until the rest is there. `settled` says that no rest
// will come: an ESC alone is the key Esc then.
std::vector<KeyPress> take_keys(std::string& typed, bool settled);

}  // namespace gcoord::cli::top
