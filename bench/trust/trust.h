// Benchmarks of trust: TLS against none, and credentials beside etcd's, in one run on one machine.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// Parts: pairs (lock pairs with TLS on all ports against none), handshakes (full ones per second,
// with client certificates, beside etcd) and closing (from open to closed under load).
BenchResult bench_tls(const BenchOptions& options);

// Parts: password (logins per second beside etcd's), reconnect (10,000 clients after a failover)
// and rotation (every certificate and secret under load).
BenchResult bench_auth(const BenchOptions& options);

}  // namespace gcoord::bench
