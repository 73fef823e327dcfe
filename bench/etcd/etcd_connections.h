// Connections to an etcd cluster: who leads it, a channel for each client, leases.
// One thread.
#pragma once

#include "common/status.h"

#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

// A connection of its own: channels to one address would otherwise share one.
std::shared_ptr<grpc::Channel> open_channel(const std::string& endpoint);

// The endpoint of the leader; asks until there is one or the timeout is over.
Result<std::string> find_etcd_leader(const std::vector<std::string>& endpoints,
                                     std::chrono::milliseconds timeout);

// That many leases, long enough to outlive a benchmark without keep-alives.
Result<std::vector<std::int64_t>> take_leases(const std::string& endpoint, std::uint32_t count);

}  // namespace gcoord::bench
