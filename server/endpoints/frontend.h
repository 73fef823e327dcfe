// The clients' door: listens, welcomes, and moves requests and replies between sockets and
// services.
//
// The first frame of a connection is a Hello; everything after it goes to the request handler given
// at construction. Malformed input closes the connection, is counted by reason and applies nothing.
// Connections are capped; one beyond the cap is told so and closed. Connections that never said
// Hello, that idle with nothing outstanding, or that do not read are closed by sweep().
//
// One thread, the one that runs the io_context.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "protocol/hello.h"
#include "protocol/reply_sink.h"
#include "server/endpoints/connection.h"
#include "server/platform/endpoint_name.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gcoord::server {

struct FrontEndOptions {
  Endpoint listen;
  protocol::Welcome welcome;  // Told to every client; `version` and `features` are negotiated.
  std::size_t connections_max = 4096;
  // From accept to Hello. A client sends it at once, so this only bounds the half-open.
  std::uint64_t hello_limit_ms = 5'000;
  // With nothing outstanding. Clients with sessions speak every third of a TTL.
  std::uint64_t idle_limit_ms = 600'000;
  // Unsent bytes that do not move.
  std::uint64_t blocked_limit_ms = 10'000;
};

class FrontEnd final : public protocol::ReplySink {
 public:
  using OnRequest = std::function<void(protocol::ConnectionId connection,
                                       const protocol::RequestSlot& request,
                                       std::span<const std::byte>)>;

  FrontEnd(asio::io_context& context, FrontEndOptions options, MetricsRegistry& metrics);
  ~FrontEnd() override;

  // What to call with every request after the Hello, and before each piece of input.
  void set_handler(OnRequest on_request, std::function<void()> on_input);

  // Binds and accepts. ListenFailed names the address and the system's reason.
  Status listen();

  // Changes what later clients are told (the ports are known only when all is bound).
  void set_welcome(const protocol::Welcome& welcome) { options_.welcome = welcome; }

  std::uint16_t port() const { return port_; }

  void park(protocol::ConnectionId connection) override;
  void unpark(protocol::ConnectionId connection) override;
  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override;
  void push(protocol::ConnectionId connection,
            const protocol::ReplySlot& slot,
            std::span<const std::byte> payload) override;
  std::optional<std::size_t> backlog_bytes(protocol::ConnectionId connection) const override;
  protocol::RecordOrigin origin(protocol::ConnectionId connection) const override;

  // Sends the replies of a turn. Returns whether there were any.
  bool flush();

  // Closes what must be closed at this time; call it about every second.
  void sweep(std::uint64_t now_ms);

  // Stops accepting and closes every connection after what is queued for it was written once.
  void stop();

  std::size_t connection_count() const { return connection_count_; }

 private:
  struct Place {
    std::uint32_t generation = 0;
    std::shared_ptr<Connection> connection;
  };

  void accept();
  void close_all();
  void on_accepted(asio::ip::tcp::socket socket);
  void on_request(Connection& connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);
  void on_hello(Connection& connection,
                const protocol::RequestSlot& request,
                std::span<const std::byte> payload);
  void on_bad_frame(Connection& connection, protocol::BadFrame reason);
  void on_closed(Connection& connection, CloseReason reason);
  void refuse(Connection& connection, const protocol::RequestSlot& request, std::uint32_t error);
  Connection* find(protocol::ConnectionId id) const;
  void register_metrics(MetricsRegistry& metrics);

  asio::io_context& context_;
  FrontEndOptions options_;
  Connection::Events events_;
  OnRequest handler_;
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  bool accepting_ = false;
  bool stopping_ = false;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
  std::size_t connection_count_ = 0;
  std::vector<std::shared_ptr<Connection>> dirty_;
  std::vector<std::shared_ptr<Connection>> flushing_;
  Gauge* connections_ = nullptr;
  Counter* accepted_ = nullptr;
  std::array<Counter*, static_cast<std::size_t>(CloseReason::Count)> closed_{};
  std::array<Counter*, static_cast<std::size_t>(protocol::BadFrame::Count)> bad_frames_{};
};

}  // namespace gcoord::server
