#include "server/members/node_members.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

// The fixed list as a view of epoch 0.
ClusterMembers listed(const ViewKeeperOptions& options) {
  ClusterMembers members;
  members.view.settings = options.settings;
  members.view.nodes.push_back(options.self);
  for (const auto& [node, address] : options.peers) {
    membership::Member member;
    member.id = node;
    member.name = protocol::default_member_name(node);
    member.peer_address = address;
    members.view.nodes.push_back(std::move(member));
  }
  std::ranges::sort(members.view.nodes, {}, &membership::Member::id);
  return members;
}

std::function<bool(NodeId, protocol::Feature)> has_of(const NodeMembers::Environment& environment) {
  if (environment.has) {
    return environment.has;
  }
  return [all_have = environment.all_have](NodeId, protocol::Feature) { return all_have(); };
}

static_assert(ViewFollowers::kUnleftMax < membership::kViewChangesMax);

// Nodes say their epochs about once a second.
constexpr std::uint64_t kFollowersEveryMs = 200;

}  // namespace

NodeMembers::NodeMembers(const ViewKeeperOptions& options, const Environment& environment)
    : self_(options.self.id),
      machine_(environment.machine),
      listed_(listed(options)),
      keeper_(options,
              {.log = environment.log,
               .machine = environment.machine,
               .metrics = environment.metrics,
               .all_have = environment.all_have,
               .wall_ms = environment.wall_ms,
               .may_propose =
                   [this, &log = environment.log] {
                     return !followers_.is_full() && log.abilities().takes_records;
                   }}),
      requests_({.log = environment.log,
                 .machine = environment.machine,
                 .replies = environment.replies,
                 .wall_ms = environment.wall_ms,
                 .epoch_of = [this](NodeId node) { return keeper_.epoch_of(node); },
                 .self = options.self.id,
                 .tick_ms = environment.tick_ms}),
      changes_({.log = environment.log,
                .machine = environment.machine,
                .keeper = keeper_,
                .replies = environment.replies,
                .has = has_of(environment),
                .wall_ms = environment.wall_ms,
                .fixed = options.fixed,
                .draw = options.draw}),
      upkeep_({.log = environment.log,
               .machine = environment.machine,
               .keeper = keeper_,
               .followers = followers_,
               .has = has_of(environment),
               .wall_ms = environment.wall_ms}) {
  requests_.set_followers(&followers_);
}

void NodeMembers::start(const std::string& client_address) {
  keeper_.set_client_address(client_address);
  started_ = true;
  machine_.set_listener(this);
  on_view();
  tell_members();
}

// Which views somebody may still go by; this node goes by a new one once its parts know of it.
void NodeMembers::look_at_followers() {
  const membership::ViewCpu& views = machine_.views();
  const bool changed = followers_.look(
      {.oldest = views.oldest(),
       .newest = views.view().epoch,
       .at = [&views](std::uint64_t epoch) { return views.at(epoch); }},
      [this](NodeId node) { return node == self_ ? said_epoch() : keeper_.epoch_of(node); });
  has_news_ = has_news_ || changed;
}

ClusterMembers NodeMembers::members() const {
  const membership::ClusterView& view = machine_.views().view();
  if (view.epoch == 0) {
    return listed_;
  }
  return {.view = view, .earlier_voters = followers_.earlier_voters()};
}

void NodeMembers::tell_members() {
  has_news_ = false;
  if (on_members_) {
    on_members_(members());
  }
  told_epoch_ = machine_.views().view().epoch;
  next_look_ms_ = 0;
}

void NodeMembers::advance(std::uint64_t now_ms) {
  if (!started_) {
    return;
  }
  if (now_ms >= next_look_ms_) {
    next_look_ms_ = now_ms + kFollowersEveryMs;
    look_at_followers();
  }
  // Not where a view is applied: whoever hears of it may be the engine that applies it.
  if (has_news_) {
    tell_members();
  }
  keeper_.advance(now_ms);
  requests_.advance(now_ms);
  more_ = changes_.advance();
  upkeep_.advance(now_ms);
}

std::vector<std::byte> NodeMembers::announcement() const {
  return started_ ? keeper_.announcement(said_epoch()) : std::vector<std::byte>{};
}

void NodeMembers::on_view() {
  keeper_.on_view();
  look_at_followers();
  has_news_ = true;
}

void NodeMembers::on_view_decided(std::uint64_t cookie, membership::ViewCode code) {
  keeper_.on_ended(cookie);
  upkeep_.on_ended(cookie);
  requests_.on_decided(cookie, code);
  changes_.on_decided(cookie, code);
}

void NodeMembers::on_view_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  keeper_.on_ended(cookie);
  upkeep_.on_ended(cookie);
  requests_.on_lost(cookie, status, leader_hint);
  changes_.on_lost(cookie, status, leader_hint);
}

}  // namespace gcoord::server
