// Readmission of a replica whose node has lost the storage behind its promises.
//
// A promise lives as long as what keeps it: in memory mode the process that gave it, in durable
// mode the data directory (docs/adr/0025). A replica of a later life is `forgetful`
// (kRowForgetful): it follows and receives the log, but neither votes nor campaigns,
// and says in every acknowledgement that it counts in no quorum. It must not count as the voter
// that the configuration still calls it: that one may have voted in a term that nobody here knows
// of. So it is removed and added again, as Raft replaces a server (thesis, chapter 4):
//   1. the leader appends a configuration in which it is a learner, after it has heard of its life
//      (kProgressAnchored; readmission_plan.h proposes it, the owner of the row hands it in);
//   2. once that is decided and the replica holds it, the leader says so (Readmit). What makes the
//      replica a voter behind that point is meant for this life, so it believes configurations
//      again and is forgetful no more;
//   3. it is brought up to date like any learner and made a voter by another configuration.
// What the leader knew of an earlier life, its match index above all, ends with that life. Lives
// are told apart by the incarnations in the liveness records (life_of), never by time. Nothing
// needs to survive a leader but the configuration: the next one begins at 1 or 3, as it finds.
// docs/adr/0015 has the argument. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/step/follow.h"
#include "consensus/step/lead.h"

namespace gcoord::consensus {

// Leader: whether a peer that forgot may be told that configurations speak of its present life. It
// has to have spoken since it was last heard anew: in durable mode a life outlives restarts, and
// what it said before one, that it knows the commit index, may be more than its storage knows.
template <typename Row>
GCOORD_HD inline bool readmission_due(const Row& r, std::uint32_t slot) {
  if constexpr (Row::kIsPlain) {
    return false;  // kPlainProgress
  } else {
    constexpr std::uint8_t kBoth = kProgressForgetful | kProgressAnchored;
    const Progress& progress = r.progress(slot);
    const Found<PeerLiveness> peer = peer_at(r, slot);
    const LogIndex anchor = r.log().configuration_pending;
    return peer.found() && acknowledged(r, slot, *peer) && (progress.flags & kBoth) == kBoth &&
           anchor <= r.log().applied && progress.match >= anchor &&
           (progress.flags & kProgressKnowsCommit) != 0;
  }
}

// Leader: what the earlier life of a peer had is gone; its new life starts with nothing.
template <typename Row>
GCOORD_HD inline void void_old_lives(const Row& r) {
  for_each_peer(r, [&r](std::uint32_t slot, const PeerLiveness& peer) {
    const bool known = (r.progress(slot).match.value != 0) |
                       ((r.progress(slot).flags & (kProgressForgetful | kProgressAnchored)) != 0);
    if ((known & !of_present_life(r, slot, peer)) && !r.leaves_steady()) {
      reset_progress(r, slot);
    }
  });
}

// A life before which nobody promised anything has forgotten nothing. The leader, if there is one
// already, is told that this replica counts from now on.
template <typename Row>
GCOORD_HD inline void remember_first_life(const Row& r) {
  if (r.input.first_life == 0 || r.input.tick < r.input.vote_after) {
    return;
  }
  Hot& hot = r.hot();
  hot.flags = static_cast<std::uint8_t>(hot.flags & ~kRowForgetful);
  if (hot.leader.value != 0) {
    hot.flags = static_cast<std::uint8_t>(hot.flags | kRowAppendReply);
  }
}

// At the beginning of every step while lives_can_end(), and of every step of a forgetful row.
template <typename Row>
GCOORD_HD inline void note_lives(const Row& r) {
  if (r.is_leader()) {
    void_old_lives(r);
  } else if (is_forgetful(r)) {
    remember_first_life(r);
  }
}

// The leader says that a configuration without our vote was appended in this life of ours. With it
// applied here, configurations may be believed again.
template <typename Row>
GCOORD_HD inline void on_readmit(const Row& r, const Message& m) {
  const bool meant =
      lives_can_end(r.input) && m.context == r.input.incarnation.value && m.index.value != 0;
  if (!meant) {
    ++r.out.dropped;
    return;
  }
  if (!follow(r, m) || m.index > r.log().applied) {
    return;  // Said again until it can be believed.
  }
  r.hot().flags = static_cast<std::uint8_t>((r.hot().flags | kRowAppendReply) & ~kRowForgetful);
  r.election().resigned_term = Term{};  // What it said while it remembered nothing ends with that.
}

}  // namespace gcoord::consensus
