// The links between the nodes of a scenario, every one in both directions by itself.
//
// A link lets messages pass, loses them (cut) or keeps those of chosen kinds until they are told
// to go on (held). Heartbeats have their own path, as in the product: one word per direction that
// the newest heartbeat overwrites, lost where the link is cut or muted. Order is kept unless it is
// disturbed on purpose. Nodes are numbered from 1. Host only.
#pragma once

#include "common/ids.h"
#include "consensus/scenario/entry.h"
#include "consensus/step/message.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::consensus::scenario {

// A message with what travels beside it.
struct Packet {
  Message message;
  std::vector<Entry> entries;                // Append.
  std::shared_ptr<const Snapshot> snapshot;  // Snapshot.
};

// One bit per message kind.
using KindMask = std::uint32_t;

inline constexpr KindMask kAllKinds = ~KindMask{0};

constexpr KindMask kind_bit(MessageKind kind) {
  return KindMask{1} << (static_cast<std::uint32_t>(kind) & 31u);
}

enum class SendFate : std::uint8_t { Passed, Held, Cut };

struct Link {
  bool cut = false;
  bool muted = false;  // Loses heartbeats only.
  KindMask held_kinds = 0;
  std::deque<Packet> passing;  // On the way to the receiver's next turn.
  std::deque<Packet> held;     // Oldest first.
  std::optional<Heartbeat> heartbeat;
};

class LinkNetwork {
 public:
  explicit LinkNetwork(std::uint32_t node_count);

  std::uint32_t node_count() const { return node_count_; }

  // Asserts that both are nodes of the cluster and differ.
  Link& link(NodeId from, NodeId to);

  // Cuts both directions between two nodes.
  void cut_both(NodeId one, NodeId other);

  // Cuts every link between nodes of different sides and heals those within a side.
  void partition(const std::vector<std::vector<NodeId>>& sides);

  void heal_all();

  // Puts a message on its link; the answer says what became of it.
  SendFate send(Packet packet);

  // The next message for a node, taking senders in turn; nothing if none is passing.
  std::optional<Packet> take(NodeId to);

  // Lets the oldest held messages of these kinds go on, at most `count`; returns how many did.
  std::uint32_t deliver(NodeId from, NodeId to, KindMask kinds, std::uint32_t count);

  // The same, but loses them.
  std::uint32_t drop(NodeId from, NodeId to, KindMask kinds, std::uint32_t count);

  // Doubles every held message of these kinds.
  void duplicate(NodeId from, NodeId to, KindMask kinds);

  // Turns the order of the held messages around.
  void reverse(NodeId from, NodeId to);

  void send_heartbeat(NodeId from, NodeId to, const Heartbeat& heartbeat);
  std::optional<Heartbeat> take_heartbeat(NodeId from, NodeId to);

  // Forgets what is on the way to a node whose process ended.
  void forget_passing(NodeId to);

 private:
  std::uint32_t node_count_;
  std::vector<Link> links_;
  std::uint32_t turn_ = 0;  // Whom `take` asks first.
};

}  // namespace gcoord::consensus::scenario
