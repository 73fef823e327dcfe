// Admission of a node without a data directory to a cluster: --join and --join-token.
//
// It asks the cluster as a client does, makes its directory of the answer, and then starts from
// that as ever. With --tls-ca it asks over TLS and believes that authority alone; it shows the
// certificate of --tls-cert. A process that dies in between asks again and is the same node.
// Blocks; one thread.
#pragma once

#include "common/status.h"
#include "server/options/options.h"

namespace gcoord {

// Ok at once where the options name no cluster to join, and where the directory has joined with
// this very token before, which is logged. Failures: what the cluster refuses, or that it cannot be
// reached; ClusterForeign for another cluster than the options name; ViewSettingsDiffer for an
// option that its view contradicts; kDirectoryNode for a directory that holds another node's data;
// JoinTlsNeeded where the cluster speaks TLS and nobody gave
// --tls-ca; JoinCertificate for --peer-tls with another node's certificate; addresses that no other
// node could use; the disk's.
Status join_if_new(const server::Invocation& invocation);

}  // namespace gcoord
