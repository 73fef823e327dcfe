#include "server/members/node_members.h"

namespace gcoord::server {

namespace {

// Nodes say their epochs about once a second.
constexpr std::uint64_t kFollowersEveryMs = 200;

}  // namespace

NodeMembers::NodeMembers(const ViewKeeperOptions& options, const Environment& environment)
    : machine_(environment.machine),
      keeper_(options,
              {.log = environment.log,
               .machine = environment.machine,
               .metrics = environment.metrics,
               .all_have = environment.all_have,
               .wall_ms = environment.wall_ms}),
      followers_(options.self.id),
      requests_({.log = environment.log,
                 .machine = environment.machine,
                 .replies = environment.replies,
                 .wall_ms = environment.wall_ms,
                 .epoch_of = [this](NodeId node) { return keeper_.epoch_of(node); },
                 .self = options.self.id,
                 .tick_ms = environment.tick_ms,
                 .supported = options.proposes}) {
  requests_.set_followers(&followers_);
}

void NodeMembers::start(const std::string& client_address) {
  keeper_.set_client_address(client_address);
  started_ = true;
  machine_.set_listener(this);
  on_view();
}

// Which views the others may still go by. Not where a view is applied: this node goes by it itself
// only from the next pass on.
void NodeMembers::look_at_followers() {
  const membership::ViewCpu& views = machine_.views();
  followers_.look({.oldest = views.oldest(),
                   .newest = views.view().epoch,
                   .at = [&views](std::uint64_t epoch) { return views.at(epoch); }},
                  [this](NodeId node) { return keeper_.epoch_of(node); });
}

void NodeMembers::advance(std::uint64_t now_ms) {
  if (started_) {
    keeper_.advance(now_ms);
    requests_.advance(now_ms);
    if (now_ms >= next_look_ms_) {
      next_look_ms_ = now_ms + kFollowersEveryMs;
      look_at_followers();
    }
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
