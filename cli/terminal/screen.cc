#include "cli/terminal/screen.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace gcoord::cli {

namespace {

// xterm's control sequences (ECMA-48 and ctlseqs.txt).
constexpr std::string_view kBegin = "\x1b[?1049h\x1b[?25l";  // The other screen, without a cursor.
constexpr std::string_view kEnd = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseRest = "\x1b[J";
// Shown at once and not by pieces, by terminals that know of it; the others ignore it.
constexpr std::string_view kFrameBegin = "\x1b[?2026h";
constexpr std::string_view kFrameEnd = "\x1b[?2026l";

constexpr std::array kFatalSignals = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Of the terminal before it was taken; what a handler of signals may read.
termios keys_before{};
volatile sig_atomic_t keys_taken = 0;

// May be called by a handler of signals.
void print_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
      return;
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
}

void restore_terminal() {
  print_bytes(kEnd);
  if (keys_taken != 0) {
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys_before);
  }
}

// The signal does what it did before: SA_RESETHAND.
extern "C" void on_fatal_signal(int number) {
  restore_terminal();
  ::raise(number);
}

void watch_fatal_signals(bool watched) {
  struct sigaction action {};

  action.sa_handler = watched ? &on_fatal_signal : SIG_DFL;
  action.sa_flags = watched ? static_cast<int>(SA_RESETHAND) | SA_NODEFER : 0;
  for (const int each : kFatalSignals) {
    ::sigaction(each, &action, nullptr);
  }
}

}  // namespace

bool Screen::possible() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr && *terminal != '\0' &&
         std::string_view{terminal} != "dumb";
}

Screen::Screen() : keys_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(0, &keys_before) == 0) {
  watch_fatal_signals(true);
  take();
}

Screen::~Screen() {
  give_back();
  watch_fatal_signals(false);
}

ScreenSize Screen::size() const {
  winsize window{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return known ? ScreenSize{window.ws_col, window.ws_row} : ScreenSize{};
}

// A line is erased before it is written: behind one that fills the row the last cell would go.
void Screen::draw(const std::vector<std::string>& lines) const {
  std::string drawn{kFrameBegin};
  drawn += kHome;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    drawn += k == 0 ? "" : "\r\n";
    drawn += kEraseLine;
    drawn += lines[k];
  }
  if (lines.size() < size().rows) {
    drawn += "\r\n";
    drawn += kEraseRest;
  }
  print_bytes(drawn.append(kFrameEnd));
}

void Screen::stop_here() {
  give_back();
  ::raise(SIGSTOP);  // To this thread, so that it goes no further before all have stopped.
  take();
}

void Screen::take() {
  if (keys_) {
    termios raw = keys_before;
    raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    keys_taken = 1;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  print_bytes(kBegin);
}

void Screen::give_back() const {
  restore_terminal();
  keys_taken = 0;
}

}  // namespace gcoord::cli
