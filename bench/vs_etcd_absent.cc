// In place of vs_etcd.cc where the gRPC library that drives etcd was not found.
#include "bench/vs_etcd.h"

namespace gcoord::bench {

BenchResult bench_vs_etcd(const BenchOptions&) {
  return Status{StatusCode::FailedPrecondition,
                "this gcoord-bench was built without gRPC; `./gcoord bench vs-etcd` installs "
                "libgrpc++-dev and protobuf-compiler-grpc and builds it with them"};
}

}  // namespace gcoord::bench
