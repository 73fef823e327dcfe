#include "cli/terminal/screen.h"

#include "cli/terminal/wake_sources.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace gcoord::cli {

namespace {

// xterm's control sequences (ECMA-48 and ctlseqs.txt).
constexpr std::string_view kBegin = "\x1b[?1049h\x1b[?25l";  // The other screen, without a cursor.
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseRest = "\x1b[J";
// Shown at once and not by pieces, by terminals that know of it; the others ignore it.
constexpr std::string_view kFrameBegin = "\x1b[?2026h";
constexpr std::string_view kFrameEnd = "\x1b[?2026l";
// Behind a frame that was cut, too: ESC ends a sequence that is not whole.
constexpr std::string_view kEnd = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l";

constexpr std::array kFatalSignals = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// How long the end waits for a terminal that takes no bytes.
constexpr long long kRestorePatienceMs = 200;

// Of a terminal that may block: so many may fit where some do.
constexpr std::size_t kBlockingPieceBytes = 64;

// What a handler of signals may read: the terminal, and how it was before it was taken.
termios keys_before{};
volatile sig_atomic_t terminal_fd = -1;
volatile sig_atomic_t terminal_taken = 0;
volatile sig_atomic_t keys_taken = 0;

unsigned device_of(int fd) {
  unsigned device = 0;
  return ::ioctl(fd, TIOCGDEV, &device) == 0 ? device : 0;
}

// A description of its own, so that O_NONBLOCK is of nobody else. The terminal may belong to
// another user, as behind su; /dev/tty can be opened then. Else the one that there is, which may
// block.
int open_anew() {
  for (const char* path : {"/proc/self/fd/1", "/dev/tty"}) {
    const int fd = ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && device_of(fd) == device_of(STDOUT_FILENO)) {
      return fd;
    }
    if (fd >= 0) {
      ::close(fd);
    }
  }
  return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
}

// True for a terminal that has no foreground, and so no background.
bool in_foreground() {
  const pid_t group = ::tcgetpgrp(terminal_fd);
  return group < 0 || group == ::getpgrp();
}

bool becomes_writable(int fd, long long timeout_ms) {
  pollfd polled{fd, POLLOUT, 0};
  return ::poll(&polled, 1, static_cast<int>(timeout_ms)) > 0;
}

// How many bytes the terminal took; -1 with errno as of write().
ssize_t write_some(int fd, std::string_view bytes) {
  const bool blocks = (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  return ::write(
      fd, bytes.data(), blocks ? std::min(bytes.size(), kBlockingPieceBytes) : bytes.size());
}

bool not_now(int error) {
  return error == EAGAIN || error == EINTR;
}

long long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<long long>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// Whether the terminal took all of it in time. May be called by a handler of signals.
bool print_within(std::string_view bytes, long long timeout_ms) {
  const long long latest = now_ms() + timeout_ms;
  while (!bytes.empty()) {
    const long long left = std::max(latest - now_ms(), 0LL);
    const bool writable = becomes_writable(terminal_fd, left);
    const ssize_t count = writable ? write_some(terminal_fd, bytes) : -1;
    if ((count < 0 && writable && !not_now(errno)) || (count <= 0 && left == 0)) {
      return false;
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return true;
}

// A terminal in whose background this process is now has the shell's settings, or another's.
void restore_terminal() {
  if (terminal_taken == 0 || !in_foreground()) {
    return;
  }
  if (!print_within(kEnd, kRestorePatienceMs)) {
    ::tcflush(terminal_fd, TCOFLUSH);  // What it has not taken makes room.
    print_within(kEnd, 0);
  }
  if (keys_taken != 0) {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys_before);
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

Screen::Screen() : keys_(::isatty(STDIN_FILENO) == 1), fd_(open_anew()) {
  terminal_fd = fd_;
  watch_fatal_signals(true);
  take();
}

Screen::~Screen() {
  give_back();
  watch_fatal_signals(false);
  terminal_fd = -1;
  ::close(fd_);
}

ScreenSize Screen::size() const {
  winsize window{};
  ScreenSize size;
  if (::ioctl(fd_, TIOCGWINSZ, &window) == 0) {
    size.columns = window.ws_col > 0 ? window.ws_col : size.columns;
    size.rows = window.ws_row > 0 ? window.ws_row : size.rows;
  }
  return size;
}

bool Screen::taken() const {
  return terminal_taken != 0;
}

// A line is erased before it is written: behind one that fills the row the last cell would go.
void Screen::draw(const std::vector<std::string>& lines) {
  if (!taken()) {
    return;
  }
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
  next_ = std::move(drawn.append(kFrameEnd));
  write_on();
}

void Screen::write_on() {
  while (!writing_.empty() || !next_.empty()) {
    if (writing_.empty()) {
      writing_.swap(next_);
    }
    if (!becomes_writable(fd_, 0)) {
      return;
    }
    const ssize_t count = write_some(fd_, writing_);
    if (count < 0) {
      gone_ = !not_now(errno);
      return;
    }
    writing_.erase(0, static_cast<std::size_t>(count));
  }
}

void Screen::stop_here() {
  give_back();
  act_by_default(SIGTSTP);
}

void Screen::take() {
  writing_.clear();
  next_.clear();
  terminal_taken = in_foreground() ? 1 : 0;
  if (!taken()) {
    return;
  }
  if (keys_ && (keys_taken != 0 || ::tcgetattr(STDIN_FILENO, &keys_before) == 0)) {
    termios raw = keys_before;
    raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    keys_taken = 1;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  writing_ = kBegin;
  write_on();
}

void Screen::give_back() {
  writing_.clear();
  next_.clear();
  restore_terminal();
  keys_taken = 0;
  terminal_taken = 0;
}

}  // namespace gcoord::cli
