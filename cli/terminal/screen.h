// The whole terminal as one screen that is drawn over itself, with its keys one by one.
//
// Whoever takes the terminal gives it back: at the end of the object, while the program is stopped,
// and when a fatal signal ends it. Only SIGKILL and SIGSTOP of another leave it as it was drawn.
// The terminal is taken in the foreground only, so that no program in the background is stopped
// for it. Drawing does not wait for a terminal that takes no bytes, and giving it back does for
// 0.2 s at most. One thread; one object at a time.
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
  // In place also of the frame before, if the terminal has not begun to take that. Nothing while
  // the terminal is not taken.
  void draw(const std::vector<std::string>& lines);

  // Whether the terminal has yet to take something: write_on() when fd() becomes writable.
  bool waits() const { return !writing_.empty(); }

  int fd() const { return fd_; }

  void write_on();

  // The terminal is no more.
  bool gone() const { return gone_; }

  // Whether stdin has keys: it is a terminal, which is taken.
  bool has_keys() const { return keys_ && taken(); }

  bool taken() const;

  // Gives the terminal back and stops this process, as Ctrl-Z does, until somebody has continued
  // it; at once, where it cannot be stopped (act_by_default()). take() is the caller's then.
  void stop_here();

  // Takes the terminal, if this process is in the foreground: also after somebody else had it, or
  // has stopped this process.
  void take();

 private:
  void give_back();

  const bool keys_;
  const int fd_;  // The terminal, opened anew: it does not block.
  std::string writing_;
  std::string next_;  // The frame behind it.
  bool gone_ = false;
};

}  // namespace gcoord::cli
