#include "cli/gcoordd/reload.h"

#include "server/log/output.h"
#include "server/log_levels/present.h"
#include "server/options/effective_options.h"
#include "server/platform/operator_log.h"

#include <utility>

namespace gcoord {

namespace {

void add_name(const std::string& name, std::string& list) {
  list += (list.empty() ? "--" : ", --") + name;
}

}  // namespace

Reload::Reload(std::vector<std::string> arguments,
               server::Environment environment,
               server::Invocation running)
    : arguments_(std::move(arguments)),
      environment_(std::move(environment)),
      running_(std::move(running)) {}

void Reload::on_hangup() {
  if (const Status reopened = server::reopen_log(); !reopened.ok()) {
    server::log_error(server::LogComponent::Node,
                      "SIGHUP: {}; the log goes on into the old file",
                      reopened.to_string());
  }
  std::vector<Status> problems;
  server::Invocation changed = server::examine_invocation(arguments_, environment_, problems);
  for (const Status& problem : problems) {
    server::log_error(server::LogComponent::Node, "SIGHUP: {}", problem.to_string());
  }
  if (!problems.empty()) {
    server::log_error(server::LogComponent::Node, "SIGHUP: the options keep their values");
    return;
  }
  apply(std::move(changed));
}

void Reload::apply(server::Invocation changed) {
  std::string taken;
  std::string left;
  for (const std::string& name : server::changed_options(running_, changed)) {
    const bool can_change = name == "log-level" || name == "log-format";
    add_name(name, can_change ? taken : left);
  }
  // What cannot change is compared with what the node runs with the next time, too.
  if (running_.options.log_levels != changed.options.log_levels) {
    // Else those stay that were set by request: a rotation is no reason to change them.
    server::set_log_levels(changed.options.log_levels);
  }
  running_.options.log_levels = changed.options.log_levels;
  running_.options.log_format = changed.options.log_format;
  server::set_log_format(running_.options);
  server::log_info(server::LogComponent::Node,
                   "SIGHUP: options read; changed: {}",
                   taken.empty() ? "none" : taken);
  if (!left.empty()) {
    server::log_warning(server::LogComponent::Node,
                        "SIGHUP: changed in the configuration, but only after a restart: {}",
                        left);
  }
}

}  // namespace gcoord
