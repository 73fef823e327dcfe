// Health checks that a session may be bound to; none unless a program asks for them.
//
// The checks of a session are run by the client that keeps it alive, in its own process, and by
// nobody else: what one node or another program thinks of this machine ends no session. Each runs
// once before the session is opened, and all must pass (GC6350); after that every `interval`. One
// that fails `failures` times in a row makes the session unhealthy, and one success in time makes
// it healthy again. UnhealthyAction decides what becomes of an unhealthy session.
//
// Checks are run on the client's own thread, which waits for none of them. Commands are started by
// fork: a program whose memory is very large pays for that. Plain values; no thread rules.
//
//  auto check = parse_health_check("tcp:127.0.0.1:8080");
//  auto session = client.open_session({.ttl = 10s, .health = {.checks = {check.value()}}});
#pragma once

#include "gcoord/api.h"
#include "gcoord/status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

// Of one session.
inline constexpr std::size_t kHealthChecksMax = 16;

// Kind of a check: what it runs, and when that counts as passed.
enum class CheckKind : std::uint8_t {
  Command = 1,  // A line for /bin/sh -c; passes when it exits with 0. Its output goes nowhere.
  Tcp = 2,      // "host:port"; passes when a connection is made.
  Http = 3,     // "http://host[:port][/path]"; passes when a GET is answered with 200 to 299.
};

// One check of a session. A value outside of its bounds is GC6352.
struct HealthCheck {
  CheckKind kind{};
  // The command line, address or URL; at most 8,192 bytes.
  std::string target{};

  // From the begin of one run to that of the next, unless that takes longer. 100 ms to a day.
  std::chrono::milliseconds interval{10'000};

  // A run that takes longer has failed; a command is killed with all that it started. 1 ms to a
  // minute.
  std::chrono::milliseconds timeout{5'000};

  // In a row; 1 to 1000.
  std::uint32_t failures = 3;
};

// "tcp:HOST:PORT", "http://HOST:PORT/PATH" or "command:LINE", with the default times. GC6352 for
// anything else; https is not spoken.
GCOORD_API Result<HealthCheck> parse_health_check(std::string_view text);

// Treatment of a session that has become unhealthy (SessionHealth::on_unhealthy).
enum class UnhealthyAction : std::uint8_t {
  // It is not kept alive any more, and takes on nothing (GC6351). Jeopardy and Expired come as when
  // no node is heard; its locks pass on after the TTL, with their lock-delay. Healthy again before
  // that, it is kept alive again, and nothing was lost: Safe.
  Starve = 1,

  // It is ended at once: Jeopardy, Expired, and then its locks pass on, without a lock-delay.
  Close = 2,
};

// Result of one run of a check; reported when it changes something, and for every failure.
struct CheckReport {
  std::size_t check = 0;  // Which of SessionHealth::checks.
  bool passing = false;
  // 0 when this run passed.
  std::uint32_t failures_in_row = 0;
  bool session_healthy = true;  // By all checks, from now on.
  std::string evidence;         // "exit code 2", "Connection refused", "HTTP status 503".
};

// The health checks of a session; without checks it is always healthy.
struct SessionHealth {
  std::vector<HealthCheck> checks{};
  UnhealthyAction on_unhealthy = UnhealthyAction::Starve;

  // On the client's own thread: returns soon, and calls nothing that blocks.
  std::function<void(const CheckReport&)> on_report{};
};

}  // namespace gcoord::client
