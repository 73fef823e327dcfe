#include "server/audit/node_audit.h"

#include "common/assert.h"
#include "protocol/audit/messages.h"
#include "protocol/error_codes.h"
#include "protocol/lease_messages.h"
#include "protocol/session_messages.h"
#include "server/audit/orders.h"
#include "server/interfaces/replies.h"
#include "server/platform/system_random.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// By then the note of a session that another node opened a moment ago is here.
constexpr std::uint64_t kAttachedMs = 2000;

}  // namespace

NodeAudit::NodeAudit(const Environment& environment, const Options& options)
    : env_(environment),
      options_(options),
      queue_({.log = env_.log,
              .machine = env_.machine,
              .metrics = env_.metrics,
              .all_have = env_.all_have,
              .shard_count = options_.shard_count}) {
  env_.machine.set_listener(this);
}

NodeAudit::~NodeAudit() {
  env_.machine.set_listener(nullptr);
}

std::optional<security::ClientOrigin> NodeAudit::origin_of(
    protocol::ConnectionId connection) const {
  const ConnectionIdentity* const known = env_.connections.identity(connection);
  if (known == nullptr || options_.mode == SessionNotes::Off) {
    return std::nullopt;
  }
  const bool anonymous = known->principal.kind == security::PrincipalKind::Anonymous;
  if (anonymous && options_.mode != SessionNotes::All) {
    return std::nullopt;
  }
  const bool local = known->principal.kind == security::PrincipalKind::Local;
  security::ClientOrigin origin{
      known->principal,
      local ? security::AddressClass::Local : security::address_class(known->address),
      known->address,
      security::note_text(known->client, security::kNoteClientBytesMax)};
  return origin;
}

void NodeAudit::add_session(protocol::ConnectionId connection,
                            SessionId session,
                            std::uint64_t due_ms) {
  auto origin = origin_of(connection);
  if (!origin || session.value == 0) {
    return;
  }
  security::AuditNote note;
  note.number = session.value;
  note.origin = *std::move(origin);
  queue_.add({protocol::home_shard(session, options_.shard_count),
              env_.replies.origin(connection),
              options_.wall_ms(),
              std::move(note)},
             due_ms);
}

// The grant of an id that somebody else has opened repeats what stands already.
void NodeAudit::on_opened(protocol::ConnectionId connection, const protocol::ReplySlot& reply) {
  const SessionId session{reply.extra};
  const ConnectionIdentity* const known = env_.connections.identity(connection);
  if (reply.kind == RequestKind::OpenSession ||
      (known != nullptr && known->attached.contains(session))) {
    add_session(connection, session, env_.now_ms());
  }
}

void NodeAudit::on_attached(protocol::ConnectionId connection, SessionId session) {
  const ConnectionIdentity* const known = env_.connections.identity(connection);
  const security::KnownOrigin* const noted =
      env_.machine.notes().find(protocol::home_shard(session, options_.shard_count), session);
  if (known == nullptr || (noted != nullptr && noted->origin.principal == known->principal)) {
    return;
  }
  add_session(connection, session, env_.now_ms() + (noted != nullptr ? 0 : kAttachedMs));
}

void NodeAudit::on_request_served(const ClientRequest& request) {
  auto order = audited_order(request, options_.shard_count);
  if (!order || (order->by_leader && env_.log.view(order->shard).role != consensus::Role::Leader)) {
    return;
  }
  auto origin = origin_of(request.connection);
  if (!origin) {
    return;
  }
  security::AuditNote note;
  note.kind = security::NoteKind::Order;
  note.number = std::max<std::uint64_t>(draw_random(), 1);
  note.order = static_cast<std::uint16_t>(request.slot.kind);
  note.object = security::note_text(order->object, security::kNoteObjectBytesMax);
  note.origin = *std::move(origin);
  queue_.add(
      {order->shard, env_.replies.origin(request.connection), options_.wall_ms(), std::move(note)},
      env_.now_ms());
}

std::vector<security::KnownOrigin> NodeAudit::origins_of(
    std::span<const SessionId> sessions) const {
  std::vector<security::KnownOrigin> origins;
  for (const SessionId session :
       sessions.first(std::min(sessions.size(), protocol::kDescribedMax))) {
    const security::KnownOrigin* const known =
        env_.machine.notes().find(protocol::home_shard(session, options_.shard_count), session);
    if (known != nullptr) {
      origins.push_back(*known);
    }
  }
  return origins;
}

bool NodeAudit::is_behind(const security::Principal& principal, SessionId session) const {
  if (principal.kind == security::PrincipalKind::Anonymous || session.value == 0) {
    return false;
  }
  const security::KnownOrigin* const known =
      env_.machine.notes().find(protocol::home_shard(session, options_.shard_count), session);
  return known != nullptr && known->origin.principal == principal;
}

std::vector<SessionId> NodeAudit::holders_of(const protocol::RequestSlot& request,
                                             std::string_view name) const {
  std::vector<SessionId> sessions;
  if (request.shard >= options_.shard_count) {
    return sessions;
  }
  const ShardId shard{request.shard};
  const NameHash hash = hash_name(name);
  const auto lock = env_.locks.get(shard, hash);
  if (!lock) {
    return sessions;
  }
  sessions.push_back(lock->holder);
  for (const locks::HeldLock::Holder& each : lock->holders) {
    sessions.push_back(each.session);
  }
  for (const locks::QueuedWaiter& each :
       env_.locks.waiters(shard, hash, 0, protocol::kDescribedMax / 2)) {
    sessions.push_back(each.session);
  }
  std::ranges::sort(sessions, {}, &SessionId::value);
  const auto [first, last] = std::ranges::unique(sessions);
  sessions.erase(first, last);
  return sessions;
}

void NodeAudit::on_request(protocol::ConnectionId connection,
                           const protocol::RequestSlot& request,
                           std::span<const std::byte> payload) {
  std::vector<SessionId> sessions;
  if (request.kind == RequestKind::HolderDescribe) {
    sessions = holders_of(request, protocol::text_of(payload));
  } else {
    GCOORD_ASSERT(request.kind == RequestKind::SessionDescribe);
    auto named = protocol::decode_keep_alive(payload);
    if (!named.ok() || named.value().size() > protocol::kDescribedMax) {
      return env_.replies.reply(connection, error_reply(request, ErrorCode::PayloadMalformed), {});
    }
    sessions = std::move(named).value();
  }
  env_.replies.reply(
      connection, protocol::reply_to(request), protocol::encode_origins(origins_of(sessions)));
}

void NodeAudit::on_noted(ShardId /*shard*/, const security::AuditNote& note) {
  queue_.remove(note.number);
}

void NodeAudit::on_notes_message(NodeId /*from*/, std::span<const std::byte> message) {
  queue_.on_message(message, env_.now_ms());
}

}  // namespace gcoord::server
