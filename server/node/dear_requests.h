// Queue of dear requests: kinds that cost a node far more than a client pays for them (status,
// lists, saves, the past; the column `cost` of request_table.h).
//
// A pass of the loop serves kDearPerPass of them and no more, connection by connection in turn, so
// that however many come, heartbeats, leases and cheap requests of the pass are not held up by
// them. While other clients are served, it is one, and all of them get one part in kDearParts of
// the loop's time (server/endpoints/pass_share.h). A connection whose replies wait to be read
// stands aside, at no cost, until on_room(); requests of one that is gone are dropped. A request
// that takes long is served in parts, each of which counts as one. What finds
// no place is refused as Overloaded, which a client may repeat later: a connection may have
// kDearPerConnection, and when all together have kDearMax, its even share of them.
//
// One thread, the node's loop. Threads that serve sockets of their own would each have one.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/endpoints/connection.h"
#include "server/endpoints/pass_share.h"
#include "server/lateness/slow_requests.h"
#include "server/requests/client_request.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// Of one pass: few, because one may cost as much as thousands of cheap requests.
inline constexpr std::size_t kDearPerPass = 4;

inline constexpr std::size_t kDearPerConnection = 256;
inline constexpr std::size_t kDearMax = 4096;

// A longer payload is none that a dear kind takes: it is refused at once.
inline constexpr std::size_t kDearPayloadBytesMax = 4096;

// The part of the loop's time beside other clients.
inline constexpr std::uint64_t kDearParts = 8;

// Replies of a connection that wait to be read while nothing dear is done for it.
inline constexpr std::size_t kDearBacklogBytes = kUnsentBytesBlocked;

class DearRequests {
 public:
  using Handler = std::function<void(const ClientRequest& request)>;

  // Both outlive it.
  DearRequests(protocol::ReplySink& replies, SlowRequests& slow, MetricsRegistry& metrics);
  DearRequests(const DearRequests&) = delete;
  DearRequests& operator=(const DearRequests&) = delete;

  // What serves a request whose turn has come. Before the first request.
  void set_handler(Handler handler) { handler_ = std::move(handler); }

  // A request that the handler has only begun, if there is one, and what does another part of it.
  struct Parts {
    std::function<bool()> under_way = [] { return false; };
    std::function<void()> go_on = [] {};
  };

  void set_parts(Parts parts) { parts_ = std::move(parts); }

  // Takes a request with a copy of its payload, or refuses it. `now_us`: when its bytes came.
  void add(const ClientRequest& request, std::uint64_t now_us);

  // Whether other clients than this one were served lately.
  using Others = std::function<bool(protocol::ConnectionId than)>;

  // Once per pass. Whether any was served: then there may be more to do at once.
  bool serve(std::uint64_t now_us, const Others& others);

  // Fewer than kDearBacklogBytes of the connection wait now, or it is gone.
  void on_room(protocol::ConnectionId connection);

  // For how long the loop may sleep, for the sake of serve().
  std::uint64_t until_next_us(std::uint64_t now_us) const;

  std::size_t waiting() const { return waiting_; }

 private:
  struct Waiting {
    protocol::RequestSlot slot;
    std::vector<std::byte> payload;
    std::uint64_t since_us = 0;
  };

  struct Line {
    protocol::ConnectionId connection;
    std::deque<Waiting> requests;
    bool aside = false;  // In aside_, not in lines_.
  };

  using Lines = std::list<Line>;

  std::size_t places_of_one() const;
  void count(std::size_t waiting);
  std::optional<protocol::ConnectionId> next() const;
  bool serve_one(std::uint64_t now_us);
  bool serve_first(std::uint64_t now_us);
  void look_at_time(protocol::ConnectionId connection, const Waiting& next, std::uint64_t now_us);

  protocol::ReplySink& replies_;
  SlowRequests& slow_;
  Handler handler_;
  Parts parts_;
  Lines lines_;  // In the order of their turn; none is empty.
  Lines aside_;  // Their clients do not read.
  PassShare share_{kDearParts};
  protocol::ConnectionId served_last_;
  std::unordered_map<protocol::ConnectionId, Lines::iterator> by_connection_;
  std::size_t waiting_ = 0;
  Gauge& waiting_gauge_;
  Counter& served_;
  Counter& refused_;
};

}  // namespace gcoord::server
