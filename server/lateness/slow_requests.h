// Slow requests: a warning and a count for each request of a client that was answered late.
//
// Whoever answers a request that it kept for a while says when it took it; is_slow() compares two
// times that are at hand, so a request that is not late costs a subtraction and a branch and no
// clock is read. Both are times of passes of the node's loop: when the bytes of the request came,
// and the pass whose end sends the reply. A request that waits by design, such as an acquire in its
// lock's queue, is measured up to where its wait begins.
//
// Lines are bounded: kLinesMax in kWindowUs, and the next line says how many were left out. The
// counter has all of them. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::server {

// "7.1/42": the connection (protocol::connection_name) and the number that its client gave the
// request. Clients and lines of the log name a request by it.
std::string request_name(protocol::ConnectionId connection, const protocol::RequestSlot& request);

// What a late answer was late for.
struct SlowRequest {
  protocol::ConnectionId connection;
  const protocol::RequestSlot& request;
  std::uint64_t started_us = 0;
  // Where the time went: "from the proposal to its application".
  std::string_view spent;
  std::string_view name;  // Of the lock; empty: not at hand, or none.
};

class SlowRequests {
 public:
  static constexpr std::uint32_t kLinesMax = 10;
  static constexpr std::uint64_t kWindowUs = 10'000'000;

  // A request is slow from `limit_ms` on; 0: none is. `replies` describes clients and outlives it.
  SlowRequests(std::uint32_t limit_ms,
               const protocol::ReplySink& replies,
               MetricsRegistry& metrics);

  // Whether a request of that time is late now, for whoever has the rest of a SlowRequest to make.
  bool is_slow(std::uint64_t started_us, std::uint64_t now_us) const {
    return now_us - started_us >= limit_us_ && started_us <= now_us;
  }

  // Of one that is_slow().
  void add(const SlowRequest& slow, std::uint64_t now_us);

 private:
  // No difference of two times is as large.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  const std::uint64_t limit_us_;
  const protocol::ReplySink& replies_;
  Counter& count_;
  std::uint64_t window_begin_us_ = 0;
  std::uint32_t lines_ = 0;       // In the window.
  std::uint64_t suppressed_ = 0;  // Since the last line.
};

}  // namespace gcoord::server
