// The operations of gcoord-step, by name.
//
// An operation checks its fields, asks the cluster and returns the members that it adds to the
// answer; the door lets the cluster settle afterwards. One thread.
#pragma once

#include "cli/step/fields.h"
#include "common/json/value.h"
#include "common/status.h"
#include "consensus/scenario/cluster.h"

#include <string_view>

namespace gcoord::cli {

using StepOp = Result<Json> (*)(consensus::scenario::Cluster& cluster, const StepFields& fields);

// Null if there is no such operation. "create" is the door's own.
StepOp find_step_op(std::string_view name);

// The cluster that a "create" asks for.
Result<consensus::scenario::ClusterOptions> step_cluster_options(const StepFields& fields);

// Everything about one node, or about all of them (step_dump.cc).
Result<Json> dump_cluster(consensus::scenario::Cluster& cluster, const StepFields& fields);

}  // namespace gcoord::cli
