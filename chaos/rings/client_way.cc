#include "chaos/rings/client_way.h"

#include "chaos/rings/names.h"

#include <array>

namespace gcoord::chaos {

namespace {

constexpr std::array<std::string_view, 3> kNames = {"tcp", "shm", "mixed"};

bool uses_rings(ClientWay way, std::uint32_t number, std::uint32_t node) {
  switch (way) {
    case ClientWay::Tcp:
      return false;
    case ClientWay::Shm:
      return true;
    case ClientWay::Mixed:
      break;
  }
  return number % 3 == 1 || (number % 3 == 0 && node % 2 == 1);
}

}  // namespace

std::optional<ClientWay> client_way_of(std::string_view name) {
  return value_named<ClientWay>(kNames, name);
}

std::string_view client_way_name(ClientWay way) {
  return kNames[static_cast<std::size_t>(way)];
}

std::filesystem::path ring_path(const LocalCluster& cluster, std::uint32_t node) {
  return cluster.data_directory(node) / "client.shm";
}

std::vector<std::string> endpoints_of(const LocalCluster& cluster,
                                      ClientWay way,
                                      std::uint32_t number) {
  std::vector<std::string> endpoints = cluster.endpoints();
  for (std::uint32_t node = 1; node <= cluster.node_count(); ++node) {
    if (uses_rings(way, number, node)) {
      endpoints[node - 1] = "shm:" + ring_path(cluster, node).string();
    }
  }
  return endpoints;
}

}  // namespace gcoord::chaos
