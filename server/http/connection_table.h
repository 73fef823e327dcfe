// The open connections of an HTTP port: which are late, and which make room for a newcomer.
//
//   open -> Header -> Answer -> Idle -> Answer -> ...    any of them -> Cut -> close
//
// A connection waits in Header and Idle, where only its client can go on; there it can be cut. In
// Answer it has its request_time. Where all are in Answer, a few spare ones beyond the limits are
// taken: they get only what is answered at once. Bookkeeping only: the caller owns the sockets,
// shuts down those that it is told to, and says when they are closed. Time is a parameter:
// milliseconds that only grow. One thread.
#pragma once

#include "server/http/limits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

struct sockaddr;

namespace gcoord::server {

// An IPv4 address (also one mapped to IPv6), or the /64 of an IPv6 address: what one client has.
using HttpSource = std::array<std::uint8_t, 16>;

// All zeros for another family.
HttpSource http_source(const sockaddr* address);

class HttpConnectionTable {
 public:
  explicit HttpConnectionTable(const HttpServerLimits& limits) : limits_(limits) {}

  // Whether one more connection of `source` is taken, and which socket is to be shut down for it.
  // That one counts no more from here on.
  struct Room {
    bool taken = true;
    std::optional<int> cut;
  };

  Room make_room(const HttpSource& source);

  // Whether the connection is within the limits, and not a spare one: what is slow may be done for
  // it. One that began as spare is no more once others have closed.
  bool within_limits(int socket);

  // `socket` is not open yet.
  void open(int socket, const HttpSource& source, std::uint64_t now_ms);

  // The header of a request is whole; the answer to it has gone; the socket is closed. A socket
  // that is not open is ignored.
  void on_header(int socket, std::uint64_t now_ms) { enter(socket, State::Answer, now_ms); }

  void on_answered(int socket, std::uint64_t now_ms) { enter(socket, State::Idle, now_ms); }

  void close(int socket);

  // Those whose time is over, to be shut down, and how many of them were not merely idle. Each is
  // named once.
  struct Late {
    std::vector<int> sockets;
    std::size_t slow = 0;
  };

  Late take_late(std::uint64_t now_ms);

  // Until the next one is late; `at_most` if none will be before.
  std::uint64_t until_late_ms(std::uint64_t now_ms, std::uint64_t at_most) const;

  // Those in which only the client can go on.
  std::vector<int> waiting() const;

  // Open ones, with those that are cut and not closed yet.
  std::size_t size() const { return connections_.size(); }

 private:
  enum class State : std::uint8_t { Header, Answer, Idle, Cut };

  static bool waits(State state) { return state == State::Header || state == State::Idle; }

  struct Connection {
    HttpSource source{};
    State state = State::Header;
    std::uint64_t since_ms = 0;
    bool spare = false;
  };

  std::uint32_t count_of(const HttpSource& source) const;
  void enter(int socket, State state, std::uint64_t now_ms);
  void cut(Connection& connection);
  std::uint64_t late_ms(const Connection& connection) const;
  std::optional<int> longest_waiting(const HttpSource* source) const;

  HttpServerLimits limits_;
  std::unordered_map<int, Connection> connections_;
  std::map<HttpSource, std::uint32_t> of_source_;  // Without those that are cut; no zeros.
  std::size_t counted_ = 0;                        // The sum of it.
};

}  // namespace gcoord::server
