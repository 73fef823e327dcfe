// A new node's request to be admitted by a cluster (protocol/members/join_messages.h), for gcoordd
// --join. Any thread; blocks until it is answered or refused, at most for both of the options'
// timeouts.
#pragma once

#include "gcoord/options.h"
#include "gcoord/status.h"
#include "protocol/members/join_messages.h"

namespace gcoord::client {

// Nodes that cannot be reached, lead nothing or are busy are asked again. Repeated with the same
// token and directory it is answered alike. Failures: those of a request, FeatureMissing where the
// cluster's release knows no members that come and go, and the cluster's refusals.
Result<protocol::JoinAnswer> join_cluster(const ClientOptions& options,
                                          const protocol::JoinRequest& request);

}  // namespace gcoord::client
