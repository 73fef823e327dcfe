// The I/O threads of a node, as the loop's thread sees them: gives them sockets, hands over what
// was posted once per pass, and brings reports to their sockets.
//
// A new socket goes to the thread that has the fewest and has not stalled. Which one serves a
// connection decides nothing else: requests are dispatched by what they name. Reports wake the loop
// only when it sleeps. The loop's thread; the threads end with it.
#pragma once

#include "common/status.h"
#include "server/client_io/client_socket.h"
#include "server/client_io/counters.h"
#include "server/client_io/handed_socket.h"
#include "server/client_io/io_thread.h"
#include "server/client_io/loop_bell.h"
#include "server/client_io/open_backend.h"
#include "server/platform/choices.h"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class IoThreads {
 public:
  struct Options {
    std::uint32_t thread_count = 1;  // At least 1.
    IoBackendWish backend = IoBackendWish::Auto;
    std::optional<IngressRules> ingress = {};  // By what they prepare requests; none: not at all.
    // For tests: what else makes a backend, and what the time is.
    std::function<Result<OpenedBackend>(IoBackendWish)> open = open_backend;
    std::function<std::uint64_t()> now_us = {};
  };

  // Context and counters outlive it. FailedPrecondition: the kernel refuses the wished backend.
  static Result<std::unique_ptr<IoThreads>> start(asio::io_context& context,
                                                  const Options& options,
                                                  IoCounters& counters);
  ~IoThreads();

  // Takes the descriptor, and `tls`, which may be none; nullptr, and both are the caller's, if
  // every thread has stalled.
  std::unique_ptr<ClientSocket> make(int fd, std::unique_ptr<ConnectionTls>& tls);

  // All reports that are here.
  void take_reports();

  // What was posted to each thread, at once.
  void hand_over();

  // Before the loop sleeps; false: there are reports that want it.
  bool arm() { return bell_.arm(); }

  // How many threads have stalled, of which each gets something to do for the next call. About
  // every second.
  std::uint32_t probe();

  // For tests (IoThread::settle()).
  void settle();

  std::uint32_t thread_count() const { return static_cast<std::uint32_t>(threads_.size()); }

  std::string_view backend_name() const { return backend_name_; }

  // Why `auto` chose no better backend; empty if it did.
  const std::string& fallback_reason() const { return fallback_reason_; }

 private:
  IoThreads(asio::io_context& context, IoCounters& counters);

  Status start_threads(const Options& options);
  void await_bell();

  LoopBell bell_;
  asio::posix::stream_descriptor bell_descriptor_;
  IoCounters& counters_;
  std::string backend_name_;
  std::string fallback_reason_;
  std::uint64_t last_key_ = 0;
  std::unordered_map<std::uint64_t, HandedSocket*> sockets_;
  std::vector<std::unique_ptr<IoThread>> threads_;
};

}  // namespace gcoord::server
