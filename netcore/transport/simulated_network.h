// A seeded network of opaque messages on a logical clock: loss, delay, repetition, reordering and
// one-way partitions, bit-exactly replayable.
//
// Every decision about a message is a pure function of (seed, from, to, number of the message on
// that link); so the fate of a message on one link does not depend on traffic elsewhere. Messages
// that are due are taken out in order of (due tick, order of sending), which is total. No threads,
// no clock: the driver says what tick it is. The chaos room drives whole clusters over this class
// directly; transport_simulated.h puts links on top of it.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::netcore {

// Chances are per million messages. Delays are inclusive; a spread of delays is what reorders.
struct SimulatedLinkOptions {
  std::uint32_t loss_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t corrupt_ppm = 0;  // One bit of the message, after its first 64 bytes, flips.
  std::uint32_t delay_ticks_min = 1;
  std::uint32_t delay_ticks_max = 1;
};

struct SimulatedCounts {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;  // By chance.
  std::uint64_t cut = 0;   // By a partition, at sending or at arrival.
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t reordered = 0;  // Overtook an earlier one of the same link.
};

class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(std::uint64_t seed, SimulatedLinkOptions defaults = {});

  // The network's own clock; only grows. Messages due at or before it are taken by `take_due`.
  Tick now() const { return now_; }

  void advance_to(Tick now);

  // Faults. A cut is one-way and also swallows what is under way when it would arrive.
  // Options of one direction override the defaults; they count for messages sent from now on.
  void set_link(NodeId from, NodeId to, SimulatedLinkOptions options);
  void set_defaults(SimulatedLinkOptions options);
  void cut(NodeId from, NodeId to);
  // Undoes one cut; what it swallowed stays lost.
  void heal(NodeId from, NodeId to);
  void heal_all();
  bool is_cut(NodeId from, NodeId to) const;
  // Drops all that is under way to or from a node: its process died.
  void forget(NodeId node);

  // Copies the message and decides its fate.
  void send(NodeId from, NodeId to, std::span<const std::byte> message);

  // Takes out every message that is due, in replayable order. The callback may send, which is due
  // in a later tick at the earliest when delay_ticks_min > 0, and otherwise in this same call.
  using Deliver = std::function<void(NodeId from, NodeId to, std::span<const std::byte> message)>;
  void take_due(const Deliver& deliver);
  // The same for one receiver only.
  void take_due(NodeId to, const Deliver& deliver);

  // When the next message is due; kTickNever if nothing is under way.
  Tick next_due() const;
  // The same for one receiver only.
  Tick next_due(NodeId to) const;

  // sent + duplicated == delivered + lost + cut + what is under way, unless a node was forgotten.
  const SimulatedCounts& counts() const { return counts_; }

  // A digest of every delivery so far (tick, link, bytes): equal for equal runs.
  std::uint64_t delivery_hash() const { return delivery_hash_; }

 private:
  using LinkKey = std::pair<std::uint32_t, std::uint32_t>;

  // One copy under way; a repeated message is two of them.
  struct Message {
    NodeId from;
    NodeId to;
    std::vector<std::byte> bytes;
  };

  // (due tick, order of sending): the total order of deliveries.
  using DueKey = std::pair<std::uint64_t, std::uint64_t>;

  const SimulatedLinkOptions& options_of(LinkKey link) const;
  void schedule(NodeId from, NodeId to, std::span<const std::byte> bytes, std::uint64_t delay);
  using Queue = std::map<DueKey, Message>;

  void deliver_one(Queue& queue, const Deliver& deliver);

  std::uint64_t seed_;
  SimulatedLinkOptions defaults_;
  std::map<LinkKey, SimulatedLinkOptions> links_;
  std::set<LinkKey> cuts_;
  std::map<LinkKey, std::uint64_t> sent_on_link_;     // The number that names the next message.
  std::map<std::uint32_t, Queue> under_way_;          // By receiver.
  std::map<LinkKey, std::uint64_t> delivered_order_;  // The newest that arrived.
  std::uint64_t next_order_ = 0;
  Tick now_;
  SimulatedCounts counts_;
  std::uint64_t delivery_hash_ = 0;
};

}  // namespace gcoord::netcore
