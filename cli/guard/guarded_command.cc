#include "cli/guard/guarded_command.h"

#include "cli/guard/descendants.h"
#include "cli/guard/guard.h"
#include "cli/guard/messages.h"
#include "cli/terminal/wake_sources.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gcoord::cli {

namespace {

Status unguarded(const std::string& why) {
  return {StatusCode::FailedPrecondition, "the guard of the command " + why};
}

}  // namespace

Result<GuardedCommand> GuardedCommand::prepare(const std::vector<std::string>& arguments) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return unguarded(std::string{"has no socket: "} + std::strerror(errno));
  }
  inherit_orphans();  // Of a guard that dies.
  const pid_t parent = ::getpid();
  const pid_t guard = ::fork();
  if (guard == 0) {
    ::close(ends[0]);
    be_guard(ends[1], parent, arguments);
  }
  const int error = errno;
  ::close(ends[1]);
  if (guard < 0) {
    ::close(ends[0]);
    return unguarded(std::string{"cannot be started: "} + std::strerror(error));
  }
  return GuardedCommand{ends[0], guard};
}

GuardedCommand::GuardedCommand(GuardedCommand&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      guard_(std::exchange(other.guard_, -1)),
      pid_(other.pid_),
      stopped_(other.stopped_),
      left_(other.left_),
      exit_status_(other.exit_status_) {}

GuardedCommand::~GuardedCommand() {
  if (socket_ < 0) {
    return;
  }
  ::close(socket_);  // Kills what is left, unless it was left.
  while (guard_ > 0 && ::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status GuardedCommand::start(const std::vector<std::pair<std::string, std::string>>& variables,
                             bool foreground) {
  GuardMessage order{.word = GuardWord::Start, .number = foreground ? 1 : 0};
  for (const auto& [name, value] : variables) {
    order.text += name + "=" + value;
    order.text.push_back('\0');
  }
  if (!send_message(socket_, order)) {
    return unguarded("does not take it");
  }
  const auto answer = receive_message(socket_);
  if (!answer.has_value()) {
    return unguarded("has ended");
  }
  if (answer->word != GuardWord::Started) {
    return {static_cast<StatusCode>(answer->number), answer->text};
  }
  pid_ = answer->number;
  return {};
}

void GuardedCommand::signal(int number) const {
  if (running()) {
    send_message(socket_, {.word = GuardWord::Signal, .number = number});
  }
}

bool GuardedCommand::take_stop() {
  take_news();
  return std::exchange(stopped_, false);
}

std::optional<int> GuardedCommand::wait_for(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  take_news();
  while (running()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return std::nullopt;
    }
    wait_readable({socket_}, left);
    take_news();
  }
  return exit_status_;
}

// The order is answered when nobody is left; the end of the command may be told before that.
void GuardedCommand::kill_all() {
  if (left_) {
    return;
  }
  left_ = true;
  send_message(socket_, {.word = GuardWord::Kill});
  while (const auto news = receive_message(socket_)) {
    if (news->word == GuardWord::Ended && !exit_status_.has_value()) {
      exit_status_ = news->number;
    }
  }
  on_guard_lost();
}

void GuardedCommand::leave() {
  if (!std::exchange(left_, true)) {
    send_message(socket_, {.word = GuardWord::Leave});
  }
}

void GuardedCommand::take_news() {
  while (running() && wait_readable({socket_}, std::chrono::milliseconds(0))) {
    const auto news = receive_message(socket_);
    if (!news.has_value()) {
      return on_guard_lost();
    }
    stopped_ = stopped_ || news->word == GuardWord::Stopped;
    if (news->word == GuardWord::Ended) {
      exit_status_ = news->number;
    }
  }
}

// It has done its work, or somebody killed it: then the kernel killed the command, and the rest is
// this process's.
void GuardedCommand::on_guard_lost() {
  int status = 0;
  while (guard_ > 0 && ::waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
  }
  if (guard_ > 0 && WIFSIGNALED(status)) {
    kill_descendants();
  }
  guard_ = -1;
  exit_status_ = exit_status_.value_or(128 + SIGKILL);
}

}  // namespace gcoord::cli
