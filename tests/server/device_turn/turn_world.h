// Nodes in one process whose turns run on the host, turned one after the other in any order: three,
// or as many as the shape has voters.
#pragma once

#include "chaos/device_turn/turn_cluster.h"
#include "common/random.h"
#include "server/device_turn/turn.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

namespace gcoord::server {

using chaos::HostNode;
using chaos::NodeCounts;
using chaos::TurnCluster;
using chaos::TurnClusterOptions;

inline constexpr std::uint64_t kTickNs = 1000;  // Of a clock that the test moves.

inline TurnClusterOptions small_cluster(std::uint64_t seed, std::uint32_t voters = kTurnNodes) {
  TurnClusterOptions options;
  options.shape = {.shard_count = 61,
                   .stripe_count = 3,
                   .log_slots = 64,
                   .entries_max = 16,
                   .wide_count = 64,
                   .voters = voters};
  options.timing.tick_ns = kTickNs;
  options.timing.limits = {.window_entries = 16, .uncommitted_entries = 16, .message_entries = 16};
  options.seed = seed;
  return options;
}

// Nodes of one kind and a clock that moves by a tenth of a tick with every turn of a node.
template <typename Node>
struct BasicWorld {
  explicit BasicWorld(const TurnClusterOptions& options) {
    auto made = chaos::make_host_turn_cluster(options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    cluster = std::move(made).value();
    start();
  }

  ~BasicWorld() { stop(); }

  // Turns living nodes, a node at a time, in an order that follows from the seed.
  void turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      now_ns += kTickNs * step_tenths / 10;
      const std::uint64_t word = random64(cluster->options().seed, 7, ++turned);
      const std::uint32_t n = uneven ? pick(word) : static_cast<std::uint32_t>(turned % nodes());
      if (host[n].has_value()) {
        host[n]->turn(now_ns);
      }
    }
  }

  std::uint32_t nodes() const { return cluster->node_count(); }

  // The numbers of all of them.
  std::vector<std::uint32_t> everyone() const {
    std::vector<std::uint32_t> all(nodes());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Of three. Node 2 is turned seldom, so that its rings fill and its peers run out of credit.
  static std::uint32_t pick(std::uint64_t word) {
    const std::uint32_t one = random_below(word, 64);
    return one == 0 ? 2 : one % 2;
  }

  void lose(std::uint32_t n) { host[n].reset(); }

  void start() {
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      host[n].emplace(*cluster, n);
    }
  }

  void stop() {
    for (auto& one : host) {
      one.reset();
    }
  }

  // Lets every word of every node rest in memory, and looks.
  NodeCounts counts(std::uint32_t n) {
    const bool alive = host[n].has_value();
    host[n].reset();
    auto counts = cluster->counts(n);
    EXPECT_TRUE(counts.ok());
    if (alive) {
      host[n].emplace(*cluster, n);
    }
    return counts.value();
  }

  std::uint64_t led() {
    std::uint64_t sum = 0;
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      sum += host[n].has_value() ? counts(n).sum.led : 0;
    }
    return sum;
  }

  std::unique_ptr<TurnCluster> cluster;
  std::optional<Node> host[kTurnNodesMax];
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t turned = 0;
  bool uneven = false;
  std::uint64_t step_tenths = 1;  // Of a tick, that pass with every turn of a node.
};

using World = BasicWorld<HostNode>;

// Replicas that applied as much have the same digest; the commands of the replica that applied
// most.
template <typename Node>
std::uint64_t agreed_commands(BasicWorld<Node>& world, const std::vector<std::uint32_t>& nodes) {
  std::uint64_t sum = 0;
  for (std::uint32_t row = 0; row < world.cluster->options().shape.shard_count; ++row) {
    std::map<std::uint64_t, std::uint64_t> digests;  // By commands applied.
    for (const std::uint32_t n : nodes) {
      const auto& one = world.cluster->node(n).service.rows[row];
      const auto [at, fresh] = digests.try_emplace(one.count, one.digest);
      EXPECT_EQ(at->second, one.digest) << "shard " << row << " node " << n;
    }
    sum += digests.rbegin()->first;
  }
  return sum;
}

template <typename Node>
void expect_equal_everywhere(BasicWorld<Node>& world, const std::vector<std::uint32_t>& nodes) {
  for (std::uint32_t row = 0; row < world.cluster->options().shape.shard_count; ++row) {
    for (const std::uint32_t n : nodes) {
      const auto& first = world.cluster->node(nodes[0]).service.rows[row];
      const auto& one = world.cluster->node(n).service.rows[row];
      EXPECT_EQ(one.count, first.count) << "shard " << row << " node " << n;
      EXPECT_EQ(one.digest, first.digest) << "shard " << row << " node " << n;
    }
  }
}

// `dropped`: messages that may be, because a node that is slow finds more of them than an inbox
// holds.
template <typename Node>
void expect_nothing_lost(BasicWorld<Node>& world, std::uint64_t dropped = 0) {
  for (std::uint32_t n = 0; n < world.nodes(); ++n) {
    const NodeCounts counts = world.counts(n);
    EXPECT_EQ(counts.sum.unsent, 0u);
    EXPECT_LE(counts.sum.dropped, dropped) << "node " << n;
    EXPECT_EQ(*world.cluster->node(n).table.exhausted, 0u);
  }
}

}  // namespace gcoord::server
