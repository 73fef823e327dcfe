#include "server/client_io/client_listeners.h"

#include "protocol/error_codes.h"
#include "server/platform/operator_log.h"

#include <utility>

namespace gcoord::server {
namespace {

// Of one pass: each costs some tens of microseconds, and others wait for it.
constexpr std::size_t kAcceptsOfPass = 32;

Status listen_failed(const Endpoint& endpoint, const asio::error_code& error) {
  return protocol::make_error(protocol::ErrorCode::ListenFailed,
                              "client port " + to_string(endpoint) + ": " + error.message());
}

}  // namespace

ClientListeners::ClientListeners(asio::io_context& context, OnAccepted on_accepted)
    : context_(context),
      on_accepted_(std::move(on_accepted)),
      tcp_(context),
      local_(context),
      rings_(context) {}

Status ClientListeners::listen(const Endpoint& endpoint) {
  asio::error_code error;
  asio::ip::tcp::resolver resolver(context_);
  const auto found = resolver.resolve(
      endpoint.host, std::to_string(endpoint.port), asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) {
    return listen_failed(endpoint, error);
  }
  const asio::ip::tcp::endpoint address = found.begin()->endpoint();
  asio::ip::tcp::acceptor& acceptor = tcp_.acceptor;
  acceptor.open(address.protocol(), error);
  if (!error) {
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  }
  if (!error) {
    acceptor.bind(address, error);
  }
  if (!error) {
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return listen_failed(endpoint, error);
  }
  port_ = acceptor.local_endpoint(error).port();
  accept();
  return Status{};
}

Status ClientListeners::LocalListener::listen(const std::string& path, std::uint32_t mode) {
  GCOORD_TRY(file, UnixListener::open(path, mode));
  asio::error_code error;
  acceptor.assign(asio::local::stream_protocol(), file.release_descriptor(), error);
  return error ? Status{StatusCode::Internal, path + ": " + error.message(), kUnixSocketUnusable}
               : Status{};
}

void ClientListeners::LocalListener::close() {
  asio::error_code ignored;
  acceptor.close(ignored);
  file = UnixListener{};
}

Status ClientListeners::listen_local(const LocalPlaces& places) {
  if (!places.stream.empty()) {
    GCOORD_TRY_STATUS(local_.listen(places.stream, places.mode));
  }
  if (!places.rings.empty()) {
    const Status listening = rings_.listen(places.rings, places.mode);
    if (!listening.ok() && places.must_have_rings) {
      return listening;
    }
    if (!listening.ok()) {
      log_warning(LogComponent::Clients,
                  "clients of this host get no shared memory: {}; --listen-shm names another place",
                  listening.to_string());
    }
  }
  accept();
  return Status{};
}

void ClientListeners::begin_pass() {
  accepted_ = 0;
  accept();
}

void ClientListeners::accept() {
  accept_at(tcp_);
  accept_at(local_);
  accept_at(rings_);
}

template <typename Protocol>
void ClientListeners::accept_at(Listener<Protocol>& listener) {
  if (listener.accepting || closed_ || !listener.acceptor.is_open() ||
      accepted_ >= kAcceptsOfPass) {
    return;
  }
  listener.accepting = true;
  listener.acceptor.async_accept(
      [this, &listener](const asio::error_code& error, typename Protocol::socket socket) {
        listener.accepting = false;
        if (error == asio::error::operation_aborted) {
          return;
        }
        if (!error) {
          ++accepted_;
          pass_on(std::move(socket), static_cast<const void*>(&listener) == &rings_);
          accept_at(listener);
        }
        // Out of descriptors: the next sweep tries again, because trying at once would spin.
      });
}

void ClientListeners::pass_on(asio::ip::tcp::socket socket, bool /*ring*/) {
  asio::error_code failed;
  const asio::ip::tcp::endpoint address = socket.remote_endpoint(failed);
  if (!failed) {  // Else it is gone already.
    on_accepted_({.socket = std::move(socket), .address = address, .local = {}});
  }
}

void ClientListeners::pass_on(asio::local::stream_protocol::socket socket, bool ring) {
  const std::optional<UnixPeer> user = unix_peer(socket.native_handle());
  if (user.has_value()) {
    on_accepted_({.socket = std::move(socket), .address = {}, .local = user, .ring = ring});
  }
}

void ClientListeners::close() {
  closed_ = true;
  asio::error_code ignored;
  tcp_.acceptor.close(ignored);
  local_.close();
  rings_.close();
}

}  // namespace gcoord::server
