#include "cli/audit/origins.h"

#include "common/text/utc_text.h"

#include <algorithm>
#include <utility>

namespace gcoord::cli {

namespace {

// Sessions of one request.
constexpr std::size_t kOnce = 1000;

std::string cell(const std::string& text) {
  return text.empty() ? "-" : text;
}

void add(std::vector<client::SessionOrigin> origins, OriginMap& map) {
  for (client::SessionOrigin& each : origins) {
    const std::uint64_t session = each.session_id;
    map.insert_or_assign(session, std::move(each));
  }
}

}  // namespace

client::Result<OriginMap> origins_of(client::Client& client,
                                     const std::vector<std::uint64_t>& sessions) {
  OriginMap map;
  for (std::size_t begin = 0; begin < sessions.size(); begin += kOnce) {
    const auto first = sessions.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kOnce, sessions.size() - begin));
    auto origins = client.session_origins({first, last});
    if (!origins.ok()) {
      return origins.status();
    }
    add(std::move(origins).value(), map);
  }
  return map;
}

client::Result<OriginMap> origins_of_holders(client::Client& client, const std::string& name) {
  auto origins = client.holder_origins(name);
  if (!origins.ok()) {
    return origins.status();
  }
  OriginMap map;
  add(std::move(origins).value(), map);
  return map;
}

std::string principal_text(const client::SessionOrigin& origin) {
  return origin.principal.empty() ? origin.principal_kind
                                  : origin.principal_kind + " " + origin.principal;
}

Json origin_json(const client::SessionOrigin& origin) {
  return {{"session", std::to_string(origin.session_id)},
          {"principal_kind", origin.principal_kind},
          {"principal", origin.principal},
          {"address_class", origin.address_class},
          {"address", origin.address},
          {"client", origin.client},
          {"since", utc_text(origin.since_ms)}};
}

std::vector<std::string> origin_cells(const OriginMap& origins, std::uint64_t session) {
  const auto found = origins.find(session);
  if (found == origins.end()) {
    return {"-", "-", "-", "-"};
  }
  const client::SessionOrigin& origin = found->second;
  return {
      principal_text(origin), cell(origin.address), cell(origin.client), utc_text(origin.since_ms)};
}

}  // namespace gcoord::cli
