// Nodes that elect a coordinator, over a network and a clock of the test: messages take a tick and
// may be lost, nodes fail and start again, cuts come and go.
#pragma once

#include "common/random.h"
#include "server/peers/coordinator_driver.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::server {

// Times as by default: a tick is 10 ms, an election timeout 100 ticks. Nodes are 10, 20 and so on:
// numbers are no places.
class CoordinatorWorld {
 public:
  static constexpr std::uint64_t kElectionTicks = 100;

  CoordinatorWorld(std::uint32_t count, CoordinatorMethod method, std::uint64_t seed = 1)
      : seed_(seed) {
    for (std::uint32_t place = 0; place < count; ++place) {
      nodes_.push_back({.id = NodeId{10 * (place + 1)}, .method = method});
      nodes_.back().heard.resize(count);
      ids_.push_back(nodes_.back().id);
    }
    for (std::uint32_t place = 0; place < count; ++place) {
      start(place);
    }
  }

  // A life of the node begins; `method` is its operator's.
  void start(std::uint32_t place) {
    Node& node = nodes_[place];
    ++node.life;
    node.heard.assign(nodes_.size(), Tick{});
    node.metrics = std::make_unique<MetricsRegistry>();
    node.office = std::make_unique<CoordinatorDriver>(
        CoordinatorDriverOptions{.node = node.id,
                                 .nodes = ids_,
                                 .method = node.method,
                                 .election_ticks = kElectionTicks},
        *node.metrics,
        CoordinatorDriver::Environment{
            .peers = [this, place] { return peers_of(place); },
            .send =
                [this, place](NodeId to, std::span<const std::byte> message) {
                  ++sent_;
                  under_way_.push_back({place, place_of(to), {message.begin(), message.end()}});
                }});
    node.office->set_change_sink([&node](NodeId told) { node.told.push_back(told); });
  }

  void fail(std::uint32_t place) { nodes_[place].office.reset(); }

  void set_method(std::uint32_t place, CoordinatorMethod method) { nodes_[place].method = method; }

  // A release of before, which neither sends nor knows such messages.
  void set_old(std::uint32_t place) { nodes_[place].old = true; }

  // Messages and heartbeats pass between nodes of one side only; a bit by place. 0: between all.
  void cut(std::uint64_t side) { side_ = side; }

  // Of messages on the way, so many in a hundred. Heartbeats are said so often that they arrive.
  void lose(std::uint32_t percent) { lost_percent_ = percent; }

  // Which messages are lost besides.
  void set_filter(std::function<bool(std::uint32_t from, std::uint32_t to)> lost) {
    filter_ = std::move(lost);
  }

  void run(std::uint64_t ticks) {
    for (std::uint64_t k = 0; k < ticks; ++k) {
      now_ = now_ + 1;
      hear();
      deliver();
      for (Node& node : nodes_) {
        if (node.office && !node.old) {
          node.office->on_tick(now_);
        }
      }
    }
  }

  void run_seconds(std::uint64_t seconds) { run(100 * seconds); }

  CoordinatorDriver& office(std::uint32_t place) { return *nodes_[place].office; }

  std::uint32_t coordinator(std::uint32_t place) {
    return nodes_[place].office->coordinator().value;
  }

  // The one whom all that live follow; 0 when they do not agree.
  std::uint32_t agreed() {
    std::uint32_t found = 0;
    for (std::uint32_t place = 0; place < nodes_.size(); ++place) {
      if (!nodes_[place].office) {
        continue;
      }
      const std::uint32_t own = coordinator(place);
      if (own == 0 || (found != 0 && own != found)) {
        return 0;
      }
      found = own;
    }
    return found;
  }

  // All that the nodes that live have sent to elect, without what is only said again.
  std::uint64_t spent() {
    std::uint64_t sum = 0;
    for (const Node& node : nodes_) {
      if (node.office) {
        const CoordinatorView view = node.office->view();
        sum += view.sent_election + view.sent_answer + view.sent_coordinator;
      }
    }
    return sum;
  }

  const std::vector<NodeId>& told(std::uint32_t place) const { return nodes_[place].told; }

  NodeId id(std::uint32_t place) const { return ids_[place]; }

  std::uint64_t sent() const { return sent_; }

  // Messages that reached the node of the place, whatever it made of them.
  std::uint64_t received(std::uint32_t place) const { return nodes_[place].received; }

  Tick now() const { return now_; }

 private:
  struct Node {
    NodeId id;
    CoordinatorMethod method = CoordinatorMethod::Raft;
    bool old = false;
    std::uint32_t life = 0;
    std::uint64_t received = 0;
    std::vector<Tick> heard;  // By place: the newest heartbeat.
    std::vector<NodeId> told;
    std::unique_ptr<MetricsRegistry> metrics;
    std::unique_ptr<CoordinatorDriver> office;  // None: the node is down.
  };

  struct Flying {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<std::byte> bytes;
  };

  bool connected(std::uint32_t a, std::uint32_t b) const {
    return nodes_[a].office && nodes_[b].office && (side_ >> a & 1) == (side_ >> b & 1);
  }

  std::uint32_t place_of(NodeId node) const { return node.value / 10 - 1; }

  void hear() {
    for (std::uint32_t a = 0; a < nodes_.size(); ++a) {
      for (std::uint32_t b = 0; b < nodes_.size(); ++b) {
        if (a != b && connected(a, b)) {
          nodes_[a].heard[b] = now_;
        }
      }
    }
  }

  void deliver() {
    std::vector<Flying> arriving;
    arriving.swap(under_way_);
    for (const Flying& each : arriving) {
      const bool lost = random64(seed_, ++drawn_, 0) % 100 < lost_percent_ ||
                        (filter_ && filter_(each.from, each.to));
      if (!lost && connected(each.from, each.to)) {
        ++nodes_[each.to].received;
        if (!nodes_[each.to].old) {
          nodes_[each.to].office->on_message(nodes_[each.from].id, each.bytes, now_);
        }
      }
    }
  }

  std::vector<CoordinatorPeer> peers_of(std::uint32_t place) const {
    std::vector<CoordinatorPeer> peers;
    for (std::uint32_t other = 0; other < nodes_.size(); ++other) {
      if (other == place) {
        continue;
      }
      const Node& node = nodes_[other];
      const Tick heard = nodes_[place].heard[other];
      const bool ever = heard.value != 0;
      const bool live = ever && now_ < heard + kElectionTicks;
      peers.push_back({node.id, Incarnation{ever ? node.life : 0}, live, ever && !node.old});
    }
    return peers;
  }

  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t lost_percent_ = 0;
  std::uint64_t side_ = 0;
  Tick now_{5'000};
  std::vector<NodeId> ids_;
  std::vector<Node> nodes_;
  std::vector<Flying> under_way_;
  std::function<bool(std::uint32_t, std::uint32_t)> filter_;
};

}  // namespace gcoord::server
