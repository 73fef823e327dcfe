#include "chaos/members/node_view.h"

#include "common/random.h"
#include "protocol/hello.h"

#include <string>
#include <utility>

namespace gcoord::chaos {

std::string simulated_address(NodeId node) {
  return "simulated:" + std::to_string(node.value);
}

MemberViews::MemberViews(const Options& options,
                         server::StateMachine& inner,
                         ViewSeam::OnView on_view)
    : options_(options),
      mutant_(of_views(options.mutant) ? make_mutant_views(options.mutant, options.node, inner)
                                       : nullptr),
      machine_(mutant_ != nullptr ? mutant_->behind() : inner),
      seam_(
          mutant_ != nullptr ? mutant_->around(machine_) : machine_, machine_, std::move(on_view)) {
}

void MemberViews::start(const Environment& environment, const server::ClusterMembers& kept) {
  environment_.emplace(environment);
  server::ViewKeeperOptions options;
  options.self.id = options_.node;
  options.self.incarnation = environment.log.incarnation();
  options.self.name = protocol::default_member_name(options_.node);
  options.self.peer_address = simulated_address(options_.node);
  options.settings = options_.settings;
  options.draw = [this] {
    return random64(options_.seed, environment_->log.incarnation().value, ++tokens_);
  };
  for (std::uint32_t node = 1; node <= options_.founders; ++node) {
    if (NodeId{node} != options_.node) {
      options.peers.emplace(NodeId{node}, simulated_address(NodeId{node}));
    }
  }
  server::LockService& service = environment.service;
  members_ = std::make_unique<server::NodeMembers>(
      options,
      server::NodeMembers::Environment{
          .log = environment.log,
          .machine = machine_,
          .replies = environment.replies,
          .metrics = environment.metrics,
          .all_have = [&service] { return service.all_have(protocol::Feature::ClusterView); },
          .wall_ms = environment.wall_ms,
          .tick_ms = options_.settings.tick_ms,
          .has =
              [&service, self = options_.node](NodeId node, protocol::Feature feature) {
                return node == self || service.has(node, feature);
              }});
  service.set_sinks({.words = {.say = [this] { return members_->announcement(); },
                               .hear = [this](NodeId from,
                                              Incarnation life,
                                              auto said) { members_->hear(from, life, said); }}});
  if (kept.view.epoch != 0) {
    follow(kept);
  }
  members_->set_on_members([this](const server::ClusterMembers& members) { take(members); });
  members_->start("client:" + std::to_string(options_.node.value));
}

// What the log says may be older than what the disk has, for a moment after a start.
void MemberViews::take(const server::ClusterMembers& members) {
  if (members.view.epoch != 0 && members.view.epoch >= epoch_) {
    environment_->keep(members);
    follow(members);
  }
}

// A node that has left ends by what its engine says, and no other part goes by that view.
void MemberViews::follow(const server::ClusterMembers& members) {
  epoch_ = members.view.epoch;
  environment_->log.set_members(members);
  const protocol::Member* const own = protocol::find_member(members.view, options_.node);
  if (own == nullptr || own->state != protocol::MemberState::Removed) {
    environment_->service.set_members(members);
  }
}

Status MemberViews::advance(std::uint64_t now_ms) {
  members_->advance(now_ms);
  return members_->failure();
}

}  // namespace gcoord::chaos
