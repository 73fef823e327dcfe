// Queue of the client connections that have sent something, and the time of a pass that they get.
//
// A socket that becomes readable puts its connection here and does nothing else, so that however
// much clients send, the loop polls, turns and keeps its heartbeats. serve(), once per pass, lets
// connections take their requests, in the order in which they came and kRequestsOfTurn at a time.
// A connection that has more than that waits in a second queue, for clients that send in bulk:
// whoever sends a request at a time is not behind them. Both together get kPassUs. While others
// were served lately, bulk gets kBulkUs of a pass and at most one part in kBulkParts of the loop's
// time, what its requests cost in the rest of the pass included; alone it gets all.
//
// One thread, that of the front end.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "server/endpoints/pass_share.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

namespace gcoord::server {

class Connection;

class InputQueue {
 public:
  // Requests that a connection may take before the next one has its turn: some tens of
  // microseconds.
  static constexpr std::size_t kRequestsOfTurn = 64;

  // Of a pass, for all: a fifth of a tick of the node.
  static constexpr std::uint64_t kPassUs = 2'000;

  // While others were served within kLatelyUs: the time of a pass for bulk (one turn in any case),
  // the requests of such a turn, and its part of all time. "Lately" is longer than any pass under
  // load: else a long pass makes bulk alone, and that the next one longer still.
  static constexpr std::uint64_t kBulkUs = 50;
  static constexpr std::size_t kBulkRequests = 32;
  static constexpr std::uint64_t kBulkParts = 8;
  static constexpr std::uint64_t kLatelyUs = 100'000;

  // `now_us`: a clock that only grows; called for each turn.
  InputQueue(std::function<std::uint64_t()> now_us, MetricsRegistry& metrics);

  // It became readable; or it may take again what it already sent, or has more of it than one turn
  // took (`bulk`). It is in neither queue.
  void add(std::shared_ptr<Connection> connection, bool bulk);

  // Once per pass. Whether any connection had a turn; then there may be more to do at once.
  bool serve();

  // For how long the loop may sleep, for the sake of what waits.
  std::uint64_t until_next_us() const;

  // Whether another connection than this one took few requests within kLatelyUs.
  bool serves_others(protocol::ConnectionId than) const { return serves_others(than, now_us_()); }

  // Connections that wait.
  std::size_t size() const { return light_.size() + bulk_.size(); }

 private:
  using Queue = std::deque<std::shared_ptr<Connection>>;

  // A connection that had a turn and left nothing behind.
  struct Light {
    protocol::ConnectionId connection;
    std::uint64_t at_us = 0;
  };

  bool serves_others(protocol::ConnectionId than, std::uint64_t now_us) const;
  void note_light(protocol::ConnectionId connection, std::uint64_t now_us);
  void serve_first(Queue& queue, std::size_t request_count_max);
  void serve_light(std::uint64_t began_us);
  void serve_bulk(std::uint64_t began_us);

  std::function<std::uint64_t()> now_us_;
  Queue light_;
  Queue bulk_;
  std::array<Light, 2> lights_{};  // The last two that differ, the newest first.
  PassShare bulk_share_{kBulkParts};
  Counter& light_turns_;
  Counter& bulk_turns_;
  Gauge& waiting_;
};

}  // namespace gcoord::server
