// A command that does not outlive this process, with all that it starts: whatever leaves its
// process group, its session (setsid) or its parent (a second fork) is killed too.
//
// The command is a child of a guard (guard.h). If the guard dies, the kernel kills the command, and
// this process inherits and kills the rest. Linux; one thread.
#pragma once

#include "common/status.h"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

class GuardedCommand {
 public:
  // Makes the guard of a command; [0] is the program, a path or a name looked up in PATH. Before
  // this process starts a thread or opens what the guard must not hold open. FailedPrecondition
  // when there is no room for a process or a socket.
  static Result<GuardedCommand> prepare(const std::vector<std::string>& arguments);

  // Kills the command and all that it started, unless leave() was called, and ends the guard.
  ~GuardedCommand();
  GuardedCommand(GuardedCommand&& other) noexcept;
  GuardedCommand& operator=(GuardedCommand&&) = delete;

  // Starts the command with these variables beside the ones of this process, in a process group of
  // its own; with `foreground` it is the foreground group of the terminal on stdin. NotFound when
  // there is no such program, FailedPrecondition when it cannot be executed. Once.
  Status start(const std::vector<std::pair<std::string, std::string>>& variables, bool foreground);

  // The command's process and group.
  pid_t pid() const { return pid_; }

  bool running() const { return pid_ > 0 && !exit_status_.has_value(); }

  // To the command's group.
  void signal(int number) const;

  // Whether the command was stopped (Ctrl-Z) since this was asked last.
  bool take_stop();

  // The exit status as a shell says it: the code, or 128 + the signal. Empty at the deadline.
  std::optional<int> wait_for(std::chrono::milliseconds timeout);

  // Kills the command and all that it started; returns when none of them is left.
  void kill_all();

  // The command has ended. What it left running goes on.
  void leave();

  // Becomes readable when the command has ended or was stopped; for poll(). wait_for() takes it.
  int fd() const { return socket_; }

 private:
  GuardedCommand(int socket, pid_t guard) : socket_(socket), guard_(guard) {}

  void take_news();
  void on_guard_lost();

  int socket_ = -1;
  pid_t guard_ = -1;
  pid_t pid_ = -1;
  bool stopped_ = false;
  bool left_ = false;
  std::optional<int> exit_status_;
};

}  // namespace gcoord::cli
