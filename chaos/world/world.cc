#include "chaos/world/world.h"

#include "chaos/world/history_audit.h"
#include "chaos/world/nemesis.h"
#include "common/assert.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace gcoord::chaos {
namespace {

// Healing, in election timeouts. A node that restarts does not vote for one, a shard without a
// recorded leader asks within two, crossing votes take another.
constexpr std::uint64_t kLedTimeouts = 6;
constexpr std::uint64_t kConvergedTimeouts = 30;

netcore::SimulatedLinkOptions link_options() {
  return {.delay_ticks_min = 1, .delay_ticks_max = 12};
}

protocol::ConnectionId connection_of(std::uint32_t client) {
  return protocol::ConnectionId{client + 1};
}

// A node measures ages by its own clock.
WeakReads::Slack slack_of(const WorldOptions& options) {
  return {.drift_ppm = 1'000'000 / options.drift_divisor,
          .grain_ns = options.quantum_ms * std::uint64_t{2'000'000}};
}

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      network_(options.seed, link_options()),
      wire_(options.seed),
      judge_(slack_of(options)),
      audit_(options.node_count, options.shard_count),
      watch_(options.shard_count) {
  judge_.set_lives_apart(options.durability == consensus::Durability::Memory);
  add_nodes();
  add_clients();
  add_members();
  nemesis_ = std::make_unique<Nemesis>(*this, result_.faults, result_.power);
}

World::~World() = default;

void World::add_nodes() {
  SimRandom random{options_.seed, 2};
  for (std::uint32_t index = 0; index < options_.node_count; ++index) {
    nodes_.push_back(std::make_unique<WorldNode>(
        options_,
        NodeId{index + 1},
        WorldNodeEnvironment{
            .network = network_,
            .trace = [this](const server::ShardTransition& t,
                            std::uint32_t life) { judge_.take(t, life); },
            .on_failing = [this](NodeId id) { nemesis_->note(id.value - 1); },
            .on_message = [this](const consensus::Message& message,
                                 std::uint32_t life) { on_message(message, life); },
            .on_step = [this](const SeenStep& step) { report_if(watch_.on_step(step)); },
            .reply =
                [this](NodeId from,
                       protocol::ConnectionId connection,
                       const protocol::ReplySlot& slot,
                       std::span<const std::byte> payload) {
                  wire_.reply(from,
                              static_cast<std::uint32_t>(connection.value - 1),
                              slot,
                              payload,
                              now_us_);
                }}));
    nodes_.back()->clock().set(now_us_, random.between(1, 1'000'000) * std::uint64_t{1000});
    if (const Status started = nodes_.back()->start(now_us_); !started.ok()) {
      judge_.report("a fresh node does not start: " + started.message());
    }
  }
}

void World::on_message(const consensus::Message& message, std::uint32_t life) {
  judge_.take(message, life);
  audit_.take(message);
  if (message.shard.value == options_.told_shard) {
    std::fprintf(stderr,
                 "%10.3f s  %u to %u: kind %u flags %u term %llu index %llu/%llu commit %llu "
                 "count %u context %llu\n",
                 static_cast<double>(now_us_) / 1e6,
                 message.from.value,
                 message.to.value,
                 static_cast<unsigned>(message.kind),
                 static_cast<unsigned>(message.flags),
                 static_cast<unsigned long long>(message.term.value),
                 static_cast<unsigned long long>(message.index.value),
                 static_cast<unsigned long long>(message.log_term.value),
                 static_cast<unsigned long long>(message.commit.value),
                 static_cast<unsigned>(message.count),
                 static_cast<unsigned long long>(message.context));
  }
}

void World::report_if(const std::string& broken) {
  if (!broken.empty()) {
    judge_.report(broken);
  }
}

void World::add_clients() {
  for (std::uint32_t number = 0; number < options_.client_count; ++number) {
    clients_.push_back(std::make_unique<WorldClient>(
        options_,
        number,
        WorldClientEnvironment{
            .send =
                [this, number](NodeId to,
                               const protocol::RequestSlot& slot,
                               std::span<const std::byte> payload) {
                  wire_.send(number, to, slot, payload, now_us_);
                },
            .record = [this](Operation operation) { judge_.take(std::move(operation)); },
            .record_read = [this](const WeakRead& read) { judge_.take(read); },
            .record_write =
                [this](ShardId shard, LogIndex index, std::uint64_t acknowledged_ns) {
                  judge_.note_write(shard, index, acknowledged_ns);
                },
            .moment_ns = [this] { return moment_ns(); },
            .guarded_write =
                [this](const std::string& key, std::uint64_t token) {
                  std::uint64_t& highest = guarded_[key];
                  const bool taken = token >= highest;
                  highest = std::max(highest, token);
                  return taken;
                }}));
    clients_.back()->clock().set(now_us_, now_us_);
  }
}

void World::add_members() {
  for (std::uint32_t k = 0; k < options_.member_count; ++k) {
    const std::uint32_t number = options_.client_count + k;
    members_.push_back(std::make_unique<Member>(
        MemberOptions{.seed = options_.seed,
                      .number = k,
                      .node_count = options_.node_count,
                      .shard_count = options_.shard_count,
                      .ttl_ms = options_.ttl_ms,
                      .election_ms = options_.election_ms()},
        MemberEnvironment{.send =
                              [this, number](NodeId to,
                                             const protocol::RequestSlot& slot,
                                             std::span<const std::byte> payload) {
                                wire_.send(number, to, slot, payload, now_us_);
                              },
                          .report = [this](const std::string& broken) { judge_.report(broken); },
                          .judge = groups_}));
  }
}

std::uint64_t World::moment_ns() {
  moment_ns_ = std::max(moment_ns_ + 1, now_us_ * 1000);
  return moment_ns_;
}

void World::step() {
  now_us_ += std::uint64_t{options_.quantum_ms} * 1000;
  network_.advance_to(Tick{now_us_ / 1000});
  nemesis_->pass();
  wire_.deliver_requests(now_us_, [this](auto client, NodeId to, auto& slot, auto payload) {
    nodes_[to.value - 1]->take_request(connection_of(client), slot, payload);
  });
  for (const auto& node : nodes_) {
    node->pass(now_us_);
    if (const auto failure = node->take_failure()) {
      nemesis_->on_node_failed(node->id().value - 1, *failure);
    }
    nemesis_->look_at_power(node->id().value - 1);
    report_if(audit_.look_at_votes(node->id().value - 1, *node));
  }
  report_if(watch_.end_turn([this](NodeId id, ShardId shard) {
    WorldNode& node = *nodes_[id.value - 1];
    const bool at_work = node.running() && !node.paused();
    return at_work ? node.lease_of(shard, now_us_) : std::nullopt;
  }));
  wire_.deliver_replies(now_us_, [this](NodeId from, auto client, auto& slot, auto payload) {
    if (client < clients_.size()) {
      clients_[client]->take_reply(from, slot, payload);
    } else {
      members_[client - clients_.size()]->take_reply(from, slot, payload);
    }
  });
  for (const auto& client : clients_) {
    client->pass(now_us_);
  }
  for (const auto& member : members_) {
    member->pass(now_us_);
  }
}

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

bool World::all_led() {
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    const bool led = std::ranges::any_of(nodes_, [shard](const auto& node) {
      return node->running() && node->engine().view(ShardId{shard}).role == consensus::Role::Leader;
    });
    if (!led) {
      return false;
    }
  }
  return true;
}

bool World::shard_converged(ShardId shard) {
  const server::ShardView first = nodes_[0]->engine().view(shard);
  const std::uint64_t hash = nodes_[0]->service().state_hash(shard);
  return std::ranges::all_of(nodes_, [&](const auto& node) {
    const server::ShardView view = node->engine().view(shard);
    return view.leader == first.leader && view.leader != NodeId{} && view.term == first.term &&
           view.applied == first.applied && view.commit == view.applied &&
           view.last == view.commit && node->service().state_hash(shard) == hash;
  });
}

bool World::converged() {
  for (const auto& node : nodes_) {
    // I20: what was asked is answered, and nothing is kept of it.
    if (!node->running() || node->service().pending_count() != 0 ||
        node->service().wait_count() != 0) {
      return false;
    }
  }
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    // A lock that has left a shard has arrived in the other.
    if (!shard_converged(ShardId{shard}) ||
        !nodes_[0]->service().locks().departed(ShardId{shard}).empty()) {
      return false;
    }
  }
  return std::ranges::all_of(clients_, [](const auto& client) { return client->ended(); }) &&
         std::ranges::all_of(members_, [](const auto& member) { return member->ended(); });
}

std::string World::why_not_converged() {
  for (const auto& node : nodes_) {
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
      std::string text = "shard " + std::to_string(shard) + ":";
      for (const auto& node : nodes_) {
        const server::ShardView view = node->engine().view(ShardId{shard});
        text += " [leader " + std::to_string(view.leader.value) + " term " +
                std::to_string(view.term.value) + " last " + std::to_string(view.last.value) +
                " commit " + std::to_string(view.commit.value) + " applied " +
                std::to_string(view.applied.value) + "]";
      }
      return text;
    }
  }
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    if (!nodes_[0]->service().locks().departed(ShardId{shard}).empty()) {
      return "a lock that has left shard " + std::to_string(shard) + " does not arrive";
    }
  }
  for (const auto& client : clients_) {
    if (!client->ended()) {
      return client->describe();
    }
  }
  const bool members =
      std::ranges::all_of(members_, [](const auto& each) { return each->ended(); });
  return members ? "all is well by now" : "a member of a group has not ended";
}

void World::end_in_peace() {
  nemesis_->heal();
  const std::uint64_t healed_us = now_us_;
  const std::uint64_t timeout_us = options_.election_ms() * 1000;
  for (const auto& client : clients_) {
    client->begin_end();
  }
  for (const auto& member : members_) {
    member->begin_end();
  }
  bool led = false;
  while (now_us_ < healed_us + kConvergedTimeouts * timeout_us) {
    step();
    if (!led && all_led()) {
      led = true;
      result_.led_ms = (now_us_ - healed_us) / 1000;
    }
    if (!led && now_us_ > healed_us + kLedTimeouts * timeout_us) {
      judge_.report("L1: a shard has no leader " + std::to_string(kLedTimeouts) +
                    " election timeouts after healing: " + why_not_converged());
      return;
    }
    if (led && converged()) {
      return audit_history();
    }
  }
  judge_.report("L1: not converged " + std::to_string(kConvergedTimeouts) +
                " election timeouts after healing: " + why_not_converged());
}

void World::audit_history() {
  std::vector<WorldNode*> nodes;
  for (const auto& node : nodes_) {
    nodes.push_back(node.get());
  }
  report_if(audit_histories(options_, nodes));
  report_if(audit_places(options_, *nodes_[0]));
  report_if(audit_reads(nodes, judge_.weak_reads()));
}

void World::load_for(std::uint64_t ms) {
  for (const std::uint64_t end_us = now_us_ + ms * 1000; now_us_ < end_us;) {
    step();
  }
}

WorldResult World::run() {
  const std::uint64_t begun_us = now_us_;
  load_for(options_.safety_ms);
  end_in_peace();
  result_.violation = judge_.verdict();
  result_.undecided = judge_.undecided();
  result_.lost = judge_.lost();
  result_.digest = judge_.digest();
  nemesis_->count_messages();
  result_.operations = judge_.operations().size();
  result_.weak_reads = judge_.weak_reads().size();
  for (const auto& client : clients_) {
    result_.acknowledged += client->acknowledged();
    result_.quorum_reads += client->quorum_reads();
  }
  for (const auto& member : members_) {
    result_.group_requests += member->done();
  }
  for (const auto& node : nodes_) {
    result_.steps_checked += node->steps_checked();
  }
  result_.simulated_ms = (now_us_ - begun_us) / 1000;
  return result_;
}

}  // namespace gcoord::chaos
