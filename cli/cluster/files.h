// Writing the configuration files of a planned cluster.
//
// Nothing that is there is written over: not a file, and no node gets a data directory with
// something in it. One thread.
#pragma once

#include "cli/cluster/plan.h"
#include "common/status.h"

#include <filesystem>
#include <vector>

namespace gcoord::cli {

// Makes the directory if it is not there (its parent must be), writes node-ID.toml for each node
// and returns their paths by rising id. All or none: when one cannot be written, those before it
// are removed. GC1001 where a file, or a data directory of this machine that is not empty, is in
// the way; GC2008 when the directory cannot be used.
Result<std::vector<std::filesystem::path>> write_configurations(
    const ClusterPlan& plan, const std::filesystem::path& directory);

}  // namespace gcoord::cli
