// The driver of a node's part in electing a coordinator by bully or ring: the pure elector
// (membership/coordinator/elector.h) with this node's peers, messages and metrics.
//
// Messages come from outside: those that cannot be are dropped and counted. With
// CoordinatorMethod::Raft nothing is ever sent but the word that it is so. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "membership/coordinator/elector.h"
#include "server/peers/coordinator_message.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

struct CoordinatorDriverOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // All of the cluster, this one too; at most coordinator::kNodesMax.
  CoordinatorMethod method = CoordinatorMethod::Raft;
  std::uint32_t tick_ms = 10;
  // The patience of the papers, after which who does not answer counts as failed; and the time
  // after which a coordinator says again that it is.
  std::uint64_t election_ticks = 100;
};

using CoordinatorPeer = coordinator::ElectorPeer;

// For operators. Counts are of this life of the node.
struct CoordinatorView {
  CoordinatorMethod method = CoordinatorMethod::Raft;
  NodeId coordinator;           // 0: none known, or an election is under way.
  std::uint64_t elections = 0;  // In which this node stood,
  std::uint64_t won = 0;        // and of them those that it won.
  std::uint64_t changes = 0;    // Another coordinator than the one before.
  // Sent, by what for: questions and ranks, answers, announcements of who has won, and those that
  // only say it again.
  std::uint64_t sent_election = 0;
  std::uint64_t sent_answer = 0;
  std::uint64_t sent_coordinator = 0;
  std::uint64_t sent_again = 0;
  std::uint64_t dropped = 0;       // Messages that cannot be.
  std::uint64_t other_method = 0;  // Messages of another method, dropped too.
  // Nodes that are known to elect otherwise.
  std::vector<std::pair<NodeId, CoordinatorMethod>> others;
};

class CoordinatorDriver final : private coordinator::ElectorOutput {
 public:
  struct Environment {
    std::function<std::vector<CoordinatorPeer>()> peers;  // Asked some ten times a second.
    std::function<void(NodeId, std::span<const std::byte>)> send;
  };

  static constexpr std::uint64_t kSilencePatiences = coordinator::Elector::kSilencePatiences;
  static constexpr std::uint64_t kFirstWaitMs = coordinator::Elector::kFirstWaitMs;

  CoordinatorDriver(const CoordinatorDriverOptions& options,
                    MetricsRegistry& metrics,
                    Environment environment);

  // Who is told of a new coordinator, once for each; never of "none".
  void set_change_sink(std::function<void(NodeId)> sink) { change_sink_ = std::move(sink); }

  // As Elector::set_nodes.
  void set_nodes(std::span<const NodeId> nodes);

  // Once per tick. Ticks only grow; they may begin anywhere.
  void on_tick(Tick now);

  // kTickNever with CoordinatorMethod::Raft.
  Tick next_deadline() const { return elector_.next_deadline(); }

  // The loop stood still: who was not heard meanwhile is not to blame.
  void on_loop_gap(std::uint64_t ticks) { elector_.on_loop_gap(ticks); }

  // Whether the message is about the coordinator at all.
  static bool is_ours(std::span<const std::byte> message);
  void on_message(NodeId from, std::span<const std::byte> message, Tick now);

  // As Elector::coordinator(). Always 0 with CoordinatorMethod::Raft.
  NodeId coordinator() const { return elector_.coordinator(); }

  CoordinatorView view() const;

 private:
  static constexpr std::size_t kSentKinds = coordinator::ElectorCounts::kSentKinds;

  void send(NodeId to, const coordinator::ElectorMessage& message) override;
  void on_new_coordinator(NodeId node) override;
  void register_metrics(MetricsRegistry& metrics);
  void count_up();

  CoordinatorMethod method_;
  Environment environment_;
  std::function<void(NodeId)> change_sink_;
  coordinator::Elector elector_;
  coordinator::ElectorCounts counted_;  // As the metrics say it.
  std::array<Counter*, kSentKinds> sent_{};
  Counter* elections_ = nullptr;
  Counter* won_ = nullptr;
  Counter* changes_ = nullptr;
  Counter* dropped_ = nullptr;
  Counter* other_method_ = nullptr;
  Gauge* node_ = nullptr;
};

}  // namespace gcoord::server
