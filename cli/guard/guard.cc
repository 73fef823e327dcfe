#include "cli/guard/guard.h"

#include "cli/guard/command_cgroup.h"
#include "cli/guard/descendants.h"
#include "cli/guard/messages.h"
#include "cli/terminal/wake_sources.h"
#include "common/host/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

// So that the name says what it is, and no `killall gcoordctl` takes both.
constexpr const char* kProcessName = "gcoord-guard";

// Whoever waits for the end of the command's output must not wait for the guard's.
void leave_standard_files() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) {
    return;
  }
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nothing, fd);
  }
  ::close(nothing);
}

// "A=1\0B=2\0" -> the pairs.
std::vector<std::pair<std::string, std::string>> variables_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\0', begin);
    const std::string variable = text.substr(begin, end - begin);
    const std::size_t equals = variable.find('=');
    variables.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    begin = end + 1;
  }
  return variables;
}

class Guard {
 public:
  Guard(int socket, pid_t parent) : socket_(socket), parent_(parent) {}

  // Until gcoordctl is gone, or has no more to order.
  void run(const std::vector<std::string>& arguments) {
    bool ordered = true;
    while (ordered && ::getppid() == parent_) {
      const int exit_fd = command_.has_value() && !told_end_ ? command_->exit_fd() : socket_;
      wait_readable({socket_, signals_.fd(), exit_fd}, std::chrono::hours(1));
      while (signals_.take() != 0) {
      }
      tell_command();
      reap_orphans(command_.has_value() ? command_->pid() : 0);
      if (wait_readable({socket_}, milliseconds(0))) {
        ordered = obey(receive_message(socket_), arguments);
      }
    }
    if (!left_) {
      kill_all();
    }
  }

 private:
  // False when this was the last order, or gcoordctl is gone.
  bool obey(const std::optional<GuardMessage>& order, const std::vector<std::string>& arguments) {
    if (!order.has_value()) {
      return false;
    }
    switch (order->word) {
      case GuardWord::Start:
        start(*order, arguments);
        return true;
      case GuardWord::Signal:
        if (command_.has_value()) {
          command_->signal(order->number);
        }
        return true;
      case GuardWord::Kill:
        kill_all();
        send_message(socket_, {.word = GuardWord::Ended, .number = 128 + SIGKILL});
        return false;
      default:
        left_ = true;
        return false;
    }
  }

  void start(const GuardMessage& order, const std::vector<std::string>& arguments) {
    ChildOptions how;
    how.arguments = arguments;
    how.environment = variables_of(order.text);
    how.group = true;
    how.foreground = order.number != 0;
    cgroup_ = CommandCgroup::make();
    if (cgroup_.has_value() && !cgroup_->enter()) {
      cgroup_.reset();
    }
    auto command = ChildProcess::start(how);
    if (cgroup_.has_value() && !cgroup_->leave()) {
      cgroup_.reset();  // Killed whole, it would take the guard along.
    }
    if (!command.ok()) {
      send_message(socket_,
                   {.word = GuardWord::Unstarted,
                    .number = static_cast<std::int32_t>(command.status().code()),
                    .text = std::string{command.status().message()}});
      return;
    }
    command_.emplace(std::move(command).value());
    leave_standard_files();
    send_message(socket_, {.word = GuardWord::Started, .number = command_->pid()});
  }

  // The cgroup first, because nothing that is born meanwhile gets away from that.
  void kill_all() const {
    if (cgroup_.has_value()) {
      cgroup_->kill();
    }
    kill_descendants();
  }

  // What became of the command, each once.
  void tell_command() {
    if (!command_.has_value() || told_end_) {
      return;
    }
    if (command_->take_stop()) {
      send_message(socket_, {.word = GuardWord::Stopped});
    }
    if (const auto status = command_->wait_for(milliseconds(0))) {
      told_end_ = true;
      send_message(socket_, {.word = GuardWord::Ended, .number = *status});
    }
  }

  const int socket_;
  const pid_t parent_;
  // All that may end or stop it. Blocked, so that the command, which blocks none, has them as
  // gcoordctl had.
  const SignalFd signals_{
      SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM, SIGTTIN};
  std::optional<CommandCgroup> cgroup_;  // Of the command; none where it is not delegated.
  std::optional<ChildProcess> command_;
  bool told_end_ = false;
  bool left_ = false;
};

}  // namespace

void be_guard(int socket, pid_t parent, const std::vector<std::string>& arguments) {
  {
    Guard guard(socket, parent);
    ::prctl(PR_SET_NAME, kProcessName);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setpgid(0, 0);  // A signal to gcoordctl's group is none of its.
    ::signal(SIGTTOU, SIG_IGN);
    inherit_orphans();
    guard.run(arguments);
  }
  ::_exit(0);
}

}  // namespace gcoord::cli
