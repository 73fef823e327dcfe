// The whole terminal as one screen that is drawn over itself, with its keys one by one.
//
// Whoever takes the terminal gives it back: at the end of the object, while the program is stopped,
// and when a fatal signal ends it. Only SIGKILL and SIGSTOP of another leave it as it was drawn.
// One thread; one object at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gcoord::cli {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

class Screen {
 public:
  // Whether stdout is a terminal that can be drawn on: TERM is neither absent nor "dumb".
  static bool possible();

  // Takes the terminal. Keys are read from stdin, if that is a terminal: each as it is typed,
  // unseen. Signals of the terminal (Ctrl-C, Ctrl-Z) stay signals.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // As it is now; 80 by 24 where the terminal does not say.
  ScreenSize size() const;

  // In place of what was there. No line is wider than the screen, and there are not more than fit.
  void draw(const std::vector<std::string>& lines) const;

  // Whether stdin has keys: it is a terminal.
  bool has_keys() const { return keys_; }

  // Gives the terminal back and stops this process, as Ctrl-Z does; takes the terminal again when
  // somebody has continued it.
  void stop_here();

  // Takes the terminal again after somebody else had it, or has stopped this process.
  void take();

 private:
  void give_back() const;

  bool keys_ = false;
};

}  // namespace gcoord::cli
