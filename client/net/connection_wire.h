// Resolver, socket and rings of a connection; included by what implements Connection alone, because
// asio's headers are dear. The client's thread.
#pragma once

#include "client/net/asio.h"
#include "client/net/connection.h"
#include "client/net/failure.h"
#include "client/net/ring_link.h"
#include "client/net/tls_access.h"
#include "common/host/loopback.h"
#include "common/host/unix_socket.h"
#include "security/tls/session.h"

#include <asio/connect.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {

struct Connection::Wire {
  using Socket = asio::generic::stream_protocol::socket;
  using Endpoints = std::vector<asio::generic::stream_protocol::endpoint>;

  // A record of TLS with what is around it (RFC 8446, section 5.2).
  static constexpr std::size_t kReadBytes = (std::size_t{16} << 10) + 512;

  Wire(asio::io_context& context, std::shared_ptr<TlsAccess> tls)
      : resolver(context), socket(context), access(std::move(tls)) {}

  // The last words of TLS, an alert or its goodbye, as far as the kernel takes them at once. A
  // session that was not shut leaves no ticket, so it is shut also where a write is under way,
  // behind which nothing may go out.
  void say_last_words(bool writing) {
    std::vector<std::byte> bytes;
    session->shut();
    session->take_output(bytes);
    if (writing || !socket.is_open()) {
      return;
    }
    static_cast<void>(
        ::send(socket.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  void open(const std::shared_ptr<Connection>& self, const Endpoints& endpoints) {
    asio::async_connect(socket, endpoints, [self](const std::error_code& error, const auto&) {
      self->on_open(error);
    });
  }

  // `by_rings`: by way of shared memory.
  gcoord::Status open_local(const std::shared_ptr<Connection>& self,
                            const std::string& path,
                            bool by_rings) {
    wants_rings = by_rings;
    auto address = UnixAddress::of(path);
    if (!address.ok()) {
      return address.status();
    }
    local.emplace(std::move(address).value());
    open(self, {asio::generic::stream_protocol::endpoint{local->get(), local->length()}});
    return {};
  }

  // Of a connection that is there: whether this is the node, as far as the machine knows.
  gcoord::Status judge_server() {
    return local.has_value() ? judge_unix_server(socket.native_handle(), *local) : gcoord::Status{};
  }

  // Of a connection that is there: a name may have several addresses, and TCP has chosen one.
  Privacy privacy() const {
    asio::error_code error;
    const auto reached = socket.remote_endpoint(error);
    const bool own =
        session != nullptr || local.has_value() || (!error && is_loopback(*reached.data()));
    return own ? Privacy::Private : Privacy::Readable;
  }

  // The meaning of a failed connect().
  gcoord::Status connect_failure(const std::error_code& error) const {
    if (!local.has_value()) {
      return numbered(protocol::ErrorCode::None, error.message());
    }
    const gcoord::Status failure = unix_connect_failure(error.value());
    const bool absent = failure.detail() == kUnixSocketAbsent;
    return wants_rings && absent ? numbered(protocol::ErrorCode::ShmAbsent, failure.message())
                                 : failure;
  }

  void begin_rings(const std::shared_ptr<Connection>& self);
  void await_socket(const std::shared_ptr<Connection>& self);
  void on_socket(const std::shared_ptr<Connection>& self);
  void take_bells(Connection& self);
  void take_offer(Connection& self);
  void write_ring(Connection& self);
  void exchange(const std::shared_ptr<Connection>& self);
  bool read_ring(Connection& self);

  asio::ip::tcp::resolver resolver;
  Socket socket;
  std::optional<UnixAddress> local;               // Of a Unix socket.
  std::shared_ptr<TlsAccess> access;              // nullptr: plain TCP.
  std::unique_ptr<security::TlsSession> session;  // From connect() on, where there is access.
  std::vector<std::byte> read_bytes;              // As received, still encrypted.
  std::optional<RingLink> rings;                  // With shared memory.
  std::size_t ring_begin = 0;                     // Of writing_bytes_: what is not in the ring yet.
  bool wants_rings = false;
  bool exchanges = false;  // exchange() is on its way.
  bool ended = false;      // The node has closed the socket.
  bool heard = false;      // Anything has come.
  bool alerted = false;    // In plain TCP, and it began as an alert.
};

}  // namespace gcoord::client
