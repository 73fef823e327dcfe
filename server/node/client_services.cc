#include "server/node/client_services.h"

#include "server/node/member_options.h"
#include "server/node/node_parts.h"
#include "server/platform/boot_time.h"

#include <algorithm>
#include <span>
#include <utility>

namespace gcoord::server {

ClientServices::ClientServices(Environment parts, const ledger::SpaceGuard& space)
    : environment_(std::move(parts)),
      space_(space),
      snapshots_(std::make_unique<SnapshotDownloads>(snapshot_environment())),
      pruning_(pruning_environment()),
      gate_(environment_.metrics),
      roles_(environment_.service.handlers().reads.ages(),
             std::uint64_t{environment_.options.election_ms} * 1000),
      watches_(WatchHubOptions{.shard_count = environment_.options.shards, .judge = &gate_.watches},
               watch_environment()),
      past_(HistoricalReadsOptions{.shard_count = environment_.options.shards}, past_environment()),
      log_levels_(environment_.replies),
      members_(member_options(environment_.options, environment_.engine), member_environment()),
      access_(environment_.ledger.access(), access_environment(), environment_.options.data_dir),
      audit_(audit_environment(), audit_options()),
      limits_(environment_.ledger.limits(),
              {limits_environment(),
               judge_environment(),
               environment_.metrics,
               environment_.options.ledger_prune_delay_ms,
               [this] { return gate_.requests.on(); },
               environment_.options.data_dir}),
      detection_(environment_.options, detector_environment(), environment_.replies),
      dear_(environment_.replies, environment_.service.slow_requests(), environment_.metrics) {
  gate_.requests.start(gate_environment());
  gate_.requests.set_all_guard([this] {
    return environment_.service.all_have(protocol::Feature::Safeguards) ||
           security::has_safeguards(environment_.ledger.limits().table());
  });
  roles_.begin(stand_at_start());
  environment_.service.set_tap(&watches_);
  environment_.service.set_wait_judge(&gate_.waits);
  members_.set_verdicts([this] { return detection_.verdicts(); });
}

// A directory that has the roles is believed as far as its age allows (RequestGate). One that joins
// has no configuration of the shard. One that has lost what it had may have lost it together with
// all others, and must be able to say so.
RolesStand ClientServices::stand_at_start() const {
  const ShardView roles = environment_.engine.view(kAccessShard);
  const bool forgotten = environment_.engine.view().forgotten_count != 0;
  if (access_.table().epoch != 0 || (roles.applied.value != 0 && !forgotten)) {
    return RolesStand::Known;
  }
  const bool joins = environment_.options.turn == TurnOption::Host && !forgotten &&
                     roles.configuration.voters_either() == 0;
  return joins ? RolesStand::Joining : RolesStand::Unconfirmed;
}

RequestRouter ClientServices::router(std::function<std::uint64_t()> now_ms) {
  RequestRouter router({.service = environment_.service,
                        .snapshots = snapshots_.get(),
                        .pruning = &pruning_,
                        .watches = &watches_,
                        .past = &past_,
                        .log = &log_levels_,
                        .members = &members_,
                        .access = &access_,
                        .audit = &audit_,
                        .alarms = &detection_.alarm_requests(),
                        .identities = &environment_.identities,
                        .now_ms = std::move(now_ms),
                        .dear = &dear_,
                        .witness = environment_.options.witness,
                        .gate = &gate_.requests,
                        .limits = &limits_});
  dear_.set_handler([router](const ClientRequest& request) { router.serve_late(request); });
  NodeRequests& ranges = environment_.service.handlers().node;
  ranges.answer_in_parts();
  dear_.set_parts({.under_way = [&ranges] { return ranges.under_way(); },
                   .go_on = [&ranges] { ranges.go_on(); }});
  return router;
}

bool ClientServices::advance(std::uint64_t now_ms) {
  if (follows_roles()) {
    roles_.advance(environment_.service.now_us());
  }
  gate_.requests.show();
  const bool more = watches_.advance(now_ms);
  past_.advance(now_ms);
  snapshots_->advance(now_ms);
  pruning_.advance();
  detection_.detector().advance(now_ms);
  access_.advance(now_ms);
  audit_.advance(now_ms);
  limits_.advance();
  members_.advance(now_ms);  // What the detector proposes is proposed in this pass.
  return more;
}

std::uint64_t ClientServices::until_next_deadline_ms() const {
  const std::uint64_t now_us = environment_.service.now_us();
  const std::uint64_t dear_us = dear_.until_next_us(now_us);
  const std::uint64_t roles_ms =
      follows_roles() ? roles_.until_next_ms(now_us) : LockService::kNeverMs;
  return std::min({past_.until_next_look_ms(),
                   members_.until_next_deadline_ms(),
                   access_.until_next_deadline_ms(),
                   audit_.until_next_ms(now_us / 1000),
                   roles_ms,
                   detection_.detector().until_next_deadline_ms(),
                   dear_us / 1000 + (dear_us % 1000 != 0 ? 1 : 0)});
}

RequestGate::Environment ClientServices::gate_environment() {
  return {.clients = environment_.replies,
          .table = [this]() -> const security::AccessTable& { return access_.table(); },
          .confirmed = [this] { return roles_.confirmed(environment_.service.now_us()); },
          .stand = [this] { return roles_stand(); },
          .standing =
              [this](protocol::ConnectionId connection, SessionId session) {
                return environment_.identities.has_attached(connection, session)
                           ? SessionStanding::Own
                           : SessionStanding::Unproven;
              },
          .now_ms = [this] { return environment_.service.now_us() / 1000; },
          .reidentified = [this] { return environment_.identities.reidentified(); },
          .is_behind = [this](const security::Principal& principal,
                              SessionId session) { return audit_.is_behind(principal, session); }};
}

SnapshotDownloads::Environment ClientServices::snapshot_environment() {
  return {.engine = environment_.engine,
          .replies = environment_.replies,
          .make_header = [this] { return make_header(environment_.options, environment_.engine); },
          .wake = environment_.wake,
          .frontier_at = environment_.ledger.frontiers(),
          .pin = [this] { return environment_.ledger.history().pin(); },
          .disk_is_low = [this] { return space_.is_low(); }};
}

bool ClientServices::may_record(protocol::Feature feature) const {
  return environment_.engine.abilities().takes_records && environment_.service.all_have(feature);
}

NodeMembers::Environment ClientServices::member_environment() {
  return {.log = environment_.engine,
          .machine = environment_.ledger.machine(),
          .replies = environment_.replies,
          .metrics = environment_.metrics,
          .all_have = [this] { return may_record(protocol::Feature::ClusterView); },
          .wall_ms = wall_ms,
          .tick_ms = environment_.options.tick_ms,
          .has =
              [this](NodeId node, protocol::Feature feature) {
                return node == environment_.options.node || environment_.service.has(node, feature);
              }};
}

AccessRequests::Environment ClientServices::access_environment() {
  return {
      .log = environment_.engine,
      .machine = environment_.ledger.access(),
      .replies = environment_.replies,
      .all_have = [this] { return environment_.service.all_have(protocol::Feature::Roles); },
      .all_guard = [this] { return environment_.service.all_have(protocol::Feature::Safeguards); },
      .wall_ms = wall_ms,
      .self =
          [this](protocol::ConnectionId connection) {
            return self_of(environment_.identities.connections(), connection);
          },
      .hash =
          [this](std::string password, auto on_hashed) {
            environment_.identities.hash_password(std::move(password), std::move(on_hashed));
          }};
}

NodeAudit::Environment ClientServices::audit_environment() {
  return {.log = environment_.engine,
          .machine = environment_.ledger.audit(),
          .replies = environment_.replies,
          .connections = environment_.identities.connections(),
          .locks = environment_.service.locks(),
          .metrics = environment_.metrics,
          .all_have = [this] { return may_record(protocol::Feature::Audit); },
          .now_ms = [this] { return environment_.service.now_us() / 1000; }};
}

NodeAudit::Options ClientServices::audit_options() const {
  return {.shard_count = environment_.options.shards,
          .mode = environment_.options.session_notes,
          .wall_ms = wall_ms};
}

LimitRequests::Environment ClientServices::limits_environment() {
  return {
      .log = environment_.engine,
      .machine = environment_.ledger.limits(),
      .replies = environment_.replies,
      .all_have = [this] { return environment_.service.all_have(protocol::Feature::Limits); },
      .all_guard = [this] { return environment_.service.all_have(protocol::Feature::Safeguards); },
      .wall_ms = wall_ms,
      .proven =
          [this](protocol::ConnectionId connection) {
            return environment_.identities.proven_user(connection);
          },
      .subject = {}};
}

LimitJudge::Environment ClientServices::judge_environment() {
  const NodeOptions& options = environment_.options;
  IdentityLimits defaults;
  defaults.connections = options.identity_connections_max != 0
                             ? options.identity_connections_max
                             : std::max(options.connections_max / 2, 1u);
  if (options.identity_sessions_max != 0) {
    defaults.sessions = options.identity_sessions_max;
  }
  return {
      .clients = environment_.replies,
      .load =
          [this](SessionId session) { return session_load(environment_.service.locks(), session); },
      .session_ttl_ms =
          [this](const protocol::RequestSlot& slot, std::string_view name) {
            const bool moved = slot.has(protocol::RequestFlag::Moved);
            return session_ttl_ms(environment_.service.locks(),
                                  SessionId{slot.session},
                                  moved ? ShardId{slot.shard}
                                        : shard_of(hash_name(name), environment_.options.shards));
          },
      .now_us = [this] { return environment_.service.now_us(); },
      .wall_ms = wall_ms,
      .defaults = defaults};
}

NodeDetector::Environment ClientServices::detector_environment() {
  return {.log = environment_.engine,
          .metrics = environment_.metrics,
          .view = [this]() -> const protocol::ClusterView& {
            return environment_.ledger.machine().views().view();
          },
          .propose_suspect = [this](NodeId node,
                                    bool suspect) { members_.propose_suspect(node, suspect); },
          .wall_ms = wall_ms};
}

LedgerPruning::Environment ClientServices::pruning_environment() {
  LedgerPruning::Environment environment{.replies = environment_.replies,
                                         .shard_count = environment_.options.shards,
                                         .shards =
                                             [this](const auto& order, auto ended) {
                                               return environment_.ledger.history().worker().prune(
                                                   order, std::move(ended));
                                             },
                                         .cluster = {},
                                         .wake = environment_.wake};
  // One person alone prunes only while nobody's rights are checked.
  environment.permits = [this](const protocol::LedgerPrune& order) {
    return gate_.requests.on() ? limits_.prunes().permits(order) : Status{};
  };
  if (environment_.ledger.ledger().publishes()) {
    environment.cluster = [this](const auto& order, auto ended) {
      return environment_.ledger.ledger().prune(order, std::move(ended));
    };
  }
  return environment;
}

WatchHub::Environment ClientServices::watch_environment() {
  return {.replies = environment_.replies,
          .metrics = environment_.metrics,
          .applied =
              [this](ShardId shard) {
                // What the tables had before they were watched is nobody's to see (docs/adr/0145).
                return max_id(LogIndex{environment_.ledger.history().service().applied(shard)},
                              environment_.service.locks().view(shard).applied(shard));
              },
          .residence =
              [this](ShardId shard, NameHash name) {
                return environment_.service.locks().residence(shard, name);
              },
          .tell_peers =
              [this](std::span<const std::byte> message) {
                for (const NodePeerView& peer : environment_.engine.view().peers) {
                  environment_.engine.send_peer_message(peer.link.id, message);
                }
              },
          .history = history_reader(),
          .wake = environment_.wake,
          .budget = environment_.service.budget()};
}

HistoricalReads::Environment ClientServices::past_environment() {
  return {
      .replies = environment_.replies,
      .metrics = environment_.metrics,
      .applied =
          [this](ShardId shard) {
            return LogIndex{environment_.ledger.history().service().applied(shard)};
          },
      .leads =
          [this](ShardId shard) {
            return environment_.engine.view(shard).role == consensus::Role::Leader;
          },
      .leader_hint = [this](ShardId shard) { return environment_.engine.view(shard).leader; },
      .confirm = [this](ShardId shard,
                        std::uint64_t number) { environment_.service.confirm_read(shard, number); },
      .history = history_reader(),
      .wake = environment_.wake};
}

// What was, to be applied again.
WatchReplay::Reader ClientServices::history_reader() {
  return [history = environment_.ledger.history().worker().history()](ShardId shard) {
    return history->reader(shard);
  };
}

}  // namespace gcoord::server
