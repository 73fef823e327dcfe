// gcoord-gpu-peer SOCKET cuda:N: the process at the other end of a channel under test. Started by
// tests and benchmarks, never by hand.
#include "chaos/gpu/gpu_peer.h"
#include "netcore/device/gpu_device.h"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gcoord-gpu-peer SOCKET cuda:N\n");
    return 2;
  }
  const auto device = gcoord::netcore::parse_gpu_name(argv[2]);
  if (!device.ok()) {
    std::fprintf(stderr, "gcoord-gpu-peer: %s\n", device.status().to_string().c_str());
    return 2;
  }
  return gcoord::chaos::serve_gpu_peer(argv[1], device.value());
}
