#include "server/http/port_lines.h"

#include "common/text/printable.h"
#include "server/platform/boot_time.h"
#include "server/platform/endpoint_name.h"
#include "server/platform/operator_log.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace gcoord::server {
namespace {

// A path may have kilobytes.
constexpr std::size_t kRequestBytesShown = 160;

std::string shown_request(const std::string& line) {
  const std::string cut = line.size() > kRequestBytesShown ? "..." : "";
  return in_quotes(line.substr(0, kRequestBytesShown)) + cut;
}

// Behind a line: how many before it were left out.
std::string unsaid_text(LogRateLimit& limit) {
  const std::uint64_t unsaid = limit.take_unsaid();
  return unsaid == 0 ? "" : "; " + std::to_string(unsaid) + " more had no line";
}

bool may_say(LogLevel level, LogRateLimit& limit) {
  return log_enabled(LogComponent::Http, level) && limit.may_log(boot_time_us() / 1000);
}

}  // namespace

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in from{};
    std::memcpy(&from, address, sizeof from);
    ::inet_ntop(AF_INET, &from.sin_addr, text.data(), text.size());
    return to_string(Endpoint{text.data(), ntohs(from.sin_port)});
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 from{};
    std::memcpy(&from, address, sizeof from);
    ::inet_ntop(AF_INET6, &from.sin6_addr, text.data(), text.size());
    return to_string(Endpoint{text.data(), ntohs(from.sin6_port)});
  }
  return "an unknown address";
}

void HttpPortLines::on_refused(const Refused& request) {
  if (may_say(LogLevel::Plain, refused_)) {
    log_info(LogComponent::Http,
             "port {}: {} of {} is refused with {}{}",
             port_,
             shown_request(request.line),
             address_text(request.from),
             request.status,
             unsaid_text(refused_));
  }
}

void HttpPortLines::on_crowded(const sockaddr* newcomer, bool taken, std::size_t open_count) {
  if (may_say(LogLevel::Warning, crowded_)) {
    log_warning(LogComponent::Http,
                "port {}: {} connections are open, too many in all or of one address: {} for {}{}",
                port_,
                open_count,
                taken ? "the one that waited longest is closed" : "there is no place",
                address_text(newcomer),
                unsaid_text(crowded_));
  }
}

void HttpPortLines::on_slow(std::size_t count) {
  if (count != 0 && may_say(LogLevel::Plain, slow_)) {
    log_info(LogComponent::Http,
             "port {}: closes {} connections that took too long for a header or an answer{}",
             port_,
             count,
             unsaid_text(slow_));
  }
}

}  // namespace gcoord::server
