// The secret of the cluster on its way to a node that joins: sealed under a key that is derived
// from the join token (RFC 5869), so that nobody but who has the token reads it.
//
// The token itself comes over the client protocol: a join is as private as that connection is
// (docs/how-to/cluster_secret.md). Pure but for the nonce; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/members/join_messages.h"
#include "security/secret/cluster_secret.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gcoord::server {

struct JoinedNode {
  ClusterId cluster;
  NodeId node;
};

// For the node that joins with the token.
std::vector<std::byte> seal_join_secret(const security::ClusterSecret& secret,
                                        const protocol::JoinToken& token,
                                        const JoinedNode& joined);

// Writes what the answer has sealed to `data_dir`, in place of what an earlier answer brought.
// Does nothing if it has nothing. GC3127 if it was not sealed under this token, GC3122 if it is no
// secret, the disk's failures.
Status keep_join_secret(const protocol::JoinAnswer& answer,
                        const protocol::JoinToken& token,
                        const std::string& data_dir);

}  // namespace gcoord::server
