// Transport of the client processes of a run, and the endpoints that follow from it. Pure; any
// thread.
#pragma once

#include "chaos/process/local_cluster.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

enum class ClientWay : std::uint8_t {
  Tcp,
  Shm,
  // Of three processes one uses shared memory, one TCP, and one both: every other node by each.
  Mixed,
};

// "tcp", "shm" or "mixed".
std::optional<ClientWay> client_way_of(std::string_view name);
std::string_view client_way_name(ClientWay way);

// Where the node listens for clients by shared memory.
std::filesystem::path ring_path(const LocalCluster& cluster, std::uint32_t node);

// Of client process `number`, from 1: one for each node.
std::vector<std::string> endpoints_of(const LocalCluster& cluster,
                                      ClientWay way,
                                      std::uint32_t number);

}  // namespace gcoord::chaos
