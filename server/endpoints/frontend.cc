#include "server/endpoints/frontend.h"

#include "protocol/error_codes.h"
#include "server/endpoints/client_lines.h"
#include "server/endpoints/connection_sweep.h"
#include "server/identities/connection_proof.h"
#include "server/interfaces/replies.h"

#include <asio/ip/address_v6.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace gcoord::server {

namespace {

std::uint64_t system_now_us() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

bool opens_session(const protocol::ReplySlot& slot) {
  return slot.code == StatusCode::Ok && (slot.kind == protocol::RequestKind::OpenSession ||
                                         slot.kind == protocol::RequestKind::SessionGrant);
}

// Whoever counts replies counts these: of sessions that were opened, and the last ones of watches.
bool is_noted(const protocol::ReplySlot& slot) {
  return opens_session(slot) || slot.kind == protocol::RequestKind::WatchOpen;
}

bool proves(const protocol::ReplySlot& slot) {
  return slot.code == StatusCode::Ok && slot.kind == protocol::RequestKind::Authenticate;
}

CloseReason reason_of(protocol::ErrorCode error) {
  switch (error) {
    case protocol::ErrorCode::ConnectionsExhausted:
      return CloseReason::Full;
    case protocol::ErrorCode::Denied:
      return CloseReason::Denied;
    default:
      return CloseReason::Identity;
  }
}

// Before its handshake, which would cost more than the answer.
void turn_away(Connection& connection, protocol::ErrorCode error, bool tls) {
  if (tls) {
    return connection.close(reason_of(error));
  }
  protocol::RequestSlot hello;
  hello.kind = protocol::RequestKind::Hello;
  connection.reply(error_reply(hello, error), {});
  connection.close_after_flush(reason_of(error));
}

// Of a place that is kept for operators: whoever has proven to be somebody is one, or leaves. Who
// is nobody yet may still log in, and is swept if it does not.
protocol::ErrorCode judge_place(ReplyFilter* filter, Connection& connection) {
  const bool nobody = connection.identity.principal.kind == security::PrincipalKind::Anonymous;
  if (!connection.share().unsettled() || nobody) {
    return protocol::ErrorCode::None;
  }
  if (filter == nullptr || !filter->is_operator(connection.id())) {
    return protocol::ErrorCode::ConnectionsExhausted;
  }
  connection.settle();
  return protocol::ErrorCode::None;
}

// Who decides whether a connection stays; each may be none.
struct Judges {
  ReplyFilter* filter = nullptr;
  ConnectionJudge* judge = nullptr;
};

bool is_full(protocol::ErrorCode error) {
  return error == protocol::ErrorCode::ConnectionsExhausted ||
         error == protocol::ErrorCode::IdentityConnectionsFull;
}

// As who it has proven to be now. If not, the request is answered; but a login on a place that is
// kept for operators is not: clients take an answer to it for a refusal of what they have shown,
// and leave the node alone for long, while a node that closes is only tried again later.
bool may_stay(const Judges& judges, Connection& connection, const protocol::RequestSlot& request) {
  const bool logs_in =
      connection.share().unsettled() && request.kind == protocol::RequestKind::Authenticate;
  protocol::ErrorCode error = judge_place(judges.filter, connection);
  if (error == protocol::ErrorCode::None && judges.judge != nullptr) {
    error = judges.judge->on_identified(
        {connection.id(), connection.identity.principal, connection.peer()});
  }
  if (error != protocol::ErrorCode::None) {
    if (!logs_in || !is_full(error)) {
      connection.reply(error_reply(request, error), {});
    }
    connection.close_after_flush(reason_of(error));
  }
  return error == protocol::ErrorCode::None;
}

// A handshake may end after a new revocation list came, by the list before it.
bool revoked_meanwhile(const PortTls* port, const TlsNews& news) {
  return port != nullptr && news.peer.has_value() && port->revokes(*news.peer);
}

ConnectionOrigin origin_of(const Connection& connection) {
  const Connection::Client& client = connection.client;
  ConnectionOrigin origin{.peer = connection.peer()};
  if (client.local.has_value()) {
    origin.local_user = client.local->uid;
  } else {
    origin.address = address_bits(client.address.address());
    origin.port = client.address.port();
  }
  return origin;
}

protocol::RequestSlot request_of(const protocol::ReplySlot& reply) {
  protocol::RequestSlot request;
  request.kind = reply.kind;
  request.request_id = reply.request_id;
  request.shard = reply.shard;
  return request;
}

ClientSockets::Use use_of(const AcceptedClient& client, const ConnectionAccount::Share& share) {
  using Use = ClientSockets::Use;
  if (client.ring) {
    return !share.placed() ? Use::NoRing : share.half_full() ? Use::SmallRing : Use::Ring;
  }
  return !share.placed() ? Use::Brief : client.local.has_value() ? Use::Local : Use::Client;
}

// By which limits of networks count and denials of them hold: of a local user, this host's.
std::array<unsigned char, 16> network_of(const AcceptedClient& client) {
  return client.local.has_value() ? asio::ip::address_v6::loopback().to_bytes()
                                  : address_bits(client.address.address());
}

}  // namespace

FrontEnd::FrontEnd(asio::io_context& context, FrontEndOptions options, MetricsRegistry& metrics)
    : options_(std::move(options)),
      listeners_(context, [this](AcceptedClient client) { on_accepted(std::move(client)); }),
      account_(options_.limits),
      sockets_(context, options_.io, metrics),
      input_(options_.now_us ? options_.now_us : system_now_us, metrics),
      metrics_(metrics) {
  events_.on_request = [this](Connection& connection,
                              const protocol::RequestSlot& request,
                              auto payload) { on_request(connection, request, payload); };
  events_.on_bad_frame = [this](Connection& connection, protocol::BadFrame reason) {
    on_bad_frame(connection, reason);
  };
  events_.on_closed = [this](Connection& connection, CloseReason reason) {
    on_closed(connection, reason);
  };
  events_.on_dirty = [this](Connection& connection) {
    dirty_.push_back(connection.shared_from_this());
  };
  events_.on_tls = [this](Connection& connection) { on_tls(connection); };
  events_.on_crowded = [this](Connection& connection, HeldBytes kind) {
    on_crowded(connection, kind);
  };
  events_.on_input_waits = [this](Connection& connection, bool bulk) {
    input_.add(connection.shared_from_this(), bulk);
  };
  events_.on_room = [this](Connection& connection) { replies_.on_room(connection.id()); };
  events_.on_input = [] {};
}

// Whoever did not stop it met a failure: what is still queued here is not to be believed.
FrontEnd::~FrontEnd() {
  close_all();
}

void FrontEnd::set_handler(OnRequest on_request, std::function<void()> on_input) {
  handler_ = std::move(on_request);
  events_.on_input = std::move(on_input);
}

void FrontEnd::set_on_room(std::function<void(protocol::ConnectionId)> on_room) {
  replies_.on_room = std::move(on_room);
}

void FrontEnd::set_on_opened(OnOpened on_opened) {
  sessions_.on_opened = std::move(on_opened);
}

Status FrontEnd::listen() {
  GCOORD_TRY_STATUS(sockets_.start());
  GCOORD_TRY_STATUS(listeners_.listen(options_.listen));
  return listeners_.listen_local(options_.local);
}

// Empty if there is no place, not even one that an idle connection gives up.
ConnectionAccount::Share FrontEnd::find_place(const ClientSource& source) {
  ConnectionAccount::Admission admission = account_.admit(source);
  if (admission.verdict != ConnectionAccount::Verdict::Admitted) {
    table_.set_proven_only(replies_.filter != nullptr && replies_.filter->proven_only());
    const bool same_source = admission.verdict == ConnectionAccount::Verdict::SourceFull;
    if (Connection* idle = table_.gives_way(source, same_source, swept_ms_); idle != nullptr) {
      idle->close(CloseReason::GaveWay);
      admission = account_.admit(source);
    }
  }
  // Without rights there is nothing to prove.
  if (!admission.share.placed() && replies_.filter != nullptr && replies_.filter->proven_only()) {
    admission = account_.admit_to_prove(source);
    if (!admission.share.placed()) {
      const bool same_source = admission.verdict == ConnectionAccount::Verdict::SourceFull;
      if (Connection* idle = table_.unsettled_gives_way(source, same_source, swept_ms_)) {
        idle->close(CloseReason::GaveWay);
        admission = account_.admit_to_prove(source);
      }
    }
  }
  return std::move(admission.share);
}

void FrontEnd::on_accepted(AcceptedClient client) {
  const ClientSource source = client.local.has_value() ? ClientSource::of_user(client.local->uid)
                                                       : ClientSource::of(client.address.address());
  ConnectionAccount::Share share = find_place(source);
  const bool placed = share.placed();
  const protocol::ConnectionId id = table_.reserve();
  const auto connection = std::make_shared<Connection>(
      Connection::Accepted{.id = id,
                           .address = client.address,
                           .local = client.local,
                           .socket = sockets_.make(std::move(client.socket), use_of(client, share)),
                           .share = std::move(share),
                           .budget = &sessions_.budget},
      events_);
  connection->identity.source = source.bits;
  table_.put(id, connection);
  metrics_.accepted.add();
  metrics_.connections.set(static_cast<std::int64_t>(table_.size()));
  log_begin(*connection, table_.size());
  const bool tls = sockets_.tls_on() && !client.local.has_value();
  if (!placed) {
    return turn_away(*connection, protocol::ErrorCode::ConnectionsExhausted, tls);
  }
  const protocol::ErrorCode error = sessions_.judge == nullptr
                                        ? protocol::ErrorCode::None
                                        : sessions_.judge->on_accepted(id, network_of(client));
  if (error != protocol::ErrorCode::None) {
    return turn_away(*connection, error, tls);
  }
  connection->start();
}

void FrontEnd::cut(protocol::ConnectionId connection, CloseReason reason) {
  Connection* const found = table_.find(connection);
  if (found != nullptr && reason == CloseReason::Denied && found->open()) {
    found->close(reason);
  } else if (found != nullptr) {
    found->close_after_flush(reason);
  }
}

void FrontEnd::cut_revoked(const std::function<bool(const security::TlsPeer&)>& revokes) {
  for (const auto& each : table_.all()) {
    const security::TlsPeer* const peer = each->open() ? each->peer() : nullptr;
    if (peer != nullptr && revokes(*peer)) {
      each->close(CloseReason::Certificate);
    }
  }
}

// First what nobody waits for, then connections.
void FrontEnd::on_crowded(const Connection& connection, HeldBytes kind) {
  if (kind == HeldBytes::Out) {
    for (const auto& each : table_.all()) {
      each->give_back_kept();
    }
  }
  while (account_.crowded(kind) || connection.share().source_crowded(kind)) {
    Connection* const largest =
        table_.largest(kind, account_.crowded(kind) ? nullptr : &connection);
    if (largest == nullptr) {
      return;
    }
    largest->close(CloseReason::Memory);
  }
}

protocol::RecordOrigin FrontEnd::origin(protocol::ConnectionId connection) const {
  const Connection* const found = table_.find(connection);
  return found != nullptr && found->share().loopback() ? protocol::RecordOrigin::Loopback
                                                       : protocol::RecordOrigin::Remote;
}

std::string FrontEnd::describe(protocol::ConnectionId connection) const {
  const Connection* const found = table_.find(connection);
  return found != nullptr ? describe_client(*found) : ReplySink::describe(connection);
}

const security::Principal& FrontEnd::principal(protocol::ConnectionId connection) const {
  const Connection* const found = table_.find(connection);
  return found != nullptr ? found->identity.principal : ReplySink::principal(connection);
}

ConnectionIdentity* FrontEnd::identity(protocol::ConnectionId connection) {
  Connection* const found = table_.find(connection);
  return found != nullptr ? &found->identity : nullptr;
}

const security::TlsPeer* FrontEnd::peer(protocol::ConnectionId connection) const {
  const Connection* const found = table_.find(connection);
  return found == nullptr ? nullptr : found->peer();
}

void FrontEnd::on_request(Connection& connection,
                          const protocol::RequestSlot& request,
                          std::span<const std::byte> payload) {
  connection.swept.active = true;
  if (connection.welcomed()) {
    handler_(connection.id(), request, payload, connection.prepared());
  } else {
    on_hello(connection, request, payload);
  }
}

void FrontEnd::refuse(Connection& connection,
                      const protocol::RequestSlot& request,
                      std::uint32_t error) {
  connection.reply(error_reply(request, static_cast<protocol::ErrorCode>(error)), {});
  connection.close_after_flush(CloseReason::BadHello);
}

void FrontEnd::on_hello(Connection& connection,
                        const protocol::RequestSlot& request,
                        std::span<const std::byte> payload) {
  const auto refuse_with = [&](protocol::ErrorCode error) {
    refuse(connection, request, static_cast<std::uint32_t>(error));
  };
  if (request.kind != protocol::RequestKind::Hello) {
    return refuse_with(protocol::ErrorCode::HelloMissing);
  }
  const auto hello = protocol::decode_hello(payload);
  if (!hello.ok()) {
    return refuse_with(protocol::ErrorCode::PayloadMalformed);
  }
  protocol::Welcome welcome = options_.welcome;
  welcome.version = protocol::common_version(hello.value());
  welcome.features = hello.value().features & options_.features;
  if (welcome.version == 0) {
    return refuse_with(protocol::ErrorCode::VersionUnsupported);
  }
  welcome.connection = connection.id().value;
  const ClusterId wanted = hello.value().cluster;
  if (wanted.value != 0 && wanted != welcome.cluster) {
    return refuse_with(protocol::ErrorCode::ClusterForeign);
  }
  connection.set_welcomed();
  connection.identity.features = welcome.features;
  prove_by_origin(connection.identity, origin_of(connection), welcome.cluster);
  connection.client.name = hello.value().client.substr(0, kClientNameBytesKept);
  connection.identity.client = connection.client.name;
  if (!may_stay({replies_.filter, sessions_.judge}, connection, request)) {
    return;
  }
  metrics_.on_welcome(connection);
  log_welcome(connection, welcome, {lines_.tls, swept_ms_});
  connection.reply(protocol::reply_to(request), protocol::encode(welcome));
}

void FrontEnd::on_bad_frame(Connection& connection, protocol::BadFrame reason) {
  metrics_.bad_frames[static_cast<std::size_t>(reason)]->add();
  if (reason == protocol::BadFrame::Version && !connection.welcomed()) {
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    return refuse(
        connection, hello, static_cast<std::uint32_t>(protocol::ErrorCode::VersionUnsupported));
  }
  connection.close(CloseReason::BadFrame);
}

// Plain text that is not permitted gets an answer that clients of all releases understand.
void FrontEnd::on_tls(Connection& connection) {
  const TlsNews& news = *connection.tls();
  metrics_.tls.count(news, connection.client.address.address());
  log_tls(connection, {lines_.tls, swept_ms_});
  if (news.state == TlsState::Failed) {
    connection.close(CloseReason::Tls);
  } else if (revoked_meanwhile(options_.io.tls, news)) {
    connection.close(CloseReason::Certificate);
  } else if (news.state == TlsState::Forbidden) {
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    connection.reply(error_reply(hello, protocol::ErrorCode::TlsPlaintext), {});
    connection.close_after_flush(CloseReason::Tls);
  }
}

void FrontEnd::on_closed(Connection& connection, CloseReason reason) {
  metrics_.closed[static_cast<std::size_t>(reason)]->add();
  if (reason == CloseReason::Certificate) {
    metrics_.tls.count_revoked();
  }
  if (connection.welcomed()) {
    metrics_.on_end(connection);
  }
  log_end(connection, reason, {lines_.ends, swept_ms_});
  GCOORD_ASSERT(table_.find(connection.id()) == &connection);
  // The caller may still be inside the connection: it goes with the next flush.
  dirty_.push_back(table_.take(connection.id()));
  if (!stopping_) {
    replies_.on_room(connection.id());
    if (sessions_.judge != nullptr) {
      sessions_.judge->on_closed(connection.id());
    }
  }
  metrics_.connections.set(static_cast<std::int64_t>(table_.size()));
}

void FrontEnd::park(protocol::ConnectionId connection) {
  if (Connection* found = table_.find(connection); found != nullptr) {
    found->park();
  }
}

void FrontEnd::unpark(protocol::ConnectionId connection) {
  if (Connection* found = table_.find(connection); found != nullptr) {
    found->unpark();
  }
}

void FrontEnd::reply(protocol::ConnectionId connection,
                     const protocol::ReplySlot& slot,
                     std::span<const std::byte> payload) {
  if (Connection* found = table_.find(connection); found != nullptr) {
    if (proves(slot) && !may_stay({replies_.filter, sessions_.judge}, *found, request_of(slot))) {
      return;
    }
    if (sessions_.judge != nullptr && is_noted(slot)) {
      sessions_.judge->on_reply(connection, slot);
    }
    if (opens_session(slot)) {
      return found->reply(slot, sessions_.on_opened(connection, slot));
    }
    const auto masked = replies_.filter == nullptr
                            ? std::nullopt
                            : replies_.filter->masked(connection, slot, payload);
    found->reply(slot, masked ? std::span<const std::byte>{*masked} : payload);
  }
}

bool FrontEnd::lists(protocol::ConnectionId connection, std::string_view name) const {
  return replies_.filter == nullptr || replies_.filter->lists(connection, name);
}

void FrontEnd::push(protocol::ConnectionId connection,
                    const protocol::ReplySlot& slot,
                    std::span<const std::byte> payload) {
  if (Connection* found = table_.find(connection); found != nullptr) {
    found->push(slot, payload);
  }
}

std::optional<std::size_t> FrontEnd::backlog_bytes(protocol::ConnectionId connection) const {
  const Connection* const found = table_.find(connection);
  return found == nullptr ? std::nullopt : std::optional{found->backlog_bytes()};
}

bool FrontEnd::serve_input() {
  sockets_.take_reports();
  listeners_.begin_pass();
  const bool any = input_.serve();
  sockets_.hand_over();  // What is read while the turn runs waits for the next pass.
  return any;
}

std::uint64_t FrontEnd::until_next_input_ms() const {
  const std::uint64_t until_us = input_.until_next_us();
  return until_us / 1000 + (until_us % 1000 != 0 ? 1 : 0);
}

bool FrontEnd::flush() {
  const bool any = !dirty_.empty();
  // One that is found closed makes itself dirty again.
  while (!dirty_.empty()) {
    flushing_.swap(dirty_);
    for (const auto& connection : flushing_) {
      connection->flush();
    }
    flushing_.clear();
  }
  sockets_.hand_over();
  return any;
}

void FrontEnd::sweep(std::uint64_t now_ms) {
  swept_ms_ = now_ms;
  for (const auto& connection : table_.all()) {
    if (connection->open()) {
      sweep_connection(*connection, options_.sweep, now_ms);
    }
  }
  flush();
  sockets_.sweep();
  metrics_.show(account_);
  listeners_.accept();
}

void FrontEnd::stop() {
  flush();
  close_all();
}

void FrontEnd::close_all() {
  stopping_ = true;
  listeners_.close();
  for (const auto& connection : table_.all()) {
    if (connection->open()) {
      connection->close(CloseReason::Stopping);
    }
  }
  dirty_.clear();
  sockets_.hand_over();
}

}  // namespace gcoord::server
