// The clients' door: listens, welcomes, and moves requests and replies between sockets and
// services.
//
// They come over TCP; or by a Unix socket, or shared memory that they get by one, where the kernel
// says who they are and there is no TLS.
// The first frame of a connection is a Hello; everything after it goes to the request handler given
// at construction. With TLS a handshake comes before that, within the same time. Malformed input
// closes the connection, is counted by reason and applies nothing. Connections are capped, of each
// source and in all; one beyond the cap is told so and closed, unless another that is idle gives
// way. Memory is bounded likewise, and the connection that holds the most of the source that holds
// the most is closed first (connection_account.h). Connections that never said Hello, that idle
// with nothing outstanding, that do not read, or that do not end a frame are closed by sweep().
// docs/reference/limits.md has the numbers.
//
// Sockets that are readable only queue their connections; serve_input() takes requests, under a
// budget of time (input_queue.h), so that no client holds up the pass of the loop.
//
// One thread, the one that runs the io_context, makes all decisions. Sockets are served by it or by
// I/O threads (client_io/client_sockets.h).
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "protocol/hello.h"
#include "protocol/reply_sink.h"
#include "server/client_io/client_listeners.h"
#include "server/client_io/client_sockets.h"
#include "server/endpoints/connection_account.h"
#include "server/endpoints/connection_sweep.h"
#include "server/endpoints/connection_table.h"
#include "server/endpoints/frontend_metrics.h"
#include "server/endpoints/input_queue.h"
#include "server/identities/connection_identity.h"
#include "server/identities/connection_judge.h"
#include "server/interfaces/reply_filter.h"
#include "server/platform/endpoint_name.h"
#include "server/platform/log_rate_limit.h"

#include <asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct FrontEndOptions {
  Endpoint listen;
  LocalPlaces local;
  protocol::Welcome welcome;  // Told to every client; `version` and `features` are negotiated.
  std::uint64_t features = protocol::kFeatures;  // That this node has.
  AccountLimits limits;
  ClientIoOptions io;
  SweepLimits sweep;
  // The clock of budgets (input_queue.h), in microseconds; empty: that of the system.
  std::function<std::uint64_t()> now_us;
};

class FrontEnd final : public protocol::ReplySink, public ConnectionIdentities {
 public:
  // What an I/O thread has prepared of the request comes last; perhaps nothing.
  using OnRequest = std::function<void(protocol::ConnectionId connection,
                                       const protocol::RequestSlot& request,
                                       std::span<const std::byte>,
                                       const PreparedRequest* prepared)>;

  // The bytes of the key of a session that the connection has opened, for the client; none: it gets
  // none.
  using OnOpened =
      std::function<std::span<const std::byte>(protocol::ConnectionId, const protocol::ReplySlot&)>;

  FrontEnd(asio::io_context& context, FrontEndOptions options, MetricsRegistry& metrics);
  ~FrontEnd() override;

  // What to call with every request after the Hello, and before those of each turn.
  void set_handler(OnRequest on_request, std::function<void()> on_input);

  // What to call when replies that waited to be read have left, or the connection is gone: who
  // passed it over because of its backlog_bytes() may look at it again.
  void set_on_room(std::function<void(protocol::ConnectionId)> on_room);

  // What clients may see of replies. It outlives the last reply.
  void set_filter(ReplyFilter& filter) { replies_.filter = &filter; }

  // What to call when a session was opened, before the client hears of it.
  void set_on_opened(OnOpened on_opened);

  // Who judges the connections that come from now on. It outlives the last of them, or stop().
  void set_judge(ConnectionJudge& judge) { sessions_.judge = &judge; }

  // Closes a connection for this reason: at once one that is denied, any other after what is queued
  // for it was sent.
  void cut(protocol::ConnectionId connection, CloseReason reason);

  // Closes at once the connections whose certificates are revoked by now, as this says; after each
  // change of the context of the port.
  void cut_revoked(const std::function<bool(const security::TlsPeer&)>& revokes);

  // Binds and accepts (client_listeners.h). FailedPrecondition: the kernel refuses the I/O backend.
  Status listen();

  // Changes what later clients are told (the ports are known only when all is bound).
  void set_welcome(const protocol::Welcome& welcome) { options_.welcome = welcome; }

  std::uint16_t port() const { return listeners_.port(); }

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
  std::string describe(protocol::ConnectionId connection) const override;
  const security::Principal& principal(protocol::ConnectionId connection) const override;
  bool lists(protocol::ConnectionId connection, std::string_view name) const override;
  ConnectionIdentity* identity(protocol::ConnectionId connection) override;

  // Who is at the other end, by a certificate that is good; nullptr: it showed none.
  const security::TlsPeer* peer(protocol::ConnectionId connection) const;

  // Once per pass: connections take what they sent, as far as the budget of a pass goes
  // (input_queue.h). Returns whether any did; then there may be more to do at once.
  bool serve_input();

  // Connections whose requests wait for the next pass.
  std::size_t inputs_waiting() const { return input_.size(); }

  // For how many milliseconds the loop may sleep for the sake of serve_input().
  std::uint64_t until_next_input_ms() const;

  // Whether other clients than this one, which send a request at a time, were served lately, so
  // that its dear requests shall leave them time.
  bool serves_others(protocol::ConnectionId than) const { return input_.serves_others(than); }

  // Before the loop sleeps; false: an I/O thread had something for it already.
  bool arm() { return sockets_.arm(); }

  // Sends the replies of a pass. Returns whether there were any.
  bool flush();

  // Closes what must be closed at this time; call it about every second.
  void sweep(std::uint64_t now_ms);

  // Stops accepting and closes every connection after what is queued for it was written once.
  void stop();

  std::size_t connection_count() const { return table_.size(); }

  ClientSockets& sockets() { return sockets_; }

  // What all connections hold.
  const ConnectionAccount& account() const { return account_; }

 private:
  struct Replies {
    std::function<void(protocol::ConnectionId)> on_room = [](protocol::ConnectionId) {};
    ReplyFilter* filter = nullptr;  // Nothing is hidden from anybody.
  };

  struct Sessions {
    AttachmentBudget budget;
    ConnectionJudge* judge = nullptr;  // Every connection may be.
    OnOpened on_opened = [](protocol::ConnectionId, const protocol::ReplySlot&) {
      return std::span<const std::byte>{};
    };
  };

  // Of which kind of lines how many are logged.
  struct Lines {
    LogRateLimit ends;
    LogRateLimit tls;
  };

  void close_all();
  void on_accepted(AcceptedClient client);
  ConnectionAccount::Share find_place(const ClientSource& source);
  void on_crowded(const Connection& connection, HeldBytes kind);
  void on_request(Connection& connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);
  void on_hello(Connection& connection,
                const protocol::RequestSlot& request,
                std::span<const std::byte> payload);
  void on_bad_frame(Connection& connection, protocol::BadFrame reason);
  void on_tls(Connection& connection);
  void on_closed(Connection& connection, CloseReason reason);
  void refuse(Connection& connection, const protocol::RequestSlot& request, std::uint32_t error);

  FrontEndOptions options_;
  Connection::Events events_;
  OnRequest handler_;
  Replies replies_;
  ClientListeners listeners_;
  bool stopping_ = false;
  std::uint64_t swept_ms_ = 0;  // The time of the last sweep.
  ConnectionAccount account_;
  Sessions sessions_;      // Of connections, which have places in its budget.
  ClientSockets sockets_;  // After what ends connections: they have sockets.
  ConnectionTable table_;
  InputQueue input_;
  std::vector<std::shared_ptr<Connection>> dirty_;
  std::vector<std::shared_ptr<Connection>> flushing_;
  FrontEndMetrics metrics_;
  Lines lines_;
};

}  // namespace gcoord::server
