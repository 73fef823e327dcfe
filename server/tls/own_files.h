// Check of the files that a node is to speak TLS by, before it does.
//
// OpenSSL loads a certificate whatever its dates are and whomever it names; a node with such a one
// would shut everybody out. The same holds for a revocation list whose time is over. Pure but for
// the files that check_own_files() reads; any thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "security/tls/context.h"
#include "security/tls/source.h"
#include "server/tls/choices.h"

#include <cstdint>
#include <functional>

namespace gcoord::server {

// Whom the certificate may name. Cluster 0: names are not checked.
struct OwnNode {
  ClusterId cluster;
  NodeId node;
  ClusterId former;  // Whose place the cluster took: its certificates are good until new ones come.
};

// The rules of a moment for the files of a node.
struct OwnRules {
  OwnNode own;
  bool must_name = false;  // Links between nodes have TLS: the certificate has to name the node.
  std::int64_t now_s = 0;
};

// GC1214, GC1215: the certificate has expired or is not valid yet. GC1217: it names another node, a
// node of another cluster, or a user; or nobody although it must. GC3138: a revocation list has
// expired, or is not valid yet.
Status judge_own_files(const security::TlsFacts& facts,
                       const security::TlsFiles& files,
                       const OwnRules& rules);

// Whether any kind of port has TLS by these choices; else their files are of no use.
bool uses_tls(const TlsChoices& choices);

using WallClock = std::function<std::int64_t()>;  // Seconds since 1970.

// The same as judge of a source.
security::TlsSource::Judge own_judge(std::function<OwnRules()> rules);

// Loads the files of these choices and judges them, for --check-config. Ok where there are none,
// and where no port has TLS. Also GC1230 to GC1234.
Status check_own_files(const TlsChoices& choices, OwnRules rules);

// Seconds since 1970 by the system's clock.
std::int64_t wall_seconds();

}  // namespace gcoord::server
