// The two listeners of the client port: TCP, and if it is wished a Unix socket.
//
// Both accept under one budget of a pass. The loop's thread.
#pragma once

#include "common/host/unix_socket.h"
#include "common/status.h"
#include "server/client_io/unix_listener.h"
#include "server/platform/endpoint_name.h"

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gcoord::server {

struct AcceptedClient {
  asio::generic::stream_protocol::socket socket;
  asio::ip::tcp::endpoint address;  // Of a client over TCP.
  std::optional<UnixPeer> local;    // Of one over the Unix socket.
};

class ClientListeners {
 public:
  using OnAccepted = std::function<void(AcceptedClient)>;

  // The context outlives it.
  ClientListeners(asio::io_context& context, OnAccepted on_accepted);

  // Binds and accepts. ListenFailed names the address and the system's reason.
  Status listen(const Endpoint& endpoint);

  // Likewise at a path (UnixListener::open).
  Status listen_unix(const std::string& path, std::uint32_t mode);

  // Once per pass: the budget is whole again.
  void begin_pass();

  // Goes on to accept, where want of descriptors or of budget has ended it.
  void accept();

  void close();

  // Of TCP.
  std::uint16_t port() const { return port_; }

 private:
  template <typename Protocol>
  struct Listener {
    explicit Listener(asio::io_context& context) : acceptor(context) {}

    typename Protocol::acceptor acceptor;
    bool accepting = false;
  };

  template <typename Protocol>
  void accept_at(Listener<Protocol>& listener);

  void pass_on(asio::ip::tcp::socket socket);
  void pass_on(asio::local::stream_protocol::socket socket);

  asio::io_context& context_;
  OnAccepted on_accepted_;
  Listener<asio::ip::tcp> tcp_;
  Listener<asio::local::stream_protocol> local_;
  UnixListener unix_file_;
  std::uint16_t port_ = 0;
  std::size_t accepted_ = 0;  // In this pass.
  bool closed_ = false;
};

}  // namespace gcoord::server
