#include "server/access/node_access.h"

#include "common/text/printable.h"
#include "server/access/recovery_file.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gcoord::server {

namespace {

OwnMarker marker_in(const std::string& data_dir, const AccessRequests::Environment& environment) {
  const NodeView node = environment.log.view();
  return own_marker(
      data_dir,
      {.cluster = node.cluster, .node = node.node, .number = 0, .time_ms = environment.wall_ms()});
}

}  // namespace

NodeAccess::NodeAccess(AccessMachine& machine,
                       const AccessRequests::Environment& environment,
                       const std::string& data_dir)
    : machine_(machine),
      all_guard_(environment.all_guard),
      requests_(environment),
      first_({.log = environment.log,
              .machine = machine,
              .all_have = environment.all_have,
              .wall_ms = environment.wall_ms}),
      recovery_({.log = environment.log,
                 .machine = machine,
                 .all_have = environment.all_have,
                 .wall_ms = environment.wall_ms,
                 .self = environment.log.view().node},
                marker_in(data_dir, environment)) {
  enabled_ = machine_.table().enabled;
  recoveries_ = machine_.table().recoveries;
  machine_.set_listener(this);
}

void NodeAccess::warn_of_choosers() {
  constexpr std::size_t kNamesMax = 8;
  const security::AccessTable& table = machine_.table();
  std::string names;
  if (table.enabled) {
    const auto roles = security::roles_that_chose_sessions(table);
    for (std::size_t k = 0; k < std::min(roles.size(), kNamesMax); ++k) {
      names += (k == 0 ? "" : ", ") + shown(roles[k]);
    }
    names += roles.size() > kNamesMax ? " and others" : "";
  }
  if (names != choosers_ && !names.empty()) {
    log_warning(LogComponent::Node,
                "these roles have session.read.all without session.choose, so their users cannot "
                "choose the ids of sessions any more: {}; gcoordctl role grant ROLE session.choose "
                "lets them",
                names);
  }
  choosers_ = std::move(names);
}

// In the node's log, beside the ledger's entry.
void NodeAccess::on_access() {
  const security::AccessTable& table = machine_.table();
  if (table.recoveries != recoveries_) {
    recoveries_ = table.recoveries;
    log_warning(LogComponent::Node,
                "rights were switched off by the markers of {} nodes (gcoordd --auth-recover)",
                table.recovered.size());
  } else if (table.enabled != enabled_) {
    log_info(LogComponent::Node,
             "rights are {}",
             table.enabled ? "checked from now on" : "not checked any more");
  }
  enabled_ = table.enabled;
  choosers_due_ = true;
}

void NodeAccess::on_access_decided(std::uint64_t cookie, security::AccessCode code) {
  first_.on_ended(cookie);
  recovery_.on_ended(cookie);
  requests_.on_decided(cookie, code);
}

void NodeAccess::on_access_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  first_.on_ended(cookie);
  recovery_.on_ended(cookie);
  requests_.on_lost(cookie, status, leader_hint);
}

void NodeAccess::on_recovery_message(NodeId from, std::span<const std::byte> message) {
  dropped_ += recovery_.hear(from, message) ? 0 : 1;
}

}  // namespace gcoord::server
