#include "server/members/member_moves.h"

#include "server/peers/members_target.h"

#include <algorithm>

namespace gcoord::server {

namespace {

// Whether the view of an epoch, and every one since, wants of the shards what the newest one does.
// What was settled by an older one may have been moved away from that and back.
class SameTargets {
 public:
  explicit SameTargets(const membership::ViewCpu& views)
      : views_(views), oldest_(views.view().epoch) {}

  // Looks no further back than to the epoch: nodes mostly speak of the newest one, and an earlier
  // view is made anew of the changes that led to it.
  bool as_newest(std::uint64_t epoch) {
    while (oldest_ > epoch && before_wants_the_same()) {
      --oldest_;
    }
    return epoch >= oldest_ && epoch <= views_.view().epoch;
  }

 private:
  bool before_wants_the_same() const {
    const auto before = views_.at(oldest_ - 1);
    return before && members_targets(*before) == members_targets(views_.view());
  }

  const membership::ViewCpu& views_;
  std::uint64_t oldest_;
};

// Whether both want every shard at the same nodes, with the same votes; who leads does not count.
bool want_same_nodes(const consensus::MembersTarget& a, const consensus::MembersTarget& b) {
  constexpr auto kOfNodes =
      static_cast<std::uint8_t>(consensus::kTargetVoter | consensus::kTargetWitness);
  bool same = a.count == b.count;
  for (std::uint32_t k = 0; same && k < a.count; ++k) {
    same = a.node[k].node == b.node[k].node && a.node[k].weight == b.node[k].weight &&
           (a.node[k].flags & kOfNodes) == (b.node[k].flags & kOfNodes);
  }
  return same;
}

}  // namespace

std::vector<NodeId> live_nodes(const NodeView& node) {
  std::vector<NodeId> live = {node.node};
  for (const NodePeerView& peer : node.peers) {
    if (peer.live) {
      live.push_back(peer.link.id);
    }
  }
  std::ranges::sort(live);
  return live;
}

protocol::MemberMoves moves_of(const ReplicatedLog& log,
                               const ViewMachine& machine,
                               const ViewKeeper& keeper) {
  const membership::ClusterView& view = machine.views().view();
  const NodeView node = log.view();
  protocol::MemberMoves moves{.epoch = view.epoch, .shards = view.settings.shards};
  SameTargets same(machine.views());
  std::optional<std::uint64_t> settled_sum = 0;
  const auto add = [&](const membership::ShardProgress& said) {
    if (same.as_newest(said.epoch)) {
      moves.led += said.led;
      moves.settled += said.settled;
      moves.ready += said.ready;
      settled_sum = settled_sum && said.settled_sum
                        ? std::optional(*settled_sum + *said.settled_sum)
                        : std::nullopt;
    }
  };
  const MembersProgress own = log.members_progress();
  add({.epoch = own.epoch,
       .led = own.led,
       .settled = own.settled,
       .ready = own.ready,
       .settled_sum = own.settled_sum});
  for (const NodeId peer : live_nodes(node)) {
    const auto said = peer == node.node ? std::nullopt : keeper.progress_of(peer);
    if (said) {
      add(*said);
    }
  }
  // As many as there are, but not these: one was counted twice, and another one not at all.
  const bool others = settled_sum && own.all_sum != 0 && *settled_sum != own.all_sum;
  if (moves.settled == moves.shards && others) {
    --moves.settled;
  }
  return moves;
}

protocol::MemberMoves moves_to(protocol::MemberMoves now,
                               const protocol::ClusterView& newest,
                               const protocol::ClusterView& wanted) {
  if (!want_same_nodes(members_targets(newest).shards, members_targets(wanted).shards)) {
    now.settled = now.ready = 0;
  }
  now.epoch = wanted.epoch;
  return now;
}

std::uint32_t led_by(NodeId node, const ReplicatedLog& log, const ViewKeeper& keeper) {
  const NodeView own = log.view();
  if (node == own.node) {
    return own.leader_count;
  }
  const auto said = keeper.progress_of(node);
  return said ? said->led : 0;
}

}  // namespace gcoord::server
