// Peer networks of one process over loopback links, on a clock of the test.
#pragma once

#include "netcore/transport/transport_loopback.h"
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/network_world.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gcoord::netcore {

// Nodes 1..count in one process; node i listens at port i of the fabric.
struct LoopbackWorld {
  explicit LoopbackWorld(std::uint32_t count) : nodes(count) {
    for (std::uint32_t id = 1; id <= count; ++id) {
      start(options(id));
    }
  }

  PeerNetworkOptions options(std::uint32_t id) {
    std::vector<PeerAddress> peers;
    for (std::uint32_t peer = 1; peer <= nodes.size(); ++peer) {
      if (peer != id) {
        peers.push_back({NodeId{peer}, "fabric", static_cast<std::uint16_t>(peer)});
      }
    }
    PeerNetworkOptions result = node_options(id, peers);
    result.listen_host = "fabric";
    result.listen_port = static_cast<std::uint16_t>(id);
    return result;
  }

  void start(PeerNetworkOptions result) {
    TestNode& node = nodes[result.node.value - 1];
    node.network.reset();
    result.transport = fabric.endpoint();
    node.network = must_create(std::move(result));
  }

  bool run(const std::function<bool()>& done, int round_count_max = 20'000) {
    std::vector<TestNode*> all;
    for (TestNode& node : nodes) {
      all.push_back(&node);
    }
    return run_rounds(now_ms, all, done, round_count_max);
  }

  bool up(std::uint32_t id, std::uint32_t peer) {
    return nodes[id - 1].network->is_up(NodeId{peer});
  }

  bool all_up() {
    for (const TestNode& node : nodes) {
      if (node.network == nullptr || node.sink.live != static_cast<int>(nodes.size()) - 1) {
        return false;
      }
    }
    return true;
  }

  LoopbackFabric fabric;
  std::vector<TestNode> nodes;
  std::uint64_t now_ms = 1;
};

inline std::vector<Slot> slots(std::size_t count) {
  return std::vector<Slot>(count, sample_slot(4));
}

}  // namespace gcoord::netcore
