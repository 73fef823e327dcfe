#include "client/health/health_target.h"

#include "client/net/failure.h"
#include "client/net/host_port.h"

#include <algorithm>
#include <string_view>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kTcp = "tcp:";
constexpr std::string_view kCommand = "command:";
constexpr std::string_view kHttp = "http://";
constexpr milliseconds kIntervalMin{100};
constexpr milliseconds kIntervalMax = std::chrono::hours{24};
constexpr milliseconds kTimeoutMax = std::chrono::minutes{1};
constexpr std::uint32_t kFailuresMax = 1000;

// Longer than any line that a shell or a server is sent for a check.
constexpr std::size_t kTargetBytesMax = 8192;

// A target goes into the first lines of a request, which a blank or a line's end would cut.
bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte > 0x20 && byte < 0x7f; });
}

Status invalid(const HealthCheck& check, std::string_view what) {
  return failure(protocol::ErrorCode::CheckInvalid,
                 health_check_text(check) + ": " + std::string{what});
}

Status check_one(const HealthCheck& check) {
  if (check.target.size() > kTargetBytesMax) {
    return invalid(check, "it is longer than 8192 bytes");
  }
  if (check.interval < kIntervalMin || check.interval > kIntervalMax) {
    return invalid(check, "the interval is not between 100 ms and a day");
  }
  if (check.timeout < milliseconds{1} || check.timeout > kTimeoutMax) {
    return invalid(check, "the timeout is not between 1 ms and a minute");
  }
  if (check.failures < 1 || check.failures > kFailuresMax) {
    return invalid(check, "the failures are not between 1 and 1000");
  }
  switch (check.kind) {
    case CheckKind::Command: {
      const bool line = !check.target.empty() && check.target.find('\0') == std::string::npos;
      return line ? Status{} : invalid(check, "there is no command");
    }
    case CheckKind::Tcp:
    case CheckKind::Http:
      return network_target(check).has_value() ? Status{} : invalid(check, "no host and port");
  }
  return invalid(check, "there is no such kind");
}

}  // namespace

std::optional<NetworkTarget> network_target(const HealthCheck& check) {
  std::string_view rest = check.target;
  NetworkTarget target;
  if (!printable(rest)) {
    return std::nullopt;
  }
  if (check.kind == CheckKind::Http) {
    if (!rest.starts_with(kHttp)) {
      return std::nullopt;
    }
    rest.remove_prefix(kHttp.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    target.path = slash == rest.size() ? "/" : std::string{rest.substr(slash)};
    rest = rest.substr(0, slash);
  }
  target.authority = rest;
  const HostPort parts = split_host_port(target.authority);
  target.host = parts.host;
  const bool named = target.authority.find(':') != std::string::npos;
  target.port =
      check.kind == CheckKind::Http && !named ? std::uint16_t{80} : port_number(parts.port);
  // "http://user@host" would send what stands before the "@" to nobody who asked for it.
  const bool usable = !target.host.empty() && target.port != 0 &&
                      target.host.find_first_of("@/?#") == std::string::npos;
  return usable ? std::optional{std::move(target)} : std::nullopt;
}

Status check_health(const SessionHealth& health) {
  if (health.checks.size() > kHealthChecksMax) {
    return failure(protocol::ErrorCode::CheckInvalid, "more than 16 checks");
  }
  const bool known = health.on_unhealthy == UnhealthyAction::Starve ||
                     health.on_unhealthy == UnhealthyAction::Close;
  Status first = known ? Status{} : failure(protocol::ErrorCode::CheckInvalid, "on_unhealthy");
  for (const HealthCheck& check : health.checks) {
    first = first.ok() ? check_one(check) : std::move(first);
  }
  return first;
}

std::string health_check_text(const HealthCheck& check) {
  switch (check.kind) {
    case CheckKind::Command:
      return std::string{kCommand} + check.target;
    case CheckKind::Tcp:
      return std::string{kTcp} + check.target;
    case CheckKind::Http:
      break;
  }
  return check.target;
}

Result<HealthCheck> parse_health_check(std::string_view text) {
  HealthCheck check;
  if (text.starts_with(kTcp)) {
    check.kind = CheckKind::Tcp;
    check.target = text.substr(kTcp.size());
  } else if (text.starts_with(kCommand)) {
    check.kind = CheckKind::Command;
    check.target = text.substr(kCommand.size());
  } else if (text.starts_with(kHttp)) {
    check.kind = CheckKind::Http;
    check.target = text;
  } else {
    return failure(protocol::ErrorCode::CheckInvalid, text);
  }
  if (Status sound = check_one(check); !sound.ok()) {
    return sound;
  }
  return check;
}

}  // namespace gcoord::client
