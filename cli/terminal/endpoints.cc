#include "cli/terminal/endpoints.h"

#include "protocol/error_codes.h"
#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::cli {

namespace {

constexpr std::string_view kDefaultPort = ":7400";
constexpr std::string_view kService = "srv:";
constexpr std::array<std::string_view, 2> kPaths = {"unix:", "shm:"};  // Behind which is a path.

bool has_port(std::string_view part) {
  const std::size_t bracket = part.find(']');
  return part.find(':', bracket == part.npos ? 0 : bracket) != part.npos;
}

}  // namespace

Result<std::vector<std::string>> parse_endpoints(std::string_view text) {
  std::vector<std::string> endpoints;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string part{rest.substr(0, comma)};
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (part.empty()) {
      continue;
    }
    const auto scheme = std::ranges::find_if(
        kPaths, [&part](std::string_view each) { return part.starts_with(each); });
    if (scheme != kPaths.end()) {
      if (part.find('/') != scheme->size() || part.back() == '/') {
        return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                    "--endpoints: '" + part + "' is not " + std::string{*scheme} +
                                        " and the absolute path of a socket");
      }
      endpoints.push_back(std::move(part));
      continue;
    }
    if (part.starts_with(kService)) {
      endpoints.push_back(std::move(part));  // The client library knows what names in DNS are.
      continue;
    }
    if (part.find("://") != part.npos) {
      return protocol::make_error(
          protocol::ErrorCode::OptionInvalid,
          "--endpoints: '" + part + "' is a URL; write HOST:PORT, for example 10.0.0.1:7400");
    }
    if (!has_port(part)) {
      part += kDefaultPort;
    }
    const auto parsed = server::parse_endpoint(part);
    if (!parsed.ok()) {
      return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                  "--endpoints: " + parsed.status().message());
    }
    endpoints.push_back(server::to_string(parsed.value()));
  }
  if (endpoints.empty()) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid, "--endpoints names no node");
  }
  return endpoints;
}

}  // namespace gcoord::cli
