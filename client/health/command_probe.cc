// A health check that is a command: exit code 0 is health.
//
// Nothing here waits: not for the shell to begin, and not for what was killed to be dead. A run
// that is broken off lives on until its end is told, and is reaped then.
#include "client/health/health_probe.h"
#include "client/net/asio.h"
#include "common/host/child_process.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

namespace gcoord::client {
namespace {

// How long the end of the client waits for a command that was killed. Dying takes less than a
// millisecond unless the command sleeps in the kernel.
constexpr std::chrono::milliseconds kDeathTime{100};

class CommandProbe final : public HealthProbe, public std::enable_shared_from_this<CommandProbe> {
 public:
  CommandProbe(asio::io_context& context, Found found)
      : context_(context), ended_(context), found_(std::move(found)) {}

  ~CommandProbe() override {
    if (child_.has_value()) {
      child_->kill_within(kDeathTime);
    }
  }

  void start(const std::string& line) {
    ChildOptions options;
    options.arguments = {"/bin/sh", "-c", line};
    options.output_file = "/dev/null";
    options.error_file = "/dev/null";
    options.input_file = "/dev/null";
    options.group = true;
    options.confirm = false;  // /bin/sh that cannot be executed is exit code 127.
    auto child = ChildProcess::start(options);
    if (!child.ok()) {
      return report_later(child.status().message());
    }
    child_.emplace(std::move(child).value());
    // The child closes its own; asio closes what it is given.
    const int ended = ::dup(child_->exit_fd());
    if (ended < 0) {
      return report_later("the end of the command cannot be watched");
    }
    ended_.assign(ended);
    await_end();
  }

  // Kills the group; on_end() reaps.
  void stop() override {
    found_ = {};
    if (child_.has_value()) {
      child_->signal(SIGKILL);
    }
  }

 private:
  void await_end() {
    ended_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const asio::error_code& error) {
                        if (!error) {
                          self->on_end();
                        }
                      });
  }

  void on_end() {
    pollfd ended{child_->exit_fd(), POLLIN, 0};
    if (::poll(&ended, 1, 0) <= 0) {
      return await_end();  // Its end may be told a moment before it comes.
    }
    // What it left running, while the group's number is surely its own: it is not reaped yet.
    child_->signal(SIGKILL);
    const auto code = child_->wait_for(std::chrono::milliseconds{0});
    if (!code.has_value()) {
      return await_end();
    }
    const std::string evidence =
        child_->status_taken()
            ? "exit code unknown: this program ignores SIGCHLD, or waits for all its children"
            : "exit code " + std::to_string(*code);
    child_.reset();
    if (const Found found = std::exchange(found_, {})) {
      found(*code == 0, evidence);
    }
  }

  void report_later(std::string why) {
    asio::post(context_, [self = shared_from_this(), why = std::move(why)] {
      if (const Found found = std::exchange(self->found_, {})) {
        found(false, why);
      }
    });
  }

  asio::io_context& context_;
  asio::posix::stream_descriptor ended_;
  Found found_;
  std::optional<ChildProcess> child_;
};

}  // namespace

std::shared_ptr<HealthProbe> start_command_probe(asio::io_context& context,
                                                 const HealthCheck& check,
                                                 HealthProbe::Found found) {
  const auto probe = std::make_shared<CommandProbe>(context, std::move(found));
  probe->start(check.target);
  return probe;
}

}  // namespace gcoord::client
