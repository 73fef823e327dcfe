#include "common/host/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gcoord {

namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

void redirect(const std::string& file, int target) {
  const int mode = target == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND;
  const int fd = ::open(file.c_str(), mode, 0600);
  if (fd >= 0 && fd != target) {  // It is the target when the parent has closed its own.
    ::dup2(fd, target);
    ::close(fd);
  }
}

// Runs in the child between fork and exec; tells the parent by the pipe when exec failed.
[[noreturn]] void become(const ChildOptions& options, pid_t parent, int output, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(ChildProcess::kStatusTaken);  // The parent died before the line above.
  }
  if (options.group) {
    ::setpgid(0, 0);
  }
  if (options.group && options.foreground) {
    ::signal(SIGTTOU, SIG_IGN);  // This group is a background group until the next line is done.
    ::tcsetpgrp(STDIN_FILENO, ::getpid());
  }
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
  } else if (!options.output_file.empty()) {
    redirect(options.output_file, STDOUT_FILENO);
  }
  if (!options.error_file.empty()) {
    redirect(options.error_file, STDERR_FILENO);
  }
  if (!options.input_file.empty()) {
    redirect(options.input_file, STDIN_FILENO);
  }
  for (const auto& [name, value] : options.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  // The parent's way with signals is its own.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGTTOU, SIG_DFL);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(failure, &error, sizeof(error));
  ::_exit(ChildProcess::kStatusTaken);
}

// What the child says when it cannot execute its program; 0 when it can, or is not waited for.
int error_of_start(int failure) {
  int error = 0;
  ssize_t count = 0;
  while (failure >= 0 && (count = ::read(failure, &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  return count == sizeof(error) ? error : 0;  // The pipe closed by itself: exec succeeded.
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  GCOORD_ASSERT(!options.arguments.empty());
  int output[2] = {-1, -1};
  int failure[2] = {-1, -1};
  const bool pipes = (!options.confirm || ::pipe2(failure, O_CLOEXEC) == 0) &&
                     (!options.capture_output || ::pipe2(output, O_CLOEXEC) == 0);
  const pid_t parent = ::getpid();
  const pid_t pid = pipes ? ::fork() : -1;
  if (pid == 0) {
    become(options, parent, output[1], failure[1]);
  }
  const int fork_error = errno;
  for (const int fd : {output[1], failure[1]}) {
    if (fd >= 0) {
      ::close(fd);
    }
  }
  ChildProcess child;
  child.output_fd_ = output[0];
  child.group_ = options.group;
  int error = pid < 0 ? fork_error : 0;
  if (pid > 0) {
    if (options.group) {
      ::setpgid(pid, pid);  // So does the child; a signal to the group may come before that.
    }
    child.pid_ = pid;
    child.exit_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    error = error_of_start(failure[0]);
  }
  if (failure[0] >= 0) {
    ::close(failure[0]);
  }
  if (error != 0) {
    return Status{error == ENOENT ? StatusCode::NotFound : StatusCode::FailedPrecondition,
                  options.arguments[0] + " cannot be started: " + std::strerror(error)};
  }
  return child;
}

ChildProcess::~ChildProcess() {
  clear();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept {
  *this = std::move(other);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    clear();
    pid_ = std::exchange(other.pid_, -1);
    output_fd_ = std::exchange(other.output_fd_, -1);
    exit_fd_ = std::exchange(other.exit_fd_, -1);
    group_ = other.group_;
    output_ended_ = other.output_ended_;
    status_taken_ = other.status_taken_;
    buffered_ = std::move(other.buffered_);
    exit_status_ = other.exit_status_;
  }
  return *this;
}

void ChildProcess::clear() {
  kill_now();
  for (int* fd : {&output_fd_, &exit_fd_}) {
    if (*fd >= 0) {
      ::close(*fd);
      *fd = -1;
    }
  }
  pid_ = -1;
}

// waitid(), by the descriptor where there is one: a number may be somebody else's by now.
int ChildProcess::look(siginfo_t& found, int options) const {
  const idtype_t by = exit_fd_ >= 0 ? P_PIDFD : P_PID;
  const auto id = static_cast<id_t>(exit_fd_ >= 0 ? exit_fd_ : pid_);
  int result = 0;
  while ((result = ::waitid(by, id, &found, WEXITED | options)) < 0 && errno == EINTR) {
  }
  return result;
}

void ChildProcess::reap(int options) {
  siginfo_t found{};
  if (look(found, options) < 0) {
    status_taken_ = true;
    exit_status_ = kStatusTaken;
  } else if (found.si_pid == pid_) {
    exit_status_ = found.si_code == CLD_EXITED ? found.si_status : 128 + found.si_status;
  }
}

void ChildProcess::signal(int number) {
  siginfo_t found{};
  if (running() && look(found, WNOHANG | WNOWAIT) < 0) {
    reap(WNOHANG);  // It is no child of ours any more, and its number may be another process's.
  }
  if (running()) {
    ::kill(group_ ? -pid_ : pid_, number);
  }
}

bool ChildProcess::take_stop() {
  siginfo_t stopped{};
  return running() && ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG) == 0 &&
         stopped.si_pid == pid_;
}

std::optional<int> ChildProcess::wait_for(std::chrono::milliseconds timeout) {
  if (!running()) {
    return exit_status_;
  }
  const auto deadline = Clock::now() + timeout;
  pollfd ended{exit_fd_, POLLIN, 0};
  while (::poll(&ended, 1, milliseconds_until(deadline)) < 0 && errno == EINTR) {
  }
  reap(WNOHANG);
  return exit_status_;
}

int ChildProcess::wait() {
  if (running()) {
    reap(0);
  }
  return exit_status_.value_or(kStatusTaken);
}

void ChildProcess::kill_now() {
  if (running()) {
    signal(SIGKILL);
    wait();
  }
}

void ChildProcess::kill_within(std::chrono::milliseconds timeout) {
  signal(SIGKILL);
  if (!wait_for(timeout).has_value()) {
    pid_ = -1;
  }
}

bool ChildProcess::fill(Clock::time_point deadline) {
  if (output_ended_ || output_fd_ < 0) {
    return false;
  }
  pollfd readable{output_fd_, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&readable, 1, milliseconds_until(deadline))) < 0 && errno == EINTR) {
  }
  if (ready <= 0) {
    return false;
  }
  char bytes[4096];
  const ssize_t count = ::read(output_fd_, bytes, sizeof(bytes));
  if (count <= 0) {
    output_ended_ = true;
    return false;
  }
  buffered_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> ChildProcess::read_line(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  std::size_t newline = buffered_.find('\n');
  while (newline == std::string::npos && fill(deadline)) {
    newline = buffered_.find('\n');
  }
  if (newline == std::string::npos) {
    return std::nullopt;
  }
  std::string line = buffered_.substr(0, newline);
  buffered_.erase(0, newline + 1);
  return line;
}

std::string ChildProcess::read_all(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (fill(deadline)) {
  }
  return std::exchange(buffered_, {});
}

}  // namespace gcoord
