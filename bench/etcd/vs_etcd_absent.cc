// In place of vs_etcd.cc where the gRPC library that drives etcd was not found.
#include "bench/etcd/vs_etcd.h"

namespace gcoord::bench {

namespace {

BenchResult absent() {
  return Status{StatusCode::FailedPrecondition,
                "this gcoord-bench was built without gRPC; `./gcoord bench vs-etcd` installs "
                "libgrpc++-dev and protobuf-compiler-grpc and builds it with them"};
}

}  // namespace

BenchResult bench_vs_etcd(const BenchOptions&) {
  return absent();
}

BenchResult bench_etcd_leases(const BenchOptions&) {
  return absent();
}

}  // namespace gcoord::bench
