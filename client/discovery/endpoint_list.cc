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
constexpr std::size_t kAddressesMax = 64;  // Of one name.
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
      const std::string address = host_port(host, record.port);
      if (addresses.size() < kAddressesMax &&
          std::ranges::find(addresses, address) == addresses.end()) {
        addresses.push_back(address);
      }
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

// An endpoint that was given: an address, or a name in DNS and what came of it.
struct Given {
  std::string endpoint;
  std::optional<Service> service;
  Result<std::vector<std::string>> found{std::vector<std::string>{}};
};

Result<std::vector<Given>> parse_all(const std::vector<std::string>& endpoints) {
  std::vector<Given> all;
  for (const std::string& endpoint : endpoints) {
    Given given{.endpoint = endpoint, .service = {}};
    if (endpoint.starts_with(kScheme)) {
      given.service = parse_service(std::string_view{endpoint}.substr(kScheme.size()));
      if (!given.service) {
        return failure(protocol::ErrorCode::OptionInvalid,
                       "'" + endpoint + "' is not srv:NAME or srv:NAME@ADDRESS[:PORT]");
      }
    }
    all.push_back(std::move(given));
  }
  return all;
}

// Asks for each of these once. A name server that is silent takes its share of the time, not that
// of the names behind it.
void ask_once(const std::vector<Given*>& names, milliseconds until) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    const milliseconds now = monotonic_now();
    const auto left = static_cast<milliseconds::rep>(names.size() - k);
    names[k]->found = look_up_once(*names[k]->service, now + (until - now) / left);
  }
}

void ask_for_all(std::vector<Given>& all, milliseconds until, IfAbsent absent) {
  while (true) {
    std::vector<Given*> names;
    for (Given& given : all) {
      if (given.service && (!given.found.ok() || given.found.value().empty())) {
        names.push_back(&given);
      }
    }
    ask_once(names, until);
    // One that is known is enough to find the cluster by.
    const bool known = std::ranges::any_of(all, [](const Given& given) {
      return !given.service || (given.found.ok() && !given.found.value().empty());
    });
    if (known || absent == IfAbsent::Fail || monotonic_now() + kPause >= until) {
      return;
    }
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
  }
}

}  // namespace

Result<std::vector<std::string>> resolve_endpoints(const std::vector<std::string>& endpoints,
                                                   milliseconds timeout,
                                                   IfAbsent absent) {
  const milliseconds until = monotonic_now() + timeout;
  auto all = parse_all(endpoints);
  if (!all.ok()) {
    return all.status();
  }
  ask_for_all(all.value(), until, absent);
  std::vector<std::string> resolved;
  std::optional<Status> failed;
  for (const Given& given : all.value()) {
    if (!given.service) {
      resolved.push_back(given.endpoint);
    } else if (given.found.ok()) {
      resolved.insert(resolved.end(), given.found.value().begin(), given.found.value().end());
    } else {
      failed = given.found.status();
    }
  }
  if (resolved.empty() && failed) {
    return *failed;
  }
  return resolved;
}

}  // namespace gcoord::client
