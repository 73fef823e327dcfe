// One node's part in an election in a cluster: what a node needs beside the pure step (step.h)
// where nodes fail, come back as another life, lose messages and elect in different ways.
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
// No sockets, no clock: time is a parameter, messages are structs, and what follows goes to an
// ElectorOutput in order. A message that cannot be is dropped and counted. With kNoMethod nothing
// is ever sent but the word that it is so. Memory: some bytes per node. One thread.
#pragma once

#include "common/ids.h"
#include "membership/coordinator/step.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::coordinator {

// The method of a node that elects nobody. Those of later releases have numbers of their own.
inline constexpr Method kNoMethod{0};

// What nodes say. Never renumber: it travels. The first three are the step's MessageKind.
enum class Word : std::uint8_t {
  Election = 1,
  Answer = 2,
  Coordinator = 3,
  Method = 4,  // Your message was of another method than mine, which this one names.
};

struct ElectorMessage {
  Method method = kNoMethod;
  Word word = Word::Method;
  std::uint8_t hops = 1;  // Nodes that sent it on its way, the first one too.
  NodeId subject;         // Who stands, answers or has won; of Method who says so.
};

struct ElectorOptions {
  NodeId node;
  // All that take part, this one too, until set_nodes(); at most kNodesMax.
  std::vector<NodeId> nodes;
  Method method = kNoMethod;
  std::uint32_t tick_ms = 10;
  // The patience of the papers, after which who does not answer counts as failed; and the time
  // after which a coordinator says again that it is.
  std::uint64_t election_ticks = 100;
};

// What is known of a peer at a moment.
struct ElectorPeer {
  NodeId node;
  Incarnation life;
  bool live = false;
  bool understands = false;  // It is known to run a release that knows these messages.
};

// Counts of this life of the node.
struct ElectorCounts {
  // Sent, by what for: questions and ranks, answers, announcements of who has won, those that only
  // say it again, and words to nodes of another method.
  enum Sent : std::size_t { kElection, kAnswer, kCoordinator, kAgain, kMethod, kSentKinds };

  std::uint64_t elections = 0;  // In which this node stood,
  std::uint64_t won = 0;        // and of them those that it won.
  std::uint64_t changes = 0;    // Another coordinator than the one before.
  std::uint64_t sent[kSentKinds]{};
  std::uint64_t dropped = 0;       // Messages that cannot be.
  std::uint64_t other_method = 0;  // Messages of another method, dropped too.
};

// What an Elector wants done, in the order in which it says so.
class ElectorOutput {
 public:
  ElectorOutput() = default;
  virtual ~ElectorOutput() = default;
  ElectorOutput(const ElectorOutput&) = delete;
  ElectorOutput& operator=(const ElectorOutput&) = delete;

  virtual void send(NodeId to, const ElectorMessage& message) = 0;
  // Another coordinator than the last one that was told of, once for each; never none.
  virtual void on_new_coordinator(NodeId node) = 0;
};

class Elector {
 public:
  // Silence of a coordinator after which it is doubted, in patiences: three of its words are lost.
  static constexpr std::uint64_t kSilencePatiences = 4;
  // A node that has just started waits so long for somebody to say who the coordinator is. Nodes
  // say about once a second what they understand (server/peers/node_features.h).
  static constexpr std::uint64_t kFirstWaitMs = 2000;
  // Between samples of the peers: a tenth of the time after which they count as silent by default.
  static constexpr std::uint64_t kSampleMs = 100;

  // `output` outlives this.
  Elector(ElectorOptions options, ElectorOutput& output);

  // Who takes part from now on; at most kNodesMax. Without this node among them, it elects nobody
  // and knows of none. What is known of the others stays; an election that is under way begins
  // anew, by the node that misses a coordinator first.
  void set_nodes(std::span<const NodeId> nodes);

  // Once per tick. Ticks only grow; they may begin anywhere. Whether on_peers() is to follow.
  bool on_tick(Tick now);
  void on_peers(std::span<const ElectorPeer> peers, Tick now);

  // kTickNever where nobody is elected.
  Tick next_deadline() const { return elects() ? next_sample_ : kTickNever; }

  // The loop stood still: who was not heard meanwhile is not to blame.
  void on_loop_gap(std::uint64_t ticks) { doubt_at_ = doubt_at_ + ticks; }

  void on_message(NodeId from, const ElectorMessage& message, Tick now);

  // A message of which nothing could be read.
  void on_bad_message() { ++counts_.dropped; }

  // The elected coordinator, if it is this node, or another that lives and was heard lately; else
  // 0, and whoever depends on it finds its own way. Always 0 with kNoMethod.
  NodeId coordinator() const;

  // The coordinator that the step knows, whether it is heard or not; 0: none.
  NodeId last_known() const;

  const ElectorCounts& counts() const { return counts_; }

  // Nodes that are known to elect otherwise.
  std::vector<std::pair<NodeId, Method>> others() const;

 private:
  struct Place {
    NodeId node;
    Incarnation life;
    bool live = false;
    bool understands = false;
    std::optional<Method> other;  // It elects otherwise.
    Tick told;                    // When it was told that it does.
  };

  bool elects() const { return options_.method != kNoMethod && member_; }

  static bool elects_otherwise(const Place& place) { return place.other.has_value(); }

  static bool takes_part(const Place& place) {
    return place.live && place.understands && !place.other.has_value();
  }

  std::optional<std::uint8_t> place_of(NodeId node) const;
  void make_row();
  void advance(Tick now);
  void weigh(std::uint8_t place, Tick now);
  void doubt(Tick now);
  void say_again(Tick now);
  void on_other_method(std::uint8_t place, const ElectorMessage& message, Tick now);
  bool plausible(std::uint8_t from, std::uint8_t subject, const ElectorMessage& message) const;
  void drain(const NodeRow& before, const Outbox& out, std::uint8_t hops, Tick now);
  void settle(const NodeRow& before, bool stood);
  void send(std::uint8_t to, const ElectorMessage& message, ElectorCounts::Sent what);

  ElectorOptions options_;
  ElectorOutput& output_;
  std::vector<Place> places_;  // By rising number of the node, which is the rank.
  NodeRow row_;
  bool started_ = false;
  Tick now_;
  Tick next_sample_;
  Tick next_word_;      // When a coordinator says again that it is.
  Tick doubt_at_;       // When a node that has heard of none stands.
  NodeId settled_;      // The coordinator that was told of last.
  bool member_ = true;  // This node takes part.
  ElectorCounts counts_;
};

}  // namespace gcoord::coordinator
