// Maker of client sockets, and what a pass of the loop owes them: direct ones, or with I/O threads
// handed ones; and those with rings in shared memory, which the loop serves itself. The loop's
// thread.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/client_io/client_socket.h"
#include "server/client_io/direct_socket.h"
#include "server/client_io/io_threads.h"
#include "server/client_io/ring_socket.h"
#include "server/tls/port_tls.h"

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace gcoord::server {

// Bytes that the kernel takes beyond what is under way to the client. Without a bound it buffers
// megabytes for a client that never reads, and its requests are served until they are full.
inline constexpr int kKernelUnsentBytes = 64 << 10;

struct ClientIoOptions {
  std::uint32_t thread_count = 0;  // 0: the loop's thread serves the sockets.
  IoBackendWish backend = IoBackendWish::Auto;
  const PortTls* tls = nullptr;  // Outlives the sockets; none: TLS is off.
  // By what I/O threads prepare requests (server/ingress); none: not at all.
  std::optional<IngressRules> ingress = {};
};

// Threads by default where the process may use so many processors: with few of them the loop serves
// the sockets, and more than four threads find no work beside one loop.
constexpr std::uint32_t usual_io_threads(std::uint32_t processors) {
  return std::min(processors / 8, 4u);
}

class ClientSockets {
 public:
  // Context and registry outlive it.
  ClientSockets(asio::io_context& context, const ClientIoOptions& options, MetricsRegistry& metrics)
      : context_(context),
        options_(options),
        metrics_(metrics),
        counters_(metrics),
        rings_(metrics) {}

  // Once. FailedPrecondition: the kernel refuses the backend that is wished. With threads it says
  // in the log how many there are, and how they serve.
  Status start();

  // Whether a connection that begins now may speak TLS.
  bool tls_on() const {
    return options_.tls != nullptr && options_.tls->rule().mode != TlsMode::Off;
  }

  enum class Use : std::uint8_t {
    Client,
    Local,  // By the Unix socket, on which TLS protects nothing.
    Brief,  // One answer, in plain text, and the end.
    Ring,   // By shared memory.
    SmallRing,
    NoRing,  // Refused, and the end.
  };

  // A socket that was accepted.
  std::unique_ptr<ClientSocket> make(asio::generic::stream_protocol::socket socket, Use use);

  // What client I/O has cost so far, as of the last hand_over(). Any thread.
  const IoCounters& counters() const { return counters_; }

  // First in a pass: what has happened to handed sockets and in rings.
  void take_reports();

  // Whenever the loop has something for them and goes on to something else.
  void hand_over();

  // Before the loop sleeps; false: something has happened, and was taken as by take_reports().
  bool arm();

  // About every second: shows in a metric how many threads have stalled, and says in the log when
  // that changes.
  void sweep();

  // For tests: waits until the threads have done what was handed over, and have seen what their
  // sockets had.
  void settle();

 private:
  std::unique_ptr<ClientSocket> make_socket(asio::generic::stream_protocol::socket socket, Use use);

  asio::io_context& context_;
  ClientIoOptions options_;
  MetricsRegistry& metrics_;
  IoCounters counters_;
  IoTally tally_;  // Of the loop's thread.
  DirectSocket::Scratch scratch_;
  RingSocket::Shared rings_;
  std::uint32_t stalled_ = 0;  // As of the last sweep.
  std::unique_ptr<IoThreads> threads_;
};

}  // namespace gcoord::server
