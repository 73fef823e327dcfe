// A health check that is a command: exit code 0 is health.
#include "client/health_probe.h"
#include "common/child_process.h"

#include <unistd.h>

#include <optional>
#include <utility>

namespace gcoord::client {
namespace {

class CommandProbe final : public HealthProbe, public std::enable_shared_from_this<CommandProbe> {
 public:
  CommandProbe(asio::io_context& context, Found found)
      : context_(context), ended_(context), found_(std::move(found)) {}

  void start(const std::string& line) {
    ChildOptions options;
    options.arguments = {"/bin/sh", "-c", line};
    options.output_file = "/dev/null";
    options.error_file = "/dev/null";
    options.group = true;
    auto child = ChildProcess::start(options);
    if (!child.ok()) {
      return report_later(child.status().message());
    }
    child_.emplace(std::move(child).value());
    // The child closes its own; asio closes what it is given.
    const int ended = ::dup(child_->exit_fd());
    if (ended < 0) {
      return report_later("its end cannot be watched");
    }
    ended_.assign(ended);
    ended_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const asio::error_code& error) {
                        if (!error && self->found_) {
                          self->on_end();
                        }
                      });
  }

  void stop() override {
    found_ = {};
    asio::error_code ignored;
    ended_.close(ignored);
    child_.reset();  // Kills the group.
  }

 private:
  void on_end() {
    // It has ended, so this does not wait, though its end may be told a moment before it can be
    // read.
    const int code = child_->wait();
    std::exchange(found_, {})(code == 0, "exit code " + std::to_string(code));
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
