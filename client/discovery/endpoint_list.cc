#include "client/discovery/endpoint_list.h"

#include "client/discovery/srv_lookup.h"
#include "client/net/failure.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kScheme = "srv:";
// Between two questions for a name that names nobody yet.
constexpr milliseconds kPause{100};

struct Service {
  std::string name;
  std::optional<NameServer> server;
};

std::optional<Service> parse_service(std::string_view text) {
  const std::size_t at = std::min(text.find('@'), text.size());
  Service service{.name = std::string{text.substr(0, at)}, .server = {}};
  if (at != text.size()) {
    service.server = parse_name_server(text.substr(at + 1));
  }
  const bool sound = is_dns_name(service.name) && (at == text.size() || service.server);
  return sound ? std::optional{std::move(service)} : std::nullopt;
}

std::string host_port(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::vector<std::string> addresses_of(std::vector<SrvRecord> records, bool named_server) {
  std::ranges::stable_sort(records, {}, [](const SrvRecord& record) {
    return std::tuple{record.priority, -int{record.weight}};
  });
  std::vector<std::string> addresses;
  for (const SrvRecord& record : records) {
    const bool glue = named_server && !record.addresses.empty();
    for (const std::string& host : glue ? record.addresses : std::vector{record.target}) {
      addresses.push_back(host_port(host, record.port));
    }
  }
  return addresses;
}

Result<std::vector<std::string>> look_up_once(const Service& service, milliseconds until) {
  const auto servers = service.server ? std::vector{*service.server} : system_name_servers();
  const auto records = look_up_srv(service.name, servers, until - monotonic_now());
  if (!records.ok()) {
    return records.status();
  }
  auto addresses = addresses_of(records.value(), service.server.has_value());
  if (addresses.empty()) {
    return failure(protocol::ErrorCode::Unreachable,
                   service.name + ": its SRV records name nobody");
  }
  return addresses;
}

Result<std::vector<std::string>> look_up(const Service& service,
                                         milliseconds until,
                                         IfAbsent absent) {
  auto found = look_up_once(service, until);
  while (!found.ok() && absent == IfAbsent::AskAgain && monotonic_now() + kPause < until) {
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
    found = look_up_once(service, until);
  }
  return found;
}

}  // namespace

Result<std::vector<std::string>> resolve_endpoints(const std::vector<std::string>& endpoints,
                                                   milliseconds timeout,
                                                   IfAbsent absent) {
  const milliseconds until = monotonic_now() + timeout;
  std::vector<std::string> resolved;
  std::optional<Status> failed;
  for (const std::string& endpoint : endpoints) {
    if (!endpoint.starts_with(kScheme)) {
      resolved.push_back(endpoint);
      continue;
    }
    const auto service = parse_service(std::string_view{endpoint}.substr(kScheme.size()));
    if (!service) {
      return failure(protocol::ErrorCode::OptionInvalid,
                     "'" + endpoint + "' is not srv:NAME or srv:NAME@ADDRESS[:PORT]");
    }
    const auto found = look_up(*service, until, absent);
    if (!found.ok()) {
      failed = found.status();
      continue;
    }
    resolved.insert(resolved.end(), found.value().begin(), found.value().end());
  }
  if (resolved.empty() && failed) {
    return *failed;
  }
  return resolved;
}

}  // namespace gcoord::client
