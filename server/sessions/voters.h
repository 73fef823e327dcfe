// Voters whose silence ends a session: whom a leader asks, and when they are a majority.
//
// The majority is one of the voters of the newest view that this node has, and one of the voters of
// each earlier view that somebody may still go by (ClusterMembers::earlier_voters). Once those need
// not be counted any more, they are for one TTL of the session more: a client may have counted a
// renewal by them until then. Where lists of that time have more than kNodesMax nodes, those let go
// first lack bits, so that sessions for which they count end later, never earlier. Before view 1
// the voters are the fixed list. Why no session that is renewed can end: docs/adr/0111. A node has
// the same bit for as long as it is known. One thread.
#pragma once

#include "common/ids.h"
#include "server/interfaces/cluster_members.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class ExpiryVoters {
 public:
  // Nodes that have a bit at a time.
  static constexpr std::size_t kNodesMax = 64;

  // nodes: the fixed list, with this node; at most kNodesMax. ttl_ticks_max: of any session.
  ExpiryVoters(NodeId self, const std::vector<NodeId>& nodes, std::uint64_t ttl_ticks_max);

  // Members of an earlier epoch than was given before change nothing. False: bits stand for other
  // nodes than before, so what was collected by them is void.
  bool set_members(const ClusterMembers& members, Tick now);

  // Of the newest view; 0: there is none.
  std::uint64_t epoch() const { return epoch_; }

  // 0: its silence counts for nothing.
  std::uint64_t bit_of(NodeId node) const;

  // Whether these nodes, by their bits, are the majority that a session of this TTL needs to end.
  bool is_majority(std::uint64_t silent, std::uint64_t ttl_ticks, Tick now) const;

  // Whom to ask: the voters that there are processes of, without this node.
  std::span<const NodeId> others() const { return others_; }

  // Whether nobody else need be asked by the newest view.
  bool alone() const { return others_.empty(); }

 private:
  struct Voters {
    std::vector<NodeId> nodes;
    std::uint64_t bits = 0;
    bool newest = false;         // Of the newest view.
    std::optional<Tick> let_go;  // Since when nobody goes by them; none: somebody may.
  };

  void let_go(Tick now);
  void add(std::vector<NodeId> nodes);
  void forget_lists(Tick now);
  // At most kNodesMax.
  std::vector<NodeId> most_wanted() const;
  // Whether no bit stands for another node than before.
  bool give_bits();

  NodeId self_;
  std::uint64_t ttl_ticks_max_;
  std::uint64_t epoch_ = 0;
  // Each once; for the longest TTL after they were let go.
  std::vector<Voters> lists_;
  std::vector<NodeId> bits_;    // By place.
  std::vector<NodeId> others_;  // Ascending.
};

}  // namespace gcoord::server
