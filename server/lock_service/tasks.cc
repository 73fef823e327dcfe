#include "server/lock_service/tasks.h"

#include "locks/commands/break_wait.h"
#include "locks/commands/ends.h"

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

std::optional<HeardOptions> heard_options(const LockServiceOptions& options) {
  if (!options.witness) {
    return std::nullopt;
  }
  return HeardOptions{.count_max = options.caps.sessions_max,
                      .ttl_ticks_max = options.limits.ttl_ms_max / options.tick_ms + 1};
}

SessionExpiryOptions expiry_options(const LockServiceOptions& options) {
  return {options.node,
          options.nodes,
          options.tick_ms,
          options.election_ticks,
          options.limits.ttl_ms_min,
          heard_options(options)};
}

CoordinatorDriverOptions office_options(const LockServiceOptions& options) {
  return {
      options.node, options.nodes, options.coordinator, options.tick_ms, options.election_ticks};
}

// A device takes no statements of votes (server/evidence), so nobody is to sign any for it.
std::uint64_t features_of(const LockServiceOptions& options) {
  const auto votes = static_cast<std::uint64_t>(protocol::Feature::VoteSignatures);
  return options.on_device ? protocol::kFeatures & ~votes : protocol::kFeatures;
}

}  // namespace

ServiceTasks::ServiceTasks(const LockServiceOptions& options,
                           MetricsRegistry& metrics,
                           const Environment& environment)
    : features({.node = options.node,
                .nodes = options.nodes,
                .tick_ms = options.tick_ms,
                .features = features_of(options),
                .disk_is_low = options.disk_is_low,
                .drains = options.drains}),
      sweeps(metrics),
      expiry(expiry_options(options), environment.locks, metrics, expiry_doors(environment)),
      office(office_options(options), metrics, office_doors()),
      deadlocks({options.node, options.tick_ms, options.deadlock_interval_ms, options.wall_ms},
                environment.locks,
                environment.waits,
                metrics,
                deadlock_doors()),
      moves({options.node, options.limits.shard_count, options.tick_ms, options.caps.locks_max},
            environment.locks,
            metrics,
            move_doors()),
      delays({environment.locks, environment.log, environment.leaders, environment.clock}),
      env_(environment) {}

void ServiceTasks::start(ReplicatedLog& engine, Incarnation incarnation) {
  features.start(engine, incarnation);
  expiry.start(engine);
}

bool ServiceTasks::set_members(const ClusterMembers& members) {
  if (members.view.epoch < members_epoch_ || members.view.nodes.empty()) {
    return false;
  }
  members_epoch_ = members.view.epoch;
  expiry.set_members(members, env_.clock.now);
  const std::vector<NodeId> there = nodes_of(members.view);
  features.set_nodes(there);
  deadlocks.set_nodes(there);
  office.set_nodes(voters_with_state(members.view));
  return true;
}

void ServiceTasks::on_tick() {
  office.on_tick(env_.clock.now);
  deadlocks.on_tick(env_.clock.now, env_.clock.now_us);
  delays.on_tick();
  moves.on_tick(env_.clock.now);
}

void ServiceTasks::on_pass() {
  features.on_tick(env_.clock.now);
  expiry.on_pass(env_.clock.now);
}

Tick ServiceTasks::next_deadline() const {
  const Tick ended = min_id(expiry.next_deadline(), delays.next_deadline());
  const Tick searched = min_id(deadlocks.next_deadline(), moves.next_deadline());
  return min_id(min_id(ended, searched), office.next_deadline());
}

void ServiceTasks::on_loop_gap(std::uint64_t ticks) {
  expiry.on_loop_gap(env_.clock.now);
  office.on_loop_gap(ticks);
}

SessionExpiry::Environment ServiceTasks::expiry_doors(const Environment& environment) {
  return {.leads = [this](ShardId shard) { return env_.leaders.leads(shard); },
          .collect_due =
              [this](Tick now, std::span<sessions::ExpiryProposal> out) {
                sessions::SessionClock* const only = env_.locks.clock().only();
                return only != nullptr ? sweeps.collect_due(*only, now, out)
                                       : env_.locks.clock().collect_due(now, out);
              },
          .log = {.propose = [this](ShardId shard,
                                    std::span<const sessions::ExpiryProposal> ends,
                                    std::uint64_t number) { propose_ends(shard, ends, number); },
                  .ends_max = [this] { return ends_max(); }},
          .groups = environment.groups,
          .budget = environment.budget};
}

// Of one entry that all nodes apply.
std::uint32_t ServiceTasks::ends_max() const {
  const Abilities log = env_.log.abilities();
  const bool known = features.all_have(protocol::Feature::SessionEnds) &&
                     (!log.on_device || features.all_have(protocol::Feature::DeviceGroups));
  return known ? log.ends_max : 1;
}

void ServiceTasks::propose_ends(ShardId shard,
                                std::span<const sessions::ExpiryProposal> ends,
                                std::uint64_t number) {
  Pending pending;
  pending.kind = PendingKind::Expiry;
  pending.group = number;
  if (ends.size() == 1) {
    const auto alone = locks::make_expire_session(ends.front().session, ends.front().serial);
    return env_.log.propose(shard, alone, pending);
  }
  std::vector<locks::SessionEnd> listed;
  for (const sessions::ExpiryProposal& end : ends) {
    listed.push_back({end.session, end.serial});
  }
  const std::vector<char> list = locks::encode_ends(listed);
  env_.log.propose(shard, locks::make_expire_sessions(list), pending);
}

CoordinatorDriver::Environment ServiceTasks::office_doors() {
  return {.peers =
              [this] {
                std::vector<CoordinatorPeer> peers;
                for (const NodePeerView& peer : env_.log.view().peers) {
                  const NodeId node = peer.link.id;
                  peers.push_back({node,
                                   peer.link.incarnation,
                                   peer.live,
                                   features.has(node, protocol::Feature::Coordinators)});
                }
                return peers;
              },
          .send = [this](NodeId to, auto message) { env_.log.send(to, message); }};
}

DeadlockWatch::Environment ServiceTasks::deadlock_doors() {
  return {.leads = [this](ShardId shard) { return env_.leaders.leads(shard); },
          .leader = [this](ShardId shard) { return env_.leaders.leader(shard); },
          .coordinator = [this] { return office.coordinator(); },
          .send = [this](NodeId to, auto message) { env_.log.send(to, message); },
          .ask =
              [this](ShardId shard, std::uint64_t group) {
                env_.log.confirm(shard, PendingKind::Deadlock, group, ReadMode::Lease);
              },
          .end =
              [this](const WaitKey& key, LogIndex index) {
                Pending pending;
                pending.kind = PendingKind::Broken;
                env_.log.propose(
                    key.shard, locks::make_break_wait(key.session, key.sequence, index), pending);
              },
          .search = [this](auto edges, auto any) { return sweeps.search(edges, any); }};
}

LockMoves::Environment ServiceTasks::move_doors() {
  return {
      .leads = [this](ShardId shard) { return env_.leaders.leads(shard); },
      .leader = [this](ShardId shard) { return env_.leaders.leader(shard); },
      .send = [this](NodeId to, auto message) { env_.log.send(to, message); },
      .propose =
          [this](ShardId shard,
                 const locks::LockCommand& command,
                 std::uint64_t step,
                 protocol::ConnectionId connection) {
            Pending pending;
            pending.kind = PendingKind::Move;
            pending.group = step;
            pending.connection = connection;
            env_.log.propose(shard, command, pending);
          },
      .answer = [this](protocol::ConnectionId connection,
                       const protocol::ReplySlot& reply) { env_.replies.send(connection, reply); },
      .takes_moves = [this] { return env_.log.abilities().moves; },
      .may_begin =
          [this] {
            // Nodes that do not know these commands would go another way from a MoveOut on. A log
            // on a device has them in a form of its own.
            return features.all_have(protocol::Feature::LockMoves) &&
                   (!env_.log.abilities().on_device ||
                    features.all_have(protocol::Feature::DeviceMoves));
          },
      .places_lapse = [this] { return features.all_have(protocol::Feature::MovePlaces); }};
}

}  // namespace gcoord::server
