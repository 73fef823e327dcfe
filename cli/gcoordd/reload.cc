#include "cli/gcoordd/reload.h"

#include "server/log/output.h"
#include "server/log_levels/present.h"
#include "server/options/effective_options.h"
#include "server/platform/operator_log.h"
#include "server/tls/own_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gcoord {

namespace {

bool can_change(const std::string& name) {
  return name == "log-level" || name == "log-format" || name.starts_with("tls-") ||
         name == "client-tls" || name == "http-tls" || name == "peer-tls" ||
         name == "client-certificates" || name == "cluster-secret" || name == "peer-proof" ||
         name == "session-keys" || name == "session-notes";
}

// Of the options that can change.
void take_sources(const server::Invocation& changed, server::Invocation& running) {
  const auto changes = [](const server::GivenOption& given) { return can_change(given.name); };
  std::erase_if(running.given, changes);
  std::ranges::copy_if(changed.given, std::back_inserter(running.given), changes);
}

void add_name(const std::string& name, std::string& list) {
  list += (list.empty() ? "--" : ", --") + name;
}

}  // namespace

Status check_tls_files(const server::Invocation& invocation) {
  const server::NodeOptions& options = invocation.options;
  const bool is_named = server::is_given(invocation, "node-id") && options.join.empty();
  const ClusterId cluster = is_named ? options.cluster : ClusterId{};
  return server::check_own_files(options.tls,
                                 {.own = {.cluster = cluster, .node = options.node, .former = {}},
                                  .must_name = false,
                                  .now_s = server::wall_seconds()});
}

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
    add_name(name, can_change(name) ? taken : left);
  }
  // What cannot change is compared with what the node runs with the next time, too.
  if (running_.options.log_levels != changed.options.log_levels) {
    // Else those stay that were set by request: a rotation is no reason to change them.
    server::set_log_levels(changed.options.log_levels);
  }
  running_.options.log_levels = changed.options.log_levels;
  running_.options.log_format = changed.options.log_format;
  running_.options.tls = changed.options.tls;
  server::set_log_format(running_.options);
  running_.options.cluster_secret = changed.options.cluster_secret;
  running_.options.peer_proof = changed.options.peer_proof;
  running_.options.session_keys = changed.options.session_keys;
  running_.options.session_notes = changed.options.session_notes;
  take_sources(changed, running_);
  server::log_info(server::LogComponent::Node,
                   "SIGHUP: options read; changed: {}",
                   taken.empty() ? "none" : taken);
  if (!left.empty()) {
    server::log_warning(server::LogComponent::Node,
                        "SIGHUP: changed in the configuration, but only after a restart: {}",
                        left);
  }
  if (const Status applied = apply_(running_.options); !applied.ok()) {
    server::log_error(server::LogComponent::Node, "SIGHUP: {}", applied.to_string());
  }
  told_(running_);  // Last: whoever sees the new configuration finds these lines in the log.
}

}  // namespace gcoord
