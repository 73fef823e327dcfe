// How a world comes to rest once its faults have healed: every shard is led, and then all agree, or
// why not.
#include "chaos/members/moves_report.h"
#include "chaos/world/nemesis.h"
#include "chaos/world/world.h"

#include <algorithm>

namespace gcoord::chaos {
namespace {

// Healing, in election timeouts. A node that restarts does not vote for one, a shard without a
// recorded leader asks within two, crossing votes take another.
constexpr std::uint64_t kLedTimeouts = 6;
// Of three voters one may be gone for good, so that each vote needs the one with the longer log;
// and who leads then may be on its way out, and hand over at once.
constexpr std::uint64_t kLedOfMembersTimeouts = 12;
constexpr std::uint64_t kConvergedTimeouts = 30;
// Nodes on their way in and out first have to come to their ends, one view after the other.
constexpr std::uint64_t kMembersTimeouts = 45;

RunningLogs running_logs(const std::vector<std::unique_ptr<WorldNode>>& nodes) {
  RunningLogs logs;
  for (const auto& node : nodes) {
    if (node->running()) {
      logs.push_back(&node->engine());
    }
  }
  return logs;
}

}  // namespace

bool World::remembers_all() {
  for (const auto& node : nodes_) {
    if (!node->running() || node->paused()) {
      return false;
    }
    const server::NodeView view = node->engine().view();
    if (view.forgotten_count != 0 || view.voting_count != options_.shard_count) {
      return false;
    }
  }
  return true;
}

std::string World::why_unled() {
  const RunningLogs logs = running_logs(nodes_);
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    const bool led = std::ranges::any_of(logs, [shard](const server::ReplicatedLog* log) {
      return log->view(ShardId{shard}).role == consensus::Role::Leader;
    });
    if (!led) {
      return shard_report(ShardId{shard}, logs);
    }
  }
  return {};
}

std::string World::why_members_move() {
  if (!members_) {
    return {};
  }
  if (!members_->by->ended() || !members_->judge.is_calm()) {
    return "view " + std::to_string(members_->judge.newest().epoch) +
           " still has a node that comes or goes: " + members_->judge.text();
  }
  for (const protocol::Member& member : members_->judge.newest().nodes) {
    if (member.id.value > node_count()) {
      continue;
    }
    if (std::string why = nodes_[member.id.value - 1]->why_differs(
            member, members_->judge.newest(), present().size());
        !why.empty()) {
      return why;
    }
  }
  return {};
}

bool World::shard_converged(ShardId shard) {
  const std::vector<WorldNode*> nodes = present();
  const server::ShardView first = nodes[0]->engine().view(shard);
  const std::uint64_t hash = nodes[0]->service().state_hash(shard);
  return std::ranges::all_of(nodes, [&](WorldNode* node) {
    const server::ShardView view = node->engine().view(shard);
    return view.leader == first.leader && view.leader != NodeId{} && view.term == first.term &&
           view.applied == first.applied && view.commit == view.applied &&
           view.last == view.commit && node->service().state_hash(shard) == hash;
  });
}

bool World::converged() {
  const std::vector<WorldNode*> nodes = present();
  for (WorldNode* node : nodes) {
    // I20: what was asked is answered, and nothing is kept of it.
    if (!node->running() || node->service().pending_count() != 0 ||
        node->service().wait_count() != 0) {
      return false;
    }
  }
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    // A lock that has left a shard has arrived in the other.
    if (!shard_converged(ShardId{shard}) ||
        !nodes[0]->service().locks().departed(ShardId{shard}).empty()) {
      return false;
    }
  }
  return why_members_move().empty() && group_members_.ended() &&
         std::ranges::all_of(clients_, [](const auto& client) { return client->ended(); });
}

std::string World::why_not_converged() {
  if (std::string why = why_members_move(); !why.empty()) {
    return why + moves_report(members_->judge.newest(), running_logs(nodes_), options_.shard_count);
  }
  const std::vector<WorldNode*> nodes = present();
  for (WorldNode* node : nodes) {
    const std::string name = "node " + std::to_string(node->id().value);
    if (!node->running()) {
      return name + " does not run: " + nemesis_->why_down(node->id().value - 1);
    }
    if (node->service().pending_count() != 0 || node->service().wait_count() != 0) {
      return name + " has " + std::to_string(node->service().pending_count()) + " requests and " +
             std::to_string(node->service().wait_count()) + " waits left";
    }
  }
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    if (!shard_converged(ShardId{shard})) {
      return shard_report(ShardId{shard}, running_logs(nodes_));
    }
  }
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    if (!nodes[0]->service().locks().departed(ShardId{shard}).empty()) {
      return "a lock that has left shard " + std::to_string(shard) + " does not arrive";
    }
  }
  for (const auto& client : clients_) {
    if (!client->ended()) {
      return client->describe();
    }
  }
  return group_members_.ended() ? "all is well by now" : "a member of a group has not ended";
}

void World::end_in_peace() {
  nemesis_->heal();
  const std::uint64_t healed_us = now_us_;
  const std::uint64_t timeout_us = options_.election_ms() * 1000;
  for (const auto& client : clients_) {
    client->begin_end();
  }
  if (members_) {
    members_->by->begin_end();
  }
  const std::uint64_t timeouts = kConvergedTimeouts + (members_ ? kMembersTimeouts : 0);
  const std::uint64_t led_timeouts = members_ ? kLedOfMembersTimeouts : kLedTimeouts;
  group_members_.begin_end();
  bool led = false;
  while (now_us_ < healed_us + timeouts * timeout_us) {
    step();
    if (!led && why_unled().empty()) {
      led = true;
      result_.led_ms = (now_us_ - healed_us) / 1000;
    }
    if (!led && now_us_ > healed_us + led_timeouts * timeout_us) {
      return report_restless("a shard has no leader", led_timeouts, why_unled());
    }
    if (led && converged()) {
      return audit_history();
    }
  }
  report_restless("not converged", timeouts, why_not_converged());
}

void World::report_restless(const std::string& what,
                            std::uint64_t timeouts,
                            const std::string& why) {
  if (options_.judges_liveness) {
    judge_.report("L1: " + what + " " + std::to_string(timeouts) +
                  " election timeouts after healing: " + why);
  }
}

}  // namespace gcoord::chaos
