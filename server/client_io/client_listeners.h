// The listeners of the client port: TCP, if it is wished a Unix socket, and another one by which
// clients get shared memory.
//
// All accept under one budget of a pass. The loop's thread.
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
  std::optional<UnixPeer> local;    // Of one over a Unix socket.
  bool ring = false;                // It wants shared memory.
};

// Absolute paths of sockets for clients of this host; empty: none.
struct LocalPlaces {
  std::string stream;            // For frames.
  std::string rings;             // For shared memory.
  bool must_have_rings = false;  // Else it is only said in the log that there can be none.
  std::uint32_t mode = 0600;     // Of the files.
};

class ClientListeners {
 public:
  using OnAccepted = std::function<void(AcceptedClient)>;

  // The context outlives it.
  ClientListeners(asio::io_context& context, OnAccepted on_accepted);

  // Binds and accepts. ListenFailed names the address and the system's reason.
  Status listen(const Endpoint& endpoint);

  // Likewise at paths (UnixListener::open).
  Status listen_local(const LocalPlaces& places);

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

  // At a path; the file goes with it.
  struct LocalListener : Listener<asio::local::stream_protocol> {
    using Listener::Listener;

    Status listen(const std::string& path, std::uint32_t mode);
    void close();

    UnixListener file;
  };

  template <typename Protocol>
  void accept_at(Listener<Protocol>& listener);

  void pass_on(asio::ip::tcp::socket socket, bool ring);
  void pass_on(asio::local::stream_protocol::socket socket, bool ring);

  asio::io_context& context_;
  OnAccepted on_accepted_;
  Listener<asio::ip::tcp> tcp_;
  LocalListener local_;
  LocalListener rings_;
  std::uint16_t port_ = 0;
  std::size_t accepted_ = 0;  // In this pass.
  bool closed_ = false;
};

}  // namespace gcoord::server
