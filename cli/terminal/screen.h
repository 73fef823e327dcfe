// A view on a terminal that is drawn over itself: no flicker, nothing beyond the window's edges,
// and the terminal as it was when the view ends. One thread; one at a time.
#pragma once

#include <string>

namespace gcoord::cli {

class Screen {
 public:
  // Takes the terminal on stdout over, if there is one and the view is to be redrawn.
  explicit Screen(bool redrawn);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Said before there is a view, and to people only.
  void wait(const std::string& line) const;

  // On a terminal in place of what was shown; else behind it, with an empty line.
  void show(const std::string& text) const;

 private:
  bool terminal_;
};

// The lines of the text that fit, cut where they are wider than so many cells.
std::string fitted(const std::string& text, std::size_t columns, std::size_t rows);

}  // namespace gcoord::cli
