#include "server/platform/endpoint_name.h"

#include <charconv>

namespace gcoord::server {

namespace {

constexpr std::size_t kHostBytesMax = 253;  // Longest name in DNS (RFC 1035, section 2.3.4).

Status refuse(std::string_view text, std::string_view why) {
  return Status{StatusCode::InvalidArgument,
                "'" + std::string(text) + "' " + std::string(why) +
                    "; expected HOST:PORT, for example 127.0.0.1:7400 or [::1]:7400"};
}

bool host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == ':';
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text, PortZero port_zero) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return refuse(text, "has no port");
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse(text, "needs brackets around its IPv6 address");
  }
  if (host.empty() || host.size() > kHostBytesMax) {
    return refuse(text, "has no usable host");
  }
  for (const char c : host) {
    if (!host_character(c)) {
      return refuse(text, "has a host with characters that are not allowed in host names");
    }
  }
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port > 65535) {
    return refuse(text, "has no port between 1 and 65535");
  }
  if (port == 0 && port_zero == PortZero::Refused) {
    return refuse(text, "has port 0");
  }
  return Endpoint{std::string(host), static_cast<std::uint16_t>(port)};
}

std::string to_string(const Endpoint& endpoint) {
  const bool address6 = endpoint.host.find(':') != std::string::npos;
  const std::string host = address6 ? "[" + endpoint.host + "]" : endpoint.host;
  return host + ":" + std::to_string(endpoint.port);
}

bool is_loopback(const Endpoint& endpoint) {
  if (endpoint.host == "localhost" || endpoint.host == "::1") {
    return true;
  }
  // 127.anything, but not a name such as 127.example.org.
  return endpoint.host.rfind("127.", 0) == 0 &&
         endpoint.host.find_first_not_of("0123456789.") == std::string::npos;
}

bool is_everywhere(const Endpoint& endpoint) {
  return endpoint.host == "0.0.0.0" || endpoint.host == "::";
}

}  // namespace gcoord::server
