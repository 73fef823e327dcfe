// Requests: from a slot to a command in the log, or to an answer at once.
#include "server/lock_service.h"

#include "common/incarnation.h"
#include "common/name_hash.h"
#include "rpc/session_messages.h"
#include "server/renew_ahead.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

namespace {

// What rpc/validate.h admits, locks::encode() must be able to write.
static_assert(rpc::kSequenceAheadMax == locks::kSequenceAheadMax);
static_assert(rpc::kNameBytesMax == locks::kNameBytesMax);
static_assert(rpc::kSessionReserved == locks::kKeeperSession.value);
static_assert(rpc::kTtlMsMax == locks::kTtlMsMax);
static_assert(rpc::kNoteBytesMax == locks::kNoteBytesMax);
static_assert(rpc::kHoldersMax == locks::kHoldersMax);
static_assert(rpc::kDelayMsMax == locks::kDelayMsMax);
static_assert(rpc::kBreakWhoBytesMax == locks::kBreakWhoBytesMax);
static_assert(static_cast<std::uint8_t>(rpc::HoldFlag::Reentrant) == locks::kHoldReentrant);
static_assert(static_cast<std::uint8_t>(rpc::HoldFlag::Shared) == locks::kHoldShared);
static_assert(static_cast<std::uint8_t>(rpc::HoldFlag::Downgrade) == locks::kHoldDowngrade);
static_assert(static_cast<std::uint8_t>(rpc::HoldFlag::Ranked) == locks::kHoldRanked);

using rpc::ErrorCode;
using rpc::RequestKind;

locks::LockOptions lock_options(const LockServiceOptions& options) {
  locks::LockOptions result;
  result.shard_count = options.limits.shard_count;
  result.limits = options.caps;
  result.clock.tick_ms = options.tick_ms;
  result.clock.index_seed = options.index_seed;
  result.index_seed = options.index_seed;
  return result;
}

SessionExpiryOptions expiry_options(const LockServiceOptions& options) {
  return {options.node,
          options.nodes,
          options.tick_ms,
          options.election_ticks,
          options.limits.ttl_ms_min};
}

CoordinatorDriverOptions office_options(const LockServiceOptions& options) {
  return {
      options.node, options.nodes, options.coordinator, options.tick_ms, options.election_ticks};
}

ErrorCode error_of_limit(locks::LockLimit limit) {
  switch (limit) {
    case locks::LockLimit::Locks:
      return ErrorCode::LocksExhausted;
    case locks::LockLimit::Waiters:
      return ErrorCode::WaitersExhausted;
    case locks::LockLimit::Sessions:
      return ErrorCode::SessionsExhausted;
    case locks::LockLimit::Requests:
      return ErrorCode::RepliesExhausted;
    case locks::LockLimit::None:
      break;
  }
  return ErrorCode::None;
}

}  // namespace

LockService::LockService(const LockServiceOptions& options,
                         ReplySink& replies,
                         MetricsRegistry& metrics)
    : options_(options),
      replies_(replies),
      metrics_(metrics),
      locks_(lock_options(options)),
      election_asks_(options.tick_ms),
      reads_({options.limits.shard_count, options.tick_ms}, locks_, read_doors()),
      ages_(make_ages(metrics)),
      replica_reads_(make_replica_reads()),
      session_views_({options.limits.shard_count, options.tick_ms},
                     locks_,
                     [this](ShardId shard) { return leads(shard); }),
      quota_(options.session_locks_max),
      node_features_({.node = options.node, .nodes = options.nodes, .tick_ms = options.tick_ms}),
      sweeps_(metrics),
      expiry_(expiry_options(options), locks_, metrics, expiry_doors()),
      office_(office_options(options), metrics, office_doors()),
      deadlocks_({options.node, options.tick_ms, options.deadlock_interval_ms, options.wall_ms},
                 locks_,
                 waits_,
                 metrics,
                 deadlock_doors()),
      moves_({options.node, options.limits.shard_count, options.tick_ms, options.caps.locks_max},
             locks_,
             metrics,
             move_doors()),
      led_((options.limits.shard_count + 63) / 64),
      events_(locks::kLockEventsPerCommandMax) {
  applied_.resize(options.limits.shard_count);
}

void LockService::start(ReplicaPort& engine, Incarnation incarnation, const NodeReports& reports) {
  engine_ = &engine;
  reports_ = &reports;
  node_features_.start(engine, incarnation);
  expiry_.start(engine);
  ages_.start(engine);
  GCOORD_ASSERT(options_.node.value <= 0xffff);
  // 16 bits of the start's number: they come round after 65,536 restarts, when every session of
  // that life has been dead for longer than the longest TTL.
  session_prefix_ = std::uint64_t{options_.node.value} << 48 |
                    std::uint64_t{ordinal_of(incarnation) & 0xffffu} << 32;
}

bool LockService::leads(ShardId shard) const {
  return (led_[shard.value / 64] >> (shard.value % 64) & 1u) != 0;
}

void LockService::set_leads(ShardId shard, bool leading) {
  const std::uint64_t bit = std::uint64_t{1} << (shard.value % 64);
  std::uint64_t& word = led_[shard.value / 64];
  word = leading ? word | bit : word & ~bit;
}

void LockService::send(ConnectionId connection,
                       const rpc::ReplySlot& reply,
                       std::span<const std::byte> payload) {
  if (reply.code != StatusCode::Ok) {
    metrics_.requests_failed->add();
  }
  replies_.reply(connection, reply, payload);
}

void LockService::send_error(ConnectionId connection,
                             const rpc::RequestSlot& request,
                             ErrorCode error) {
  metrics_.requests_refused->add();
  send(connection, error_reply(request, error));
}

void LockService::on_request(ConnectionId connection,
                             const rpc::RequestSlot& request,
                             std::span<const std::byte> payload) {
  GCOORD_ASSERT(engine_ != nullptr);
  metrics_.requests->add();
  const ErrorCode error = rpc::check_request(request, payload, options_.limits);
  if (error != ErrorCode::None) {
    send_error(connection, request, error);
  } else if (pending_.size() >= kPendingMax) {
    send_error(connection, request, ErrorCode::Overloaded);
  } else {
    dispatch(connection, request, payload);
  }
}

void LockService::dispatch(ConnectionId connection,
                           const rpc::RequestSlot& request,
                           std::span<const std::byte> payload) {
  const std::string_view text = rpc::text_of(payload);
  const auto say = [&](const std::string& json) {
    send(connection, rpc::reply_to(request), rpc::bytes_of(json));
  };
  switch (request.kind) {
    case RequestKind::LockAcquire:
      return on_acquire(connection, request, text);
    case RequestKind::LockAcquireHold:
      return on_acquire_hold(connection, request, payload);
    case RequestKind::LockRelease:
      return on_release(connection, request, text);
    case RequestKind::LockBreak:
      return on_break(connection, request, payload);
    case RequestKind::LockMove:
      return on_move(connection, request, payload);
    case RequestKind::SessionLosses:
      return on_losses(connection, request);
    case RequestKind::LockCancel:
      return on_cancel(connection, request, text);
    case RequestKind::LockCheck:
    case RequestKind::LockCheckBatch:
    case RequestKind::LockGet:
    case RequestKind::LockList:
    case RequestKind::ElectCandidates:
      return reads_.start(connection, request, payload, now_);
    case RequestKind::ElectProclaim:
      return on_proclaim(connection, request, payload);
    case RequestKind::ElectTransfer:
      return on_transfer(connection, request, payload);
    case RequestKind::ElectAsk:
      return on_election_ask(connection, request, payload);
    case RequestKind::LockRead:
    case RequestKind::LockReadList:
      return replica_reads_.start(connection, request, payload, now_us_);
    case RequestKind::SessionGrant:
      return on_session_grant(connection, request);
    case RequestKind::SessionShow:
      return on_session_show(connection, request);
    case RequestKind::SessionList:
      return on_session_list(connection, request, payload);
    case RequestKind::OpenSession:
      return on_open_session(connection, request);
    case RequestKind::KeepAlive:
      return on_keep_alive(connection, request, payload);
    case RequestKind::CloseSession:
      return on_close_session(connection, request);
    case RequestKind::LockDeadlocks:
      return say(deadlocks_.report());
    case RequestKind::NodeStatus:
      return say(reports_->node_status());
    case RequestKind::ShardShow:
      return say(reports_->shard_show(ShardId{request.shard}));
    case RequestKind::ShardList:
    case RequestKind::LeaderMap:
      return on_shard_range(connection, request, payload);
    case RequestKind::Hello:
    case RequestKind::SnapshotOpen:
    case RequestKind::SnapshotRead:
    case RequestKind::LedgerPrune:
    case RequestKind::LockGetAt:
    case RequestKind::WatchOpen:
    case RequestKind::WatchClose:
    case RequestKind::WatchProgress:
      break;  // The front end's and the node's own; a second Hello is a mistake of the client.
  }
  send_error(connection, request, ErrorCode::KindUnknown);
}

void LockService::propose(ShardId shard,
                          const locks::LockCommand& command,
                          const Pending& pending) {
  command_.clear();
  put_record_header(command_, record_header(pending));
  locks::encode(command, command_);
  engine_->propose(shard, {command_, &command}, pending_.add(pending));
}

RecordHeader LockService::record_header(const Pending& pending) const {
  const bool moved = pending.kind == PendingKind::Move && pending.connection != ConnectionId{};
  const bool asked =
      pending.kind == PendingKind::Request || pending.kind == PendingKind::Close || moved;
  return {RecordKind::LockCommand,
          asked ? replies_.origin(pending.connection) : RecordOrigin::System,
          options_.wall_ms ? options_.wall_ms() : 0};
}

void LockService::submit(ConnectionId connection,
                         const rpc::RequestSlot& request,
                         ShardId shard,
                         const locks::LockCommand& command) {
  if (!leads(shard)) {
    return send(connection, not_leader_reply(request, engine_->view(shard).leader));
  }
  if (command.kind != locks::LockCommandKind::CancelWait &&
      not_come_yet(request, shard, command.name_hash)) {
    return send_error(connection, request, ErrorCode::LockMoving);
  }
  const bool counted = command.kind == locks::LockCommandKind::Acquire;
  if (counted && closed_.contains(command.session)) {
    return send_error(connection, request, ErrorCode::SessionClosed);
  }
  Pending pending;
  pending.kind = PendingKind::Request;
  pending.connection = connection;
  pending.started_us = now_us_;
  pending.request = request;
  if (counted && locks_.stands_in_line(shard, command)) {
    metrics_.waits_rebound->add();
    return bind_wait(pending, shard);
  }
  const ErrorCode error = error_of_limit(locks_.would_exceed(shard, command));
  if (error != ErrorCode::None) {
    return send_error(connection, request, error);
  }
  if (counted && !quota_.admit(command.session, session_views_)) {
    return send_error(connection, request, ErrorCode::SessionLocksExhausted);
  }
  propose(shard, command, pending);
}

void LockService::on_acquire(ConnectionId connection,
                             const rpc::RequestSlot& request,
                             std::string_view name) {
  const rpc::LockAcquire acquire = rpc::acquire_from_slot(request);
  const locks::LockCommand command = locks::make_acquire({acquire.caller.session,
                                                          acquire.caller.sequence,
                                                          acquire.caller.acked_below,
                                                          name,
                                                          acquire.wait_ms != 0,
                                                          acquire.ttl_ms});
  submit(connection, request, place_of(request, command.name_hash), command);
}

void LockService::on_acquire_hold(ConnectionId connection,
                                  const rpc::RequestSlot& request,
                                  std::span<const std::byte> payload) {
  const auto decoded = rpc::decode_hold(payload);
  GCOORD_ASSERT(decoded.ok());  // check_request() did the same.
  const rpc::LockHold& hold = decoded.value();
  const rpc::LockAcquire acquire = rpc::acquire_from_slot(request);
  const locks::LockCommand command =
      locks::make_acquire_hold({.acquire = {acquire.caller.session,
                                            acquire.caller.sequence,
                                            acquire.caller.acked_below,
                                            hold.name,
                                            acquire.wait_ms != 0,
                                            acquire.ttl_ms},
                                .ask = {.flags = hold.flags,
                                        .permits = hold.permits,
                                        .limit = hold.limit,
                                        .delay_ms = hold.delay_ms},
                                .text = {hold.name.data(), hold.name.size() + hold.note.size()}});
  if (!engine_->takes(command)) {
    return send_error(connection, request, ErrorCode::HoldsUnsupported);
  }
  submit(connection, request, place_of(request, command.name_hash), command);
}

void LockService::on_release(ConnectionId connection,
                             const rpc::RequestSlot& request,
                             std::string_view name) {
  const rpc::LockRelease release = rpc::release_from_slot(request);
  const NameHash hash = hash_name(name);
  const locks::LockCommand command = locks::make_release({release.caller.session,
                                                          release.caller.sequence,
                                                          release.caller.acked_below,
                                                          hash,
                                                          release.token,
                                                          release.by_token});
  submit(connection, request, place_of(request, hash), command);
}

void LockService::on_cancel(ConnectionId connection,
                            const rpc::RequestSlot& request,
                            std::string_view name) {
  const rpc::Caller caller = rpc::caller_of(request);
  const locks::LockCommand command =
      locks::make_cancel_wait(caller.session, caller.sequence, false);
  const ShardId shard = place_of(request, hash_name(name));
  // Else the wait would come with the lock after it was given up, and be granted to nobody.
  if (leads(shard) && not_come_yet(request, shard, hash_name(name))) {
    return send_error(connection, request, ErrorCode::LockMoving);
  }
  submit(connection, request, shard, command);
}

// Whether a majority of the nodes has admitted this life of the node, and so remembers its number.
// The ids of sessions are made of it: a directory that is empty, or comes back from the past, has
// numbers that were used, and does not know it before its peers refuse it. Only a heartbeat proves
// an admission: on the called side a channel is up before the caller has judged the answer. This
// node is one of the majority only if its directory is no new one: one that takes the place of
// another remembers nothing of it.
bool LockService::admitted() const {
  const NodeView node = engine_->view();
  if (!node.established) {
    return false;
  }
  const auto heard = std::ranges::count_if(
      node.peers, [](const NodePeerView& peer) { return peer.heard.value != 0; });
  return static_cast<std::size_t>(heard) + 1 > (node.peers.size() + 1) / 2;
}

void LockService::on_open_session(ConnectionId connection, const rpc::RequestSlot& request) {
  if (session_count_ == 0xffff'ffffu) {
    return send_error(connection, request, ErrorCode::SessionsExhausted);
  }
  if (!admitted()) {
    return send_error(connection, request, ErrorCode::NotReady);
  }
  ++session_count_;
  rpc::ReplySlot reply = rpc::reply_to(request);
  reply.extra = session_prefix_ | session_count_;
  reply.ttl_ms = request.ttl_ms;
  send(connection, reply);
}

void LockService::on_keep_alive(ConnectionId connection,
                                const rpc::RequestSlot& request,
                                std::span<const std::byte> payload) {
  const auto sessions = rpc::decode_keep_alive(payload);
  if (!sessions.ok()) {
    return send_error(connection, request, ErrorCode::PayloadMalformed);
  }
  std::vector<SessionId> each_once = std::move(sessions).value();
  if (!std::ranges::is_sorted(each_once, {}, &SessionId::value)) {
    std::ranges::sort(each_once, {}, &SessionId::value);
  }
  const auto [first, last] = std::ranges::unique(each_once);
  each_once.erase(first, last);
  std::vector<rpc::KeepAliveEntry> missed;
  RenewAhead ahead{locks_.clock().columns(), each_once};
  for (std::size_t place = 0; place < each_once.size(); ++place) {
    const SessionId session = each_once[place];
    ahead.before(place);
    // Renewed is the rule and is not said: what is missed matters.
    const sessions::RenewOutcome outcome = renew(session);
    if (outcome.code != sessions::RenewCode::Renewed) {
      const bool lost = outcome.code == sessions::RenewCode::Lost;
      const auto state = lost ? rpc::KeepAliveState::Expired : rpc::KeepAliveState::Unregistered;
      missed.push_back({session, state, 0});
    } else if (outcome.broken && request.has(rpc::RequestFlag::TellBroken)) {
      missed.push_back({session, rpc::KeepAliveState::Broken, 0});
    }
  }
  send(connection, rpc::reply_to(request), rpc::encode_keep_alive_reply(missed));
}

// A session that is registered in many shards is renewed once a tick, however often it is asked
// for: a second time in the same tick changes nothing, and might cost a walk over a million rows.
sessions::RenewOutcome LockService::renew(SessionId session) {
  constexpr std::uint32_t kManyRegistrations = 64;
  if (renewed_at_ != now_) {
    renewed_at_ = now_;
    renewed_.clear();
  }
  if (renewed_.contains(session.value)) {
    return {.code = sessions::RenewCode::Renewed};
  }
  const sessions::RenewOutcome outcome = locks_.clock().renew(session, now_);
  if (outcome.registration_count > kManyRegistrations) {
    renewed_.insert(session.value);
  }
  return outcome;
}

// Ends the session in every shard of the request that is led here and knows it.
void LockService::on_close_session(ConnectionId connection, const rpc::RequestSlot& request) {
  const SessionId session{request.session};
  closed_.note(session);  // At once: what comes from now on would stand behind the close.
  std::vector<ShardId> shards;
  if (request.shard == rpc::kAllShards) {
    for (const sessions::Registration& each : locks_.clock().registrations_of(session)) {
      if (leads(each.shard)) {
        shards.push_back(each.shard);
      }
    }
  } else if (!leads(ShardId{request.shard})) {
    const NodeId leader = engine_->view(ShardId{request.shard}).leader;
    return send(connection, not_leader_reply(request, leader));
  } else {
    shards.push_back(ShardId{request.shard});
  }
  if (shards.empty()) {
    return send(connection, rpc::reply_to(request));
  }
  ++close_last_;
  closes_.emplace(close_last_,
                  CloseGroup{connection, request, shards.size(), ErrorCode::None, NodeId{}});
  for (const ShardId shard : shards) {
    Pending pending;
    pending.kind = PendingKind::Close;
    pending.connection = connection;
    pending.group = close_last_;
    // The sequence is not part of the window: a session is closed once, and closing it again is
    // the same.
    const RequestSequence sequence{std::max<std::uint64_t>(request.sequence, 1)};
    propose(shard, locks::make_close_session(session, sequence), pending);
  }
}

}  // namespace gcoord::server
