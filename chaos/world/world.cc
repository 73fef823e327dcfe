#include "chaos/world/world.h"

#include "chaos/world/history_audit.h"
#include "chaos/world/nemesis.h"
#include "common/assert.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace gcoord::chaos {
namespace {

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
      audit_(options.changes_members() ? kWorldIdsMax : options.node_count, options.shard_count),
      watch_(options.shard_count) {
  judge_.set_lives_apart(options.durability == consensus::Durability::Memory);
  if (options.changes_members()) {
    members_.emplace(Membership{MemberJudge{options.shard_count, options.node_count}, nullptr});
  }
  add_nodes();
  add_clients();
  add_operator();
  add_group_members();
  nemesis_ = std::make_unique<Nemesis>(*this, result_.faults, result_.power);
}

World::~World() = default;

void World::add_node(NodeId id) {
  nodes_.push_back(std::make_unique<WorldNode>(
      options_,
      id,
      WorldNodeEnvironment{
          .network = network_,
          .trace = [this](const server::ShardTransition& t,
                          std::uint32_t life) { judge_.take(t, life); },
          .on_failing = [this](NodeId failing) { nemesis_->note(failing.value - 1); },
          .on_message = [this](const consensus::Message& message,
                               std::uint32_t life) { on_message(message, life); },
          .on_step = [this](const SeenStep& step) { on_step(step); },
          .reply =
              [this](NodeId from,
                     protocol::ConnectionId connection,
                     const protocol::ReplySlot& slot,
                     std::span<const std::byte> payload) {
                wire_.reply(
                    from, static_cast<std::uint32_t>(connection.value - 1), slot, payload, now_us_);
              },
          .on_view =
              [this](NodeId node, const SeenView& seen) {
                report_if(members_->judge.on_view(node, seen));
              }}));
}

void World::add_nodes() {
  SimRandom random{options_.seed, 2};
  for (std::uint32_t index = 0; index < options_.node_count; ++index) {
    add_node(NodeId{index + 1});
    nodes_.back()->clock().set(now_us_, random.between(1, 1'000'000) * std::uint64_t{1000});
    if (const Status started = nodes_.back()->start(now_us_); !started.ok()) {
      judge_.report("a fresh node does not start: " + started.message());
    }
  }
}

// Of those that there are now.
NodeId World::any_node(std::uint64_t choice) const {
  const auto nodes = members_ ? server::nodes_of(members_->judge.newest()) : std::vector<NodeId>{};
  return nodes.empty() ? NodeId{static_cast<std::uint32_t>(1 + choice % options_.node_count)}
                       : nodes[choice % nodes.size()];
}

// The operator is one more client, behind the others.
void World::add_operator() {
  if (!members_) {
    return;
  }
  const std::uint32_t number = options_.client_count;
  MemberOperator::Environment environment;
  environment.asks = {
      .send =
          [this, number](
              NodeId to, const protocol::RequestSlot& slot, std::span<const std::byte> payload) {
            wire_.send(number, to, slot, payload, now_us_);
          },
      // One after the other: by the time, a patience that divides it would mean one for ever.
      .any_node = [this, asked = std::uint64_t{0}]() mutable { return any_node(asked++); },
      .patience_us = options_.election_ms() * 1000};
  environment.view = [this]() -> const protocol::ClusterView& { return members_->judge.newest(); };
  environment.is_unprovable = [this](const std::set<NodeId>& lost) {
    return members_->judge.is_unprovable(lost);
  };
  environment.start = [this](NodeId id, const protocol::ClusterView& view) {
    start_member(id, view);
  };
  environment.count = [this] {
    ++result_.faults[static_cast<std::size_t>(FaultClass::MemberChange)];
  };
  environment.tell = [this](const std::string& what) {
    if (options_.tells) {
      std::fprintf(
          stderr, "%10.3f s  operator: %s\n", static_cast<double>(now_us_) / 1e6, what.c_str());
    }
  };
  members_->by = std::make_unique<MemberOperator>(
      std::move(environment), options_.seed, options_.election_ms() * 1000);
}

void World::start_member(NodeId id, const protocol::ClusterView& view) {
  SimRandom random{options_.seed, 100 + id.value};
  while (node_count() < id.value) {
    add_node(NodeId{node_count() + 1});
  }
  WorldNode& node = *nodes_[id.value - 1];
  node.clock().set(now_us_, random.between(1, 1'000'000) * std::uint64_t{1000});
  node.disk().members = server::ClusterMembers{view, {}};
  nemesis_->add_machine(id.value - 1);
}

bool World::has_left(NodeId node) const {
  const protocol::Member* const member =
      members_ ? protocol::find_member(members_->judge.newest(), node) : nullptr;
  return member != nullptr && member->state == protocol::MemberState::Removed;
}

bool World::may_lose(NodeId node) const {
  return members_ && members_->by->may_lose(node) &&
         std::ranges::all_of(nodes_, [&](const auto& each) {
           return !each->running() || lives_without(*each, node);
         });
}

// Whether the shards of a node can decide by its configurations without this machine and those that
// are lost already. They lag behind the view, and machines differ in weight.
bool World::lives_without(WorldNode& by, NodeId lost) const {
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    const consensus::Configuration members = by.engine().view(ShardId{shard}).configuration;
    consensus::SlotMask left = 0;
    for (std::uint8_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
      const NodeId node = members.node[slot];
      if (node.value != 0 && node != lost && !members_->by->has_lost(node)) {
        left = static_cast<consensus::SlotMask>(left | consensus::slot_bit(slot));
      }
    }
    if (!consensus::is_quorum(members, left)) {
      return false;
    }
  }
  return true;
}

void World::on_step(const SeenStep& step) {
  report_if(watch_.on_step(step));
  if (members_) {
    report_if(members_->judge.on_step(step, [this, &step] {
      WorldNode& node = *nodes_[step.node.value - 1];
      return node.running() ? node.engine().members_progress().epoch : 0;
    }));
  }
}

void World::on_message(const consensus::Message& message, std::uint32_t life) {
  judge_.take(message, life);
  if (members_) {
    members_->judge.on_message(message);
  }
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
                },
            .any_node = [this](std::uint64_t choice) { return any_node(choice); }}));
    clients_.back()->clock().set(now_us_, now_us_);
  }
}

// Behind the operator, whose number is kept for it in all worlds.
void World::add_group_members() {
  const std::uint32_t first = options_.client_count + 1;
  for (std::uint32_t k = 0; k < options_.group_members; ++k) {
    group_members_.add(
        {.seed = options_.seed,
         .node_count = options_.node_count,
         .shard_count = options_.shard_count,
         .ttl_ms = options_.ttl_ms,
         .election_ms = options_.election_ms()},
        [this, first](std::uint32_t member, NodeId to, auto& slot, auto payload) {
          wire_.send(first + member, to, slot, payload, now_us_);
        },
        [this](const std::string& broken) { judge_.report(broken); });
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
    if (to.value <= node_count()) {
      nodes_[to.value - 1]->take_request(connection_of(client), slot, payload);
    }
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
    } else if (client == clients_.size()) {
      members_->by->take_reply(slot, payload);
    } else {
      const auto behind = static_cast<std::uint32_t>(client - clients_.size() - 1);
      group_members_[behind].take_reply(from, slot, payload);
    }
  });
  if (members_) {
    members_->by->pass(now_us_);
  }
  for (const auto& client : clients_) {
    client->pass(now_us_);
  }
  group_members_.pass(now_us_);
}

std::vector<WorldNode*> World::present() {
  std::vector<WorldNode*> nodes;
  for (const auto& node : nodes_) {
    const bool there = !members_ || members_->judge.newest().epoch == 0 ||
                       std::ranges::any_of(server::nodes_of(members_->judge.newest()),
                                           [&](NodeId id) { return id == node->id(); });
    if (there) {
      nodes.push_back(node.get());
    }
  }
  return nodes;
}

void World::audit_history() {
  const std::vector<WorldNode*> nodes = present();
  report_if(audit_histories(options_, nodes));
  report_if(audit_places(options_, *nodes[0]));
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
    result_.quorum_reads += client->counts().quorum_reads;
    result_.sessions.opened += client->counts().sessions.opened;
    result_.sessions.ended_early += client->counts().sessions.ended_early;
  }
  result_.group_requests = group_members_.done();
  for (const auto& node : nodes_) {
    result_.steps_checked += node->steps_checked();
  }
  result_.simulated_ms = (now_us_ - begun_us) / 1000;
  return result_;
}

}  // namespace gcoord::chaos
