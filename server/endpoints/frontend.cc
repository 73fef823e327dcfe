#include "server/endpoints/frontend.h"

#include "protocol/error_codes.h"
#include "server/interfaces/replies.h"

#include <asio/ip/address.hpp>

#include <string>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(CloseReason::Count)> kCloseNames = {
    "by_client", "bad_frame", "bad_hello", "slow_reader", "idle", "full", "stopping"};

protocol::ConnectionId make_id(std::uint32_t place, std::uint32_t generation) {
  return protocol::ConnectionId{std::uint64_t{generation} << 32 | (place + 1u)};
}

Status listen_failed(const Endpoint& endpoint, const asio::error_code& error) {
  return protocol::make_error(protocol::ErrorCode::ListenFailed,
                              "client port " + to_string(endpoint) + ": " + error.message());
}

}  // namespace

FrontEnd::FrontEnd(asio::io_context& context, FrontEndOptions options, MetricsRegistry& metrics)
    : context_(context), options_(std::move(options)), acceptor_(context) {
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
  events_.on_input = [] {};
  register_metrics(metrics);
}

// Whoever did not stop it met a failure: what is still queued here is not to be believed.
FrontEnd::~FrontEnd() {
  close_all();
}

void FrontEnd::register_metrics(MetricsRegistry& metrics) {
  connections_ =
      &metrics.gauge({"gcoord_server_connections", "Client connections that are open.", "", ""});
  accepted_ = &metrics.counter({"gcoord_server_connections_accepted_total",
                                "Client connections that were accepted.",
                                "",
                                ""});
  for (std::size_t reason = 0; reason < closed_.size(); ++reason) {
    closed_[reason] = &metrics.counter({"gcoord_server_connections_closed_total",
                                        "Client connections that were closed, by reason.",
                                        "reason",
                                        std::string(kCloseNames[reason])});
  }
  for (std::size_t reason = 1; reason < bad_frames_.size(); ++reason) {
    const auto name = protocol::bad_frame_name(static_cast<protocol::BadFrame>(reason));
    bad_frames_[reason] = &metrics.counter({"gcoord_server_client_frames_bad_total",
                                            "Frames of clients that were refused, by reason.",
                                            "reason",
                                            std::string(name)});
  }
}

void FrontEnd::set_handler(OnRequest on_request, std::function<void()> on_input) {
  handler_ = std::move(on_request);
  events_.on_input = std::move(on_input);
}

Status FrontEnd::listen() {
  asio::error_code error;
  asio::ip::tcp::resolver resolver(context_);
  const auto found = resolver.resolve(options_.listen.host,
                                      std::to_string(options_.listen.port),
                                      asio::ip::tcp::resolver::passive,
                                      error);
  if (error || found.empty()) {
    return listen_failed(options_.listen, error);
  }
  const asio::ip::tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) {
    acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  }
  if (!error) {
    acceptor_.bind(endpoint, error);
  }
  if (!error) {
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return listen_failed(options_.listen, error);
  }
  port_ = acceptor_.local_endpoint(error).port();
  accept();
  return Status{};
}

void FrontEnd::accept() {
  if (accepting_ || stopping_ || !acceptor_.is_open()) {
    return;
  }
  accepting_ = true;
  acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
    accepting_ = false;
    if (error == asio::error::operation_aborted) {
      return;
    }
    if (!error) {
      on_accepted(std::move(socket));
      accept();
    }
    // Out of descriptors: the next sweep tries again, because trying at once would spin.
  });
}

void FrontEnd::on_accepted(asio::ip::tcp::socket socket) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  Place& here = places_[place];
  ++here.generation;
  const protocol::ConnectionId id = make_id(place, here.generation);
  here.connection = std::make_shared<Connection>(id, std::move(socket), events_);
  ++connection_count_;
  accepted_->add();
  connections_->set(static_cast<std::int64_t>(connection_count_));
  if (connection_count_ > options_.connections_max) {
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    here.connection->reply(error_reply(hello, protocol::ErrorCode::ConnectionsExhausted), {});
    here.connection->close_after_flush(CloseReason::Full);
    return;
  }
  here.connection->start();
}

protocol::RecordOrigin FrontEnd::origin(protocol::ConnectionId connection) const {
  const Connection* const found = find(connection);
  return found != nullptr && found->local() ? protocol::RecordOrigin::Loopback
                                            : protocol::RecordOrigin::Remote;
}

Connection* FrontEnd::find(protocol::ConnectionId id) const {
  const auto place = static_cast<std::uint32_t>(id.value) - 1u;
  if (place >= places_.size() || make_id(place, places_[place].generation) != id) {
    return nullptr;
  }
  return places_[place].connection.get();
}

void FrontEnd::on_request(Connection& connection,
                          const protocol::RequestSlot& request,
                          std::span<const std::byte> payload) {
  connection.active = true;
  if (connection.welcomed()) {
    handler_(connection.id(), request, payload);
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
  welcome.features = hello.value().features & protocol::kFeatures;
  if (welcome.version == 0) {
    return refuse_with(protocol::ErrorCode::VersionUnsupported);
  }
  const ClusterId wanted = hello.value().cluster;
  if (wanted.value != 0 && wanted != welcome.cluster) {
    return refuse_with(protocol::ErrorCode::ClusterForeign);
  }
  connection.set_welcomed();
  connection.reply(protocol::reply_to(request), protocol::encode(welcome));
}

void FrontEnd::on_bad_frame(Connection& connection, protocol::BadFrame reason) {
  bad_frames_[static_cast<std::size_t>(reason)]->add();
  if (reason == protocol::BadFrame::Version && !connection.welcomed()) {
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    return refuse(
        connection, hello, static_cast<std::uint32_t>(protocol::ErrorCode::VersionUnsupported));
  }
  connection.close(CloseReason::BadFrame);
}

void FrontEnd::on_closed(Connection& connection, CloseReason reason) {
  closed_[static_cast<std::size_t>(reason)]->add();
  const auto place = static_cast<std::uint32_t>(connection.id().value) - 1u;
  GCOORD_ASSERT(find(connection.id()) == &connection);
  // The caller may still be inside the connection: it goes with the next flush.
  dirty_.push_back(std::move(places_[place].connection));
  free_.push_back(place);
  --connection_count_;
  connections_->set(static_cast<std::int64_t>(connection_count_));
}

void FrontEnd::park(protocol::ConnectionId connection) {
  if (Connection* found = find(connection); found != nullptr) {
    found->park();
  }
}

void FrontEnd::unpark(protocol::ConnectionId connection) {
  if (Connection* found = find(connection); found != nullptr) {
    found->unpark();
  }
}

void FrontEnd::reply(protocol::ConnectionId connection,
                     const protocol::ReplySlot& slot,
                     std::span<const std::byte> payload) {
  if (Connection* found = find(connection); found != nullptr) {
    found->reply(slot, payload);
  }
}

void FrontEnd::push(protocol::ConnectionId connection,
                    const protocol::ReplySlot& slot,
                    std::span<const std::byte> payload) {
  if (Connection* found = find(connection); found != nullptr) {
    found->push(slot, payload);
  }
}

std::optional<std::size_t> FrontEnd::backlog_bytes(protocol::ConnectionId connection) const {
  const Connection* const found = find(connection);
  return found == nullptr ? std::nullopt : std::optional{found->backlog_bytes()};
}

bool FrontEnd::flush() {
  const bool any = !dirty_.empty();
  // Flushing may read frames that had been held back and so make connections dirty again.
  while (!dirty_.empty()) {
    flushing_.swap(dirty_);
    for (const auto& connection : flushing_) {
      connection->flush();
    }
    flushing_.clear();
  }
  return any;
}

void FrontEnd::sweep(std::uint64_t now_ms) {
  for (std::size_t place = 0; place < places_.size(); ++place) {
    const std::shared_ptr<Connection> connection = places_[place].connection;
    if (connection == nullptr) {
      continue;
    }
    if (connection->blocked() && connection->blocked_since == 0) {
      connection->blocked_since = now_ms;
    }
    if (std::exchange(connection->active, false)) {
      connection->active_at = now_ms;
    }
    const std::uint64_t quiet_ms = now_ms - std::min(now_ms, connection->active_at);
    const bool late = !connection->welcomed() && quiet_ms > options_.hello_limit_ms;
    const bool idle = connection->outstanding() == 0 && quiet_ms > options_.idle_limit_ms;
    const bool stuck =
        connection->blocked() && now_ms - connection->blocked_since > options_.blocked_limit_ms;
    if (late || idle || stuck) {
      connection->close(stuck ? CloseReason::SlowReader : CloseReason::Idle);
    }
  }
  flush();
  accept();
}

void FrontEnd::stop() {
  flush();
  close_all();
}

void FrontEnd::close_all() {
  stopping_ = true;
  asio::error_code ignored;
  acceptor_.close(ignored);
  for (std::size_t place = 0; place < places_.size(); ++place) {
    if (const std::shared_ptr<Connection> connection = places_[place].connection) {
      connection->close(CloseReason::Stopping);
    }
  }
  dirty_.clear();
}

}  // namespace gcoord::server
