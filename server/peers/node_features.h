// Features that every node of the cluster understands, so that a leader proposes nothing else; and
// with them, whether a node has space and takes leaderships.
//
// A follower of an older release would take a command that it does not know for one that changes
// nothing, and its state would go another way. So nodes tell each other their features
// (protocol/hello.h) about once a second, and a leader waits with what a feature is needed for
// until all nodes of the cluster have said that they have it. A node that was not heard counts as
// one that does not; one that was heard counts as long as it is not known to have another life, in
// which an older release may run. Releases that know nothing of this count the message as one that
// did not decode.
//
// That makes an upgrade safe, node by node in any order, not the way back: a release that lacks a
// feature cannot read a log in which it was used (docs/adr/0051). What a peer says is checked in
// form. One thread.
#pragma once

#include "common/ids.h"
#include "protocol/hello.h"
#include "server/interfaces/replicated_log.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Never renumber.
inline constexpr std::byte kNodeFeaturesKind{8};

struct NodeFeaturesOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // All of the cluster, this one too, until set_nodes().
  std::uint32_t tick_ms = 10;
  std::uint64_t features = protocol::kFeatures;  // Of this node.
  std::function<bool()> disk_is_low;             // Of this node, now; empty: never.
  std::function<bool()> drains;                  // Likewise: it gives its leaderships away.
};

// What travels behind the features, for others of this node (membership/view/announcement.h).
// Earlier releases do not look there. At most kNodeWordBytesMax.
struct NodeWords {
  std::function<std::vector<std::byte>()> say;
  // What a node said, in which life; empty: nothing.
  std::function<void(NodeId, Incarnation, std::span<const std::byte>)> hear;
};

inline constexpr std::size_t kNodeWordBytesMax = 2048;

class NodeFeatures {
 public:
  explicit NodeFeatures(const NodeFeaturesOptions& options);

  void set_words(NodeWords words) { words_ = std::move(words); }

  // Before the first tick: which engine, and which life of the node.
  void start(ReplicatedLog& engine, Incarnation incarnation);

  // All nodes of the cluster from now on that there are processes of, this one too or not. A new
  // one counts as one that lacks every feature until it has said what it has.
  void set_nodes(std::span<const NodeId> nodes);

  // Once per tick: says what this node has, and looks at who lives now.
  void on_tick(Tick now);

  // Whether the message is an announcement at all.
  static bool is_ours(std::span<const std::byte> message);

  // False: it did not decode, or comes from no node of the cluster.
  bool on_message(NodeId from, std::span<const std::byte> message);

  // Whether another node has it.
  bool has(NodeId node, protocol::Feature feature) const;

  // Whether another node has said that its disk is low, or that it gives leaderships away; nodes of
  // older releases never do.
  bool disk_is_low(NodeId node) const;
  bool drains(NodeId node) const;

  // Whether all nodes have it, this one too.
  bool all_have(protocol::Feature feature) const {
    return (common_ & static_cast<std::uint64_t>(feature)) != 0;
  }

 private:
  struct Node {
    NodeId id;
    std::uint64_t features = 0;
    Incarnation incarnation;  // The life that said so; 0: none has.
    bool disk_is_low = false;
    bool drains = false;
  };

  void announce();
  void look();

  NodeFeaturesOptions options_;
  NodeWords words_;
  ReplicatedLog* engine_ = nullptr;
  Incarnation incarnation_;
  std::vector<Node> others_;
  std::uint64_t common_ = 0;
  Tick next_;
};

}  // namespace gcoord::server
