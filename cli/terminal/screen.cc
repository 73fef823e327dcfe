#include "cli/terminal/screen.h"

#include "common/text/cells.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
#include <sstream>

namespace gcoord::cli {

namespace {

// xterm's control sequences (ECMA-48 and ctlseqs.txt).
constexpr const char* kBegin = "\x1b[?1049h\x1b[?25l";  // The other screen, without a cursor.
constexpr const char* kEnd = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kLineEnd = "\x1b[K\r\n";
constexpr const char* kRest = "\x1b[J";

}  // namespace

Screen::Screen(bool redrawn) : terminal_(redrawn && ::isatty(STDOUT_FILENO) == 1) {
  if (terminal_) {
    std::cout << kBegin << std::flush;
  }
}

Screen::~Screen() {
  if (terminal_) {
    std::cout << kEnd << std::flush;
  }
}

void Screen::wait(const std::string& line) const {
  if (terminal_) {
    show(line + "\n");
  }
}

void Screen::show(const std::string& text) const {
  if (!terminal_) {
    std::cout << text << "\n" << std::flush;
    return;
  }
  winsize window{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  std::istringstream lines{fitted(text, known ? window.ws_col : 80, known ? window.ws_row : 24)};
  std::string drawn = kHome;
  for (std::string line; std::getline(lines, line);) {
    drawn += (drawn == kHome ? "" : kLineEnd) + line;
  }
  std::cout << drawn << "\x1b[K" << kRest << std::flush;
}

std::string fitted(const std::string& text, std::size_t columns, std::size_t rows) {
  std::istringstream lines{text};
  std::string shown;
  std::size_t row = 0;
  for (std::string line; row < rows && std::getline(lines, line); ++row) {
    shown += std::string{fitting(line, columns)} + "\n";
  }
  return shown;
}

}  // namespace gcoord::cli
