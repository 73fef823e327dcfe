// Nodes with detectors and a network between them, in simulated milliseconds.
#pragma once

#include "common/random.h"
#include "membership/detector/detector.h"
#include "membership/detector/marks.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace gcoord::membership {

inline constexpr ClusterId kCluster{77};

class SimulatedNodes {
 public:
  explicit SimulatedNodes(std::uint32_t count, std::uint64_t seed = 1, double loss = 0.0)
      : count_(count), seed_(seed), loss_(loss) {
    for (std::uint32_t id = 1; id <= count; ++id) {
      nodes_.push_back(made(id, 1));
    }
  }

  // Everything of it is lost from now on, but its host lives and refuses.
  void kill(std::uint32_t id) {
    dead_.insert(id);
    for (std::uint32_t other = 1; other <= count_; ++other) {
      at(other).on_channel_ended(NodeId{id}, now_ms);
    }
  }

  // Its host is gone: nothing answers.
  void power_off(std::uint32_t id) { off_.insert(id); }

  void power_on(std::uint32_t id) { off_.erase(id); }

  // It does nothing, and its kernel keeps what comes.
  void stop(std::uint32_t id) { stopped_.insert(id); }

  void go_on(std::uint32_t id) { stopped_.erase(id); }

  void start_again(std::uint32_t id, std::uint32_t incarnation) {
    dead_.erase(id);
    nodes_[id - 1] = made(id, incarnation);
  }

  // Nothing goes from one to the other any more.
  void cut(std::uint32_t from, std::uint32_t to) { cuts_.emplace(from, to); }

  void run(std::uint64_t ms) {
    for (const std::uint64_t end = now_ms + ms; now_ms < end; ++now_ms) {
      if (now_ms % 100 == 0 && heartbeats) {
        beat();
      }
      deliver();
      for (std::uint32_t id = 1; id <= count_; ++id) {
        if (runs(id)) {
          step(id);
        }
      }
    }
  }

  // Runs until `done`, at most so long; how long it took.
  std::uint64_t run_until(const std::function<bool()>& done, std::uint64_t ms_max) {
    const std::uint64_t begin = now_ms;
    while (!done() && now_ms - begin < ms_max) {
      run(1);
    }
    return now_ms - begin;
  }

  Detector& at(std::uint32_t id) { return *nodes_[id - 1]; }

  NodeSight sight(std::uint32_t by, std::uint32_t of) {
    for (const NodeSight& each : at(by).sights(now_ms)) {
      if (each.node == NodeId{of}) {
        return each;
      }
    }
    return {};
  }

  Verdict verdict(std::uint32_t by, std::uint32_t of) { return sight(by, of).verdict; }

  // How often any node that runs came to suspect another one.
  std::uint64_t suspicions() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) {
      sum += node->counts().suspicions;
    }
    return sum;
  }

  std::uint64_t now_ms = 1000;
  bool heartbeats = true;
  std::uint64_t datagrams = 0;

 private:
  struct Flight {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    DetectorMessage message;
  };

  std::unique_ptr<Detector> made(std::uint32_t id, std::uint32_t incarnation) {
    auto detector = std::make_unique<Detector>(DetectorOptions{
        .self = NodeId{id}, .incarnation = Incarnation{incarnation}, .seed = seed_});
    std::vector<WatchedNode> others;
    for (std::uint32_t other = 1; other <= count_; ++other) {
      others.push_back({NodeId{other}, "h" + std::to_string((other + 1) / 2)});
    }
    detector->set_nodes(others, now_ms);
    detector->set_socket(true);
    detector->set_decider(NodeId{1});
    incarnations_[id] = incarnation;
    return detector;
  }

  bool runs(std::uint32_t id) const {
    return !dead_.contains(id) && !off_.contains(id) && !stopped_.contains(id);
  }

  bool passes(std::uint32_t from, std::uint32_t to) {
    const double drawn = static_cast<double>(random64(seed_, 99, ++draws_) >> 11) * 0x1.0p-53;
    return !cuts_.contains({from, to}) && !off_.contains(from) && !off_.contains(to) &&
           drawn >= loss_;
  }

  // Heartbeats are of channels, which make up for loss by repeating: a lost one is late.
  void beat() {
    for (std::uint32_t from = 1; from <= count_; ++from) {
      for (std::uint32_t to = 1; to <= count_; ++to) {
        if (from != to && runs(from) && runs(to) && passes(from, to) &&
            !cuts_.contains({to, from})) {
          at(to).on_heartbeat(NodeId{from}, Incarnation{incarnations_[from]}, now_ms);
        }
      }
    }
  }

  // What was sent in the last millisecond arrives.
  void deliver() {
    for (Flight& flight : std::exchange(flights_, {})) {
      if (!passes(flight.from, flight.to)) {
        continue;
      }
      if (dead_.contains(flight.to)) {
        if (passes(flight.to, flight.from) && runs(flight.from)) {
          at(flight.from).on_refused(NodeId{flight.to}, now_ms);
        }
      } else if (stopped_.contains(flight.to)) {
        flights_.push_back(std::move(flight));
      } else {
        const DecodedMessage decoded =
            decode_message(encode_message(flight.message, kCluster), kCluster, NodeId{flight.to});
        if (decoded.fault == MessageFault::None) {
          at(flight.to).on_message(decoded.message, now_ms);
        }
      }
    }
  }

  void step(std::uint32_t id) {
    at(id).advance(now_ms);
    for (DetectorMessage& message : at(id).take_outgoing()) {
      const std::uint32_t to = message.to.value;
      flights_.push_back({id, to, std::move(message)});
      ++datagrams;
    }
  }

  std::uint32_t count_;
  std::uint64_t seed_;
  double loss_;
  std::uint64_t draws_ = 0;
  std::vector<std::unique_ptr<Detector>> nodes_;
  std::map<std::uint32_t, std::uint32_t> incarnations_;
  std::set<std::uint32_t> dead_;
  std::set<std::uint32_t> off_;
  std::set<std::uint32_t> stopped_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::vector<Flight> flights_;
};

}  // namespace gcoord::membership
