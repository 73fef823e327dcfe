// Whole peer networks for tests: a sink that remembers, options that agree, and loops that run
// networks until something holds, on a clock of their own or over real sockets.
#pragma once

#include "netcore/peers/network.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {

struct MemorySink final : Sink {
  void on_frame(NodeId from,
                Band band,
                std::span<const Slot> slots,
                const PayloadView& payloads) override {
    frames.push_back({from, band, slots.size()});
    slot_count += slots.size();
    last_slot = slots.back();
    for (const PayloadExtent extent : payloads) {
      payload_bytes += extent.bytes.size();
      at_payload(from, band, extent.bytes);
    }
    at_frame(from);
  }

  void on_heartbeat(NodeId from, const Heartbeat& heartbeat) override {
    heartbeats.push_back({from, heartbeat});
  }

  void on_peer_up(NodeId peer, Incarnation /*incarnation*/, std::uint32_t epoch) override {
    ++live;
    ups.push_back({peer, epoch});
  }

  void on_peer_down(NodeId peer, std::string_view reason) override {
    --live;
    downs.push_back({peer, std::string{reason}});
    at_down(peer);
  }

  void on_refused(NodeId /*peer*/, const Refusal& said) override {
    refusal = said.code;
    refusal_text = said.text;
    refusal_known = said.known;
    refusal_is_proven = said.is_proven;
  }

  struct Frame {
    NodeId from;
    Band band;
    std::size_t slot_count;
  };

  // Called in the midst of what the network does.
  std::function<void(NodeId)> at_frame = [](NodeId) {};
  std::function<void(NodeId, Band, std::span<const std::byte>)> at_payload =
      [](NodeId, Band, std::span<const std::byte>) {};
  std::function<void(NodeId)> at_down = [](NodeId) {};

  std::vector<Frame> frames;
  std::size_t slot_count = 0;
  std::size_t payload_bytes = 0;
  Slot last_slot{};
  std::vector<std::pair<NodeId, Heartbeat>> heartbeats;
  std::vector<std::pair<NodeId, std::uint32_t>> ups;
  std::vector<std::pair<NodeId, std::string>> downs;
  int live = 0;  // Channels that are up.
  RefusalCode refusal = RefusalCode::None;
  std::string refusal_text;
  Incarnation refusal_known;
  bool refusal_is_proven = false;
};

// One node of a test world.
struct TestNode {
  std::unique_ptr<PeerNetwork> network;
  MemorySink sink;
};

inline PeerNetworkOptions node_options(std::uint32_t id, std::vector<PeerAddress> peers) {
  PeerNetworkOptions options;
  options.cluster = ClusterId{42};
  options.node = NodeId{id};
  options.incarnation = Incarnation{1};
  options.directory = DirectoryId{id * 1000};
  options.listen_host = "127.0.0.1";
  options.peers = std::move(peers);
  return options;
}

inline std::unique_ptr<PeerNetwork> must_create(PeerNetworkOptions options) {
  Result<std::unique_ptr<PeerNetwork>> network = PeerNetwork::create(std::move(options));
  EXPECT_TRUE(network.ok()) << network.status().to_string();
  return network.ok() ? std::move(network).value() : nullptr;
}

// Runs nodes on a logical clock, one millisecond a round, until `done`; false after
// round_count_max.
inline bool run_rounds(std::uint64_t& now_ms,
                       const std::vector<TestNode*>& nodes,
                       const std::function<bool()>& done,
                       int round_count_max = 20'000) {
  for (int round = 0; round < round_count_max; ++round) {
    for (TestNode* node : nodes) {
      if (node->network != nullptr) {
        node->network->progress(now_ms, node->sink);
      }
    }
    if (done()) {
      return true;
    }
    ++now_ms;
  }
  return false;
}

inline std::uint64_t wall_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

// Runs nodes over real sockets, asleep on their event fds in between, until `done`; false after
// a time that only a hang can take.
inline bool run_awake(const std::vector<TestNode*>& nodes, const std::function<bool()>& done) {
  constexpr std::uint64_t kLimitMs = 60'000;
  for (const std::uint64_t start = wall_ms(); wall_ms() - start < kLimitMs;) {
    std::vector<pollfd> fds;
    bool may_sleep = true;
    std::uint64_t deadline = wall_ms() + 100;
    for (TestNode* node : nodes) {
      node->network->progress(wall_ms(), node->sink);
      may_sleep = node->network->arm() && may_sleep;
      deadline = std::min(deadline, node->network->next_deadline_ms());
      fds.push_back({node->network->event_fd(), POLLIN, 0});
    }
    if (done()) {
      return true;
    }
    const std::uint64_t now = wall_ms();
    const int pause_ms = may_sleep && deadline > now ? static_cast<int>(deadline - now) : 0;
    ::poll(fds.data(), fds.size(), pause_ms);
  }
  return false;
}

}  // namespace gcoord::netcore
