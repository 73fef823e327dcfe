// gcoordctl as a program of a pseudo terminal, and the frames that it draws there.
#pragma once

#include "tests/cli/programs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

// The frames that a program draws with the sequences of cli/terminal/screen.cc.
class Frames {
 public:
  void take(std::string_view bytes) {
    unread_ += bytes;
    while (take_one()) {
    }
  }

  // The last one that was drawn whole.
  const std::vector<std::string>& last() const { return last_; }

  std::string text() const {
    std::string all;
    for (const std::string& line : last_) {
      all += line + "\n";
    }
    return all;
  }

  bool other_screen() const { return other_screen_; }

  // How often the other screen was taken.
  int times_taken() const { return times_taken_; }

 private:
  // False when what is left is the beginning of something.
  bool take_one() {
    if (unread_.empty()) {
      return false;
    }
    if (unread_[0] != '\x1b') {
      take_character(unread_[0]);
      unread_.erase(0, 1);
      return true;
    }
    // Another ESC ends a sequence that is not whole.
    const std::size_t end = unread_.find_first_of("ABCDHJKhlm\x1b", 1);
    if (end == std::string::npos) {
      return false;
    }
    if (unread_[end] != '\x1b') {
      take_sequence(unread_.substr(1, end));
    }
    unread_.erase(0, unread_[end] == '\x1b' ? end : end + 1);
    return true;
  }

  void take_character(char each) {
    if (each == '\n') {
      lines_.emplace_back();
    } else if (each != '\r' && !lines_.empty()) {
      lines_.back() += each;
    }
  }

  void take_sequence(const std::string& sequence) {
    if (sequence == "[H") {
      lines_.assign(1, "");
    } else if (sequence == "[J") {
      lines_.resize(lines_.size() - std::min<std::size_t>(lines_.size(), 1));  // Below the last.
    } else if (sequence == "[?2026l") {
      last_ = lines_;
    } else if (sequence == "[?1049h" || sequence == "[?1049l") {
      other_screen_ = sequence.back() == 'h';
      times_taken_ += other_screen_ ? 1 : 0;
    }
  }

  std::string unread_;
  std::vector<std::string> lines_;
  std::vector<std::string> last_;
  bool other_screen_ = false;
  int times_taken_ = 0;
};

// A process that may stand between the test and the program, with nothing but system calls, since
// the test has threads: the first process of the terminal, which starts the program, says what
// becomes of it, and takes the terminal while it is stopped, as shells do.
class Shell {
 public:
  // A job has a process group of its own. A program in the group of its shell is in an orphaned
  // one: no parent of another group is left in this session to continue it.
  enum class Starts : bool { Job, Orphan };

  // As of execve().
  struct Program {
    const char* path;
    char* const* words;
    char* const* environment;
  };

  // What becomes of the program goes to `reports`: its process, then each status of waitpid.
  Shell(const Program& program, Starts starts, int reports)
      : reports_(reports), job_(starts == Starts::Job) {
    sigset_t old_mask;
    sigemptyset(&watched_);
    for (const int each : {SIGCHLD, SIGUSR1, SIGTTOU}) {
      sigaddset(&watched_, each);
    }
    ::sigprocmask(SIG_BLOCK, &watched_, &old_mask);
    program_ = ::fork();
    if (program_ == 0) {
      if (job_) {
        ::setpgid(0, 0);
        ::tcsetpgrp(STDIN_FILENO, ::getpid());
      }
      ::sigprocmask(SIG_SETMASK, &old_mask, nullptr);
      ::execve(program.path, program.words, program.environment);
      ::_exit(127);
    }
    ::signal(SIGINT, SIG_IGN);  // What is typed is for the program.
    report(program_);
  }

  // Until the program has ended.
  [[noreturn]] void run() {
    while (true) {
      const int arrived = ::sigwaitinfo(&watched_, nullptr);
      if (arrived == SIGUSR1 && job_) {  // As `fg` does.
        ::tcsetpgrp(STDIN_FILENO, program_);
        ::kill(program_, SIGCONT);
      }
      int status = 0;
      while (::waitpid(program_, &status, WNOHANG | WUNTRACED) == program_) {
        if (WIFSTOPPED(status) && job_) {
          ::tcsetpgrp(STDIN_FILENO, ::getpid());
        }
        report(status);
        if (!WIFSTOPPED(status)) {
          ::_exit(0);
        }
      }
    }
  }

 private:
  void report(int number) const {
    if (::write(reports_, &number, sizeof number) != sizeof number) {
      ::_exit(1);
    }
  }

  const int reports_;
  const bool job_;
  sigset_t watched_{};
  pid_t program_ = -1;
};

// gcoordctl in a terminal, in its foreground.
class TopTerminal {
 public:
  TopTerminal(const std::vector<std::string>& arguments,
              winsize size,
              Shell::Starts starts = Shell::Starts::Job) {
    const std::string path = chaos::program_beside("gcoordctl").string();
    std::vector<std::string> words{path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables{"TERM=xterm",
                                       "LC_ALL=C.UTF-8",
                                       "NO_COLOR=1",
                                       "GCOORD_CONTEXT=",
                                       "XDG_CONFIG_HOME=/nonexistent"};
    for (char** each = environ; *each != nullptr; ++each) {
      variables.emplace_back(*each);  // Of two of one name the first counts.
    }
    const std::vector<char*> word_pointers = pointers_to(words);
    const std::vector<char*> variable_pointers = pointers_to(variables);
    std::array<int, 2> reports{-1, -1};
    EXPECT_EQ(::pipe2(reports.data(), O_CLOEXEC), 0);
    shell_ = ::forkpty(&master_, nullptr, nullptr, &size);
    if (shell_ == 0) {
      Shell({path.c_str(), word_pointers.data(), variable_pointers.data()}, starts, reports[1])
          .run();
    }
    ::close(reports[1]);
    reports_ = reports[0];
    pid_ = next_report();
  }

  ~TopTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
    }
    ::kill(shell_, SIGKILL);
    ::waitpid(shell_, nullptr, 0);
    ::close(reports_);
    ::close(master_);
  }

  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  void type(const std::string& keys) const {
    EXPECT_EQ(::write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  // Reads until a whole screen has the text.
  testing::AssertionResult shows(const std::string& text) {
    return read_until([&] { return frames_.text().find(text) != std::string::npos; }, text);
  }

  testing::AssertionResult fits(std::size_t columns, std::size_t rows) {
    return read_until(
        [&] {
          return !frames_.last().empty() && frames_.last().size() <= rows &&
                 frames_.last()[0].size() <= columns;
        },
        "a smaller screen");
  }

  testing::AssertionResult takes_the_screen(bool taken) {
    return read_until([&] { return frames_.other_screen() == taken; }, "the other screen");
  }

  testing::AssertionResult takes_the_screen_again() {
    const int before = frames_.times_taken();
    return read_until([&] { return frames_.times_taken() > before; }, "the other screen again");
  }

  void resize(winsize size) const { EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0); }

  void signal(int number) const { ::kill(pid_, number); }

  // As the shell's `fg`.
  void foreground() const { ::kill(shell_, SIGUSR1); }

  // The terminal edits lines and shows what is typed, as a shell leaves it.
  bool cooked() const {
    termios now{};
    EXPECT_EQ(::tcgetattr(master_, &now), 0);
    return (now.c_lflag & ICANON) != 0 && (now.c_lflag & ECHO) != 0;
  }

  // Reads nothing until the terminal takes no byte more. `more` makes the program write.
  testing::AssertionResult fills_up(const std::function<void()>& more) const {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    const int slave = ::open(::ptsname(master_), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    pollfd polled{slave, POLLOUT, 0};
    while (::poll(&polled, 1, 0) > 0 && std::chrono::steady_clock::now() < latest) {
      more();
      ::poll(nullptr, 0, 5);
    }
    const bool full = slave >= 0 && ::poll(&polled, 1, 0) == 0;
    ::close(slave);
    return full ? testing::AssertionSuccess()
                : testing::AssertionFailure() << "the terminal took everything";
  }

  // The status of waitpid when it ends or is stopped, -1 when it does not. Everything that it
  // writes before can be read.
  int wait_for_change() {
    const int status = next_report();
    EXPECT_NE(status, -1) << "neither ends nor stops; the last screen:\n" << frames_.text();
    pid_ = status == -1 || WIFSTOPPED(status) ? pid_ : -1;
    return status;
  }

 private:
  static std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers;
  }

  int next_report() const {
    pollfd polled{reports_, POLLIN, 0};
    int number = -1;
    const bool any = ::poll(&polled, 1, static_cast<int>(kPatience.count())) > 0;
    return any && ::read(reports_, &number, sizeof number) == sizeof number ? number : -1;
  }

  template <typename Seen>
  testing::AssertionResult read_until(Seen seen, const std::string& what) {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    char bytes[4096];
    while (!seen()) {
      const bool late = std::chrono::steady_clock::now() > latest;
      pollfd polled{master_, POLLIN, 0};
      const bool any = !late && ::poll(&polled, 1, static_cast<int>(kPatience.count())) > 0;
      const ssize_t count = any ? ::read(master_, bytes, sizeof bytes) : 0;
      if (count <= 0) {
        return testing::AssertionFailure() << what << " never came; the last screen:\n"
                                           << frames_.text();
      }
      frames_.take({bytes, static_cast<std::size_t>(count)});
    }
    return testing::AssertionSuccess();
  }

  pid_t shell_ = -1;
  pid_t pid_ = -1;
  int master_ = -1;
  int reports_ = -1;
  Frames frames_;
};

}  // namespace gcoord::cli
