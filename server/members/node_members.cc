#include "server/members/node_members.h"

namespace gcoord::server {

NodeMembers::NodeMembers(const ViewKeeperOptions& options, const Environment& environment)
    : machine_(environment.machine),
      keeper_(options,
              {.log = environment.log,
               .machine = environment.machine,
               .metrics = environment.metrics,
               .all_have = environment.all_have,
               .wall_ms = environment.wall_ms}),
      requests_({.log = environment.log,
                 .machine = environment.machine,
                 .replies = environment.replies,
                 .wall_ms = environment.wall_ms,
                 .epoch_of = [this](NodeId node) { return keeper_.epoch_of(node); },
                 .self = options.self.id,
                 .tick_ms = environment.tick_ms,
                 .supported = options.proposes}) {}

void NodeMembers::start(const std::string& client_address) {
  keeper_.set_client_address(client_address);
  started_ = true;
  machine_.set_listener(this);
  keeper_.on_view();
}

void NodeMembers::advance(std::uint64_t now_ms) {
  if (started_) {
    keeper_.advance(now_ms);
    requests_.advance(now_ms);
  }
}

std::vector<std::byte> NodeMembers::announcement() const {
  return started_ ? keeper_.announcement() : std::vector<std::byte>{};
}

void NodeMembers::on_view_decided(std::uint64_t cookie, membership::ViewCode code) {
  keeper_.on_ended(cookie);
  requests_.on_decided(cookie, code);
}

void NodeMembers::on_view_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  keeper_.on_ended(cookie);
  requests_.on_lost(cookie, status, leader_hint);
}

}  // namespace gcoord::server
