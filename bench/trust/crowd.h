// Very many TLS connections to servers, dealt out to a thread for each core: each shakes hands,
// sends what its script says, part by part, and waits for the answer to each.
//
// It knows no library of a system that is measured, so that all of them are met by the same client:
// OpenSSL over non-blocking sockets and epoll. Handshakes are full ones, without tickets.
#pragma once

#include "common/status.h"
#include "security/tls/context.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::bench {

struct CrowdScript {
  enum class Heard : std::uint8_t { Part, Whole, Wrong };

  // Sent one after the other, each when the answer to the one before is whole.
  std::vector<std::vector<std::byte>> parts;

  // What the bytes that came since a part was sent are. Any thread, where there is more than one
  // connection.
  std::function<Heard(std::span<const std::byte> bytes)> hear;
};

struct CrowdOptions {
  std::vector<std::string> endpoints;  // "127.0.0.1:PORT"; connections are dealt out to them.
  std::shared_ptr<const security::TlsContext> tls;
  CrowdScript script;
  std::uint32_t connections = 32;  // At a time.
};

struct CrowdRate {
  std::uint64_t served = 0;  // Connections whose script came to its end, after the warm-up.
  std::uint64_t served_in_all = 0;
  std::uint64_t failed = 0;
  std::string first_failure;
  double seconds = 0;
  double p50_ms = 0;  // From the connect to the end of the script.
  double p99_ms = 0;

  double per_second() const { return seconds > 0 ? static_cast<double>(served) / seconds : 0; }
};

// Every connection begins again as soon as it was served, for so long after a second of warm-up.
CrowdRate run_crowd(const CrowdOptions& options, std::chrono::milliseconds measured);

// One connection to the first endpoint, once.
Status serve_one(const CrowdOptions& options, std::chrono::milliseconds patience);

struct CrowdReturn {
  double all_served_first_ms = 0;  // After the start.
  double all_served_again_ms = 0;  // After `lose` was called.
  std::uint64_t lost = 0;          // Connections that ended, and came back elsewhere.
  std::uint64_t failed_tries = 0;
};

// All connections are served by the first endpoint and stay. Then `lose` ends that server, and they
// go to the others. DeadlineExceeded when not all are served again.
Result<CrowdReturn> return_crowd(const CrowdOptions& options,
                                 const std::function<void()>& lose,
                                 std::chrono::milliseconds patience);

}  // namespace gcoord::bench
