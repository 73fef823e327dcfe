// A child process with its output, bounded waits, and no survivors: for tools, demos and tests.
//
// A child dies with the thread that started it (PR_SET_PDEATHSIG), is killed and reaped when its
// object is destroyed, and is signalled only by its own process or group id, while it is a child of
// this process. It starts with no signal blocked. Waiting is by deadline, without sleeping in
// slices. Linux; one thread per object.
//
// A program that ignores SIGCHLD, or waits for all children elsewhere, takes the exit status away:
// it is kStatusTaken then, a failure, and nothing is signalled any more.
#pragma once

#include "common/status.h"

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord {

struct ChildOptions {
  std::vector<std::string> arguments;  // [0] is the program: a path, or a name looked up in PATH.
  std::vector<std::pair<std::string, std::string>> environment;  // Added to the parent's.
  bool capture_output = false;  // stdout becomes readable by read_line; else it is the parent's.
  std::string output_file;      // stdout goes there instead; appended.
  std::string error_file;       // stderr goes there instead of the parent's; appended.
  std::string input_file;       // stdin comes from there instead of the parent's.
  bool group = false;  // A process group of its own: a terminal's Ctrl-C does not reach it.
  // Its group becomes the foreground group of the terminal on stdin before the program begins, so
  // that it may read at once; only when the parent's group is that now.
  bool foreground = false;
  // start() returns when the program has begun, however long the system takes for that. False: it
  // does not wait, and a program that cannot be executed ends with kStatusTaken, as in a shell.
  bool confirm = true;
};

class ChildProcess {
 public:
  // What a shell says of a command that it cannot execute.
  static constexpr int kStatusTaken = 127;

  // NotFound when there is no such program, FailedPrecondition when it cannot be executed or there
  // is no room for another process.
  static Result<ChildProcess> start(const ChildOptions& options);

  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }

  bool running() const { return pid_ > 0 && !exit_status_.has_value(); }

  // To the process, or its group if it has one, which it has until its end was waited for; nothing
  // after that.
  void signal(int number);

  // Whether it ended and somebody else took its exit status.
  bool status_taken() const { return status_taken_; }

  // Whether the process was stopped (Ctrl-Z) since this was asked last; never reaps it.
  bool take_stop();

  // The exit status as a shell says it: the code, or 128 + the signal. Empty at the deadline.
  std::optional<int> wait_for(std::chrono::milliseconds timeout);
  int wait();

  // Kills with SIGKILL (the group, if it has one) and reaps.
  void kill_now();

  // The same, but waits no longer than this. What sleeps in the kernel dies when it wakes, and is
  // nobody's then until this process ends.
  void kill_within(std::chrono::milliseconds timeout);

  // The next line of captured output without its newline; empty at end of file or deadline.
  std::optional<std::string> read_line(std::chrono::milliseconds timeout);

  // What is captured until the child closes its stdout, or the deadline.
  std::string read_all(std::chrono::milliseconds timeout);

  // Becomes readable when the process has ended; for poll().
  int exit_fd() const { return exit_fd_; }

 private:
  ChildProcess() = default;
  bool fill(std::chrono::steady_clock::time_point deadline);
  int look(siginfo_t& found, int options) const;
  void reap(int options);
  void clear();

  pid_t pid_ = -1;
  int output_fd_ = -1;
  int exit_fd_ = -1;
  bool group_ = false;
  bool output_ended_ = false;
  bool status_taken_ = false;
  std::string buffered_;
  std::optional<int> exit_status_;
};

}  // namespace gcoord
