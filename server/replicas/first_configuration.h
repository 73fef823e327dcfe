// The configuration that every shard of a new cluster begins with, and where a checkpoint store
// keeps it. Pure; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/configuration.h"

#include <string_view>
#include <vector>

namespace gcoord::server {

// The configuration that shards have which no checkpoint mentions yet: a key of the store's Meta.
inline constexpr std::string_view kInitialConfigurationKey = "initial-configuration";

// All nodes as voters of weight 1, in ascending order. InvalidArgument (kEngineOptions) unless they
// are 1 to 7, with different ids from 1 on.
Result<consensus::Configuration> first_configuration(std::vector<NodeId> nodes);

}  // namespace gcoord::server
