// The options of clients: how many, how much each may hold, and by which threads they are served.
#include "server/options/option_rows.h"
#include "server/options/setters.h"

#include <array>

namespace gcoord::server {

namespace {

using namespace setters;

Status io_threads(const std::string& text, NodeOptions& options) {
  if (text == "auto") {
    options.io_threads.reset();
    return Status{};
  }
  std::uint64_t value = 0;
  GCOORD_TRY_STATUS(apply_number(text, 0, kIoThreadsMax, value));
  options.io_threads = static_cast<std::uint32_t>(value);
  return Status{};
}

Status io_backend(const std::string& text, NodeOptions& options) {
  const std::optional<IoBackendWish> wish = parse_io_backend_wish(text);
  if (!wish.has_value()) {
    return wrong("'" + text + "' is none of auto, io_uring, epoll");
  }
  options.io_backend = *wish;
  return Status{};
}

constexpr std::uint32_t kConnectionsMax = 100'000;
constexpr std::uint32_t kIdentitySessionsMax = 131'072;  // As many as server/limits counts.
// A few of the largest frames of each use.
constexpr std::uint64_t kMemoryMin = std::uint64_t{16} << 20;
constexpr std::uint64_t kMemoryMax = std::uint64_t{1024} << 30;

constexpr std::array kRows = {
    OptionRow{"session-ttl-max",
              OptionShape::Value,
              "TIME",
              "longest session TTL that a client may request, 1s to 24h (default 24h)",
              &duration<&NodeOptions::ttl_ms_max, 1000, kDayMs>},
    OptionRow{"deadlock-interval",
              OptionShape::Value,
              "TIME",
              "time between deadlock searches, up to 1m; 0s: never search (default 1s)",
              &duration<&NodeOptions::deadlock_interval_ms, 0, 60'000>},
    OptionRow{"connections-max",
              OptionShape::Value,
              "N",
              "maximum of client connections, 1 to 100000; a sixteenth is kept for this host and "
              "for addresses with few connections (default 4096)",
              &number<&NodeOptions::connections_max, 1, kConnectionsMax>},
    OptionRow{"source-connections-max",
              OptionShape::Value,
              "N",
              "maximum of client connections from one address, an IPv6 network of 64 bits being "
              "one (default 0: three quarters of --connections-max)",
              &number<&NodeOptions::source_connections_max, 0, kConnectionsMax>},
    OptionRow{"identity-connections-max",
              OptionShape::Value,
              "N",
              "maximum of client connections of one principal to this node, where gcoordctl limit "
              "sets none (default 0: half of --connections-max)",
              &number<&NodeOptions::identity_connections_max, 0, kConnectionsMax>},
    OptionRow{"identity-sessions-max",
              OptionShape::Value,
              "N",
              "maximum of sessions that one principal has opened by this node, where gcoordctl "
              "limit sets none (default 0: 65536)",
              &number<&NodeOptions::identity_sessions_max, 0, kIdentitySessionsMax>},
    OptionRow{"idle-timeout",
              OptionShape::Value,
              "TIME",
              "close client connections that have been quiet for so long and wait for nothing, 1s "
              "to 24h (default 10m)",
              &duration<&NodeOptions::idle_ms, 1000, kDayMs>},
    OptionRow{"handshake-timeout",
              OptionShape::Value,
              "TIME",
              "close client connections that have not said who they are so long after they were "
              "accepted, TLS included, 1s to 10m (default 5s)",
              &duration<&NodeOptions::handshake_ms, 1000, 600'000>},
    OptionRow{"client-memory-max",
              OptionShape::Value,
              "BYTES[KiB|MiB|GiB]",
              "maximum of memory for requests and unread replies of clients, 16MiB to 1024GiB; the "
              "connection that holds the most is closed first (default 512MiB, or 128KiB for each "
              "of --connections-max where that is more)",
              &memory<&NodeOptions::client_memory_bytes, kMemoryMin, kMemoryMax>},
    OptionRow{"locks-max",
              OptionShape::Value,
              "N",
              "maximum of locks held on this node (default 16777216)",
              &number<&NodeOptions::locks_max, 1, kRowsMax>},
    OptionRow{"waiters-max",
              OptionShape::Value,
              "N",
              "maximum of requests that wait for locks on this node (default 4194304)",
              &number<&NodeOptions::waiters_max, 1, kRowsMax>},
    OptionRow{"sessions-max",
              OptionShape::Value,
              "N",
              "maximum of session registrations in shards (default 16777216)",
              &number<&NodeOptions::sessions_max, 1, kRowsMax>},
    OptionRow{"session-locks-max",
              OptionShape::Value,
              "N",
              "maximum of locks that one session holds and waits for (default 0: no limit)",
              &number<&NodeOptions::session_locks_max, 0, kRowsMax>},
    OptionRow{"io-threads",
              OptionShape::Value,
              "N|auto",
              "threads that receive from clients, check frames and send replies, up to 16; 0: the "
              "loop's thread does; auto: one for every eight processors that the process may use, "
              "none below eight and at most 4 (default auto)",
              &io_threads},
    OptionRow{"io-backend",
              OptionShape::Value,
              "auto|io_uring|epoll",
              "for --io-threads: how they ask the kernel; auto: io_uring where the kernel allows "
              "it, else epoll (default auto)",
              &io_backend},
    OptionRow{"slow-request-ms",
              OptionShape::Value,
              "MS",
              "log requests that are answered later than this, up to 3600000, waits in queues not "
              "counted; 0: none (default 1000)",
              &number<&NodeOptions::slow_request_ms, 0, 3'600'000>},
};

}  // namespace

std::span<const OptionRow> client_rows() {
  return kRows;
}

}  // namespace gcoord::server
