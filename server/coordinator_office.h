// One node's part in electing a coordinator by bully or ring: what drives the pure step of
// consensus/coordinator/step.h with the node's clock, its peers' liveness and messages.
//
//   liveness of peers -> who is suspected, who is back  |
//   time              -> patience, doubt                | -> step -> messages to peers
//   messages of peers -> checked, by place              |
//
// The step knows nodes that know each other and messages that arrive. What a cluster is beyond that
// is seen to here. The coordinator says again and again that it is, so what was lost is made up
// for and two coordinators meet; one who is not heard for kSilencePatiences is doubted and a new
// one elected. What travels around a ring is dropped after as many hops as there are nodes, since
// the one who would have taken it out may have failed. A node of a release that does not know the
// messages is never sent one and has no part; neither has one whose operator chose another method,
// which is told so and shown.
//
// Cut off from each other, two halves have a coordinator each, until they meet: whatever is done as
// coordinator() says must be harmless when it is done twice, or by nobody (docs/adr/0058).
//
// Time is a parameter. Messages come from outside: those that cannot be are dropped and counted.
// With CoordinatorMethod::Raft nothing is ever sent but the word that it is so. Memory: some bytes
// per node. One thread.
#pragma once

#include "common/ids.h"
#include "common/metrics.h"
#include "consensus/coordinator/step.h"
#include "server/coordinator_message.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

struct CoordinatorOfficeOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // All of the cluster, this one too; at most coordinator::kNodesMax.
  CoordinatorMethod method = CoordinatorMethod::Raft;
  std::uint32_t tick_ms = 10;
  // The patience of the papers, after which who does not answer counts as failed; and the time
  // after which a coordinator says again that it is.
  std::uint64_t election_ticks = 100;
};

// What is known of a peer at a moment.
struct CoordinatorPeer {
  NodeId node;
  Incarnation life;
  bool live = false;
  bool understands = false;  // It is known to run a release that knows these messages.
};

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

class CoordinatorOffice {
 public:
  struct Doors {
    std::function<std::vector<CoordinatorPeer>()> peers;  // Asked some ten times a second.
    std::function<void(NodeId, std::span<const std::byte>)> send;
  };

  // Silence of a coordinator after which it is doubted, in patiences: three of its words are lost.
  static constexpr std::uint64_t kSilencePatiences = 4;
  // A node that has just started waits so long for somebody to say who the coordinator is. Nodes
  // say about once a second what they understand (node_features.h).
  static constexpr std::uint64_t kFirstWaitMs = 2000;
  // Between looks at the peers: a tenth of the time after which they count as silent by default.
  static constexpr std::uint64_t kLookMs = 100;

  CoordinatorOffice(const CoordinatorOfficeOptions& options, MetricsRegistry& metrics, Doors doors);

  // Who is told of a new coordinator, once for each; never of "none".
  void set_change_sink(std::function<void(NodeId)> sink) { change_sink_ = std::move(sink); }

  // Once per tick. Ticks only grow; they may begin anywhere.
  void on_tick(Tick now);
  // kTickNever with CoordinatorMethod::Raft.
  Tick next_deadline() const;

  // The loop stood still: who was not heard meanwhile is not to blame.
  void on_loop_gap(std::uint64_t ticks) { doubt_at_ = doubt_at_ + ticks; }

  // Whether the message is one of this office at all.
  static bool is_ours(std::span<const std::byte> message);
  void on_message(NodeId from, std::span<const std::byte> message, Tick now);

  // The elected coordinator, if it is this node, or another that lives and was heard lately; else
  // 0, and whoever depends on it finds its own way. Always 0 with CoordinatorMethod::Raft.
  NodeId coordinator() const;

  CoordinatorView view() const;

 private:
  struct Place {
    NodeId node;
    Incarnation life;
    bool live = false;
    bool understands = false;
    std::optional<CoordinatorMethod> other;  // It elects otherwise.
    Tick told;                               // When it was told that it does.
  };

  enum class Sent : std::uint8_t { Election, Answer, Coordinator, Again, Method };
  static constexpr std::size_t kSentKinds = 5;

  bool elects() const { return options_.method != CoordinatorMethod::Raft; }

  static bool elects_otherwise(const Place& place) { return place.other.has_value(); }

  static bool takes_part(const Place& place) {
    return place.live && place.understands && !place.other.has_value();
  }

  std::optional<std::uint8_t> place_of(NodeId node) const;
  void register_metrics(MetricsRegistry& metrics);
  void look(Tick now);
  void advance(Tick now);
  void weigh(std::uint8_t place, Tick now);
  void doubt(Tick now);
  void say_again(Tick now);
  void on_other_method(std::uint8_t place, const CoordinatorMessage& message, Tick now);
  bool plausible(std::uint8_t from, std::uint8_t subject, const CoordinatorMessage& message) const;
  void carry_out(const coordinator::NodeRow& before,
                 const coordinator::Outbox& out,
                 std::uint8_t hops,
                 Tick now);
  void settle(const coordinator::NodeRow& before, bool stood);
  void send(std::uint8_t to, const CoordinatorMessage& message, Sent what);

  CoordinatorOfficeOptions options_;
  Doors doors_;
  std::function<void(NodeId)> change_sink_;
  std::vector<Place> places_;  // By rising number of the node, which is the rank.
  coordinator::NodeRow row_;
  bool started_ = false;
  Tick now_;
  Tick next_look_;
  Tick next_word_;  // When a coordinator says again that it is.
  Tick doubt_at_;   // When a node that has heard of none stands.
  std::uint8_t settled_ = coordinator::kNoCoordinator;  // The coordinator that was told of last.
  std::array<Counter*, kSentKinds> sent_{};
  Counter* elections_ = nullptr;
  Counter* won_ = nullptr;
  Counter* changes_ = nullptr;
  Counter* dropped_ = nullptr;
  Counter* other_method_ = nullptr;
  Gauge* node_ = nullptr;
};

}  // namespace gcoord::server
