// Node liveness: what one node knows of each other node, in place of heartbeats per shard
// (docs/internals/architecture.md).
//
// Once per heartbeat interval each node sends every peer one Heartbeat that also echoes the newest
// one it heard. Both directions matter, to different rules:
//   heard       lets a follower on this node trust that its leader's node is alive ("I refuse votes
//   until heard + T"); acked_send  lets a leader on this node trust that the peer has that trust in
//   us, counted from our *send* tick, which
//               is never later than the moment at which the peer heard us.
// A leader may count an acknowledgement of a peer only while the peer's trust never lapsed since
// the peer acknowledged the shard: a gap of T in between frees the peer to vote for somebody else
// without this node noticing it. `session` numbers the gapless stretches (of one incarnation); rows
// remember the session in which a peer acknowledged them, so a lapse voids all of them at once
// without touching a row (docs/adr/0004). Ticks are local; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/incarnation.h"
#include "consensus/step/message.h"

#include <cstdint>

namespace gcoord::consensus {

// Cluster-wide timing, in ticks. All nodes must agree on election_ticks: it is the length of the
// promise.
struct Timing {
  std::uint32_t election_ticks = 100;     // T: how long a follower trusts a silent leader.
  std::uint32_t resend_ticks = 10;        // After how long an unanswered message is sent again.
  std::uint32_t stagger_ticks = 4;        // Distance between the campaigns of neighbouring ranks.
  std::uint32_t lease_margin_ticks = 10;  // Clock drift within T that leases are safe against.
  // How far apart voters find the same node silent, where ticks are shorter than that: after so
  // many a refused pre-vote is sent again (step_row.h, retry_campaign). 0: ticks are longer, and it
  // is not.
  std::uint32_t retry_ticks = 0;
};

struct PeerLiveness {
  NodeId node;
  Incarnation incarnation;    // The newest start heard of; 0: none yet.
  std::uint32_t session = 0;  // Number of the present gapless stretch; 0: never acknowledged.
  std::uint32_t credit = 0;   // Messages that the channel to this peer takes now.
  Tick heard;                 // Local tick at which the newest heartbeat of this life came in.
  Tick acked_send;            // Our newest send tick that the peer echoed in this session.
  Tick peer_tick;             // The peer's own clock in its newest heartbeat.
  Tick session_base;  // Our send tick with which the session began: older echoes are not of it.
  // Both directions are fresh; changes only in `refresh` and `on_heartbeat`.
  std::uint8_t live = 0;
  // What keeps the node's promises, so what a life of it is. 0: its directory. 1: its memory, so
  // that every start is a new life. The owner sets it once, as the durability of the cluster says.
  std::uint8_t lives_by_start = 0;
  std::uint8_t witness = 0;  // 1: the node votes and never leads, as the view says.
  std::uint8_t reserved[1]{};
  std::uint32_t life_session = 0;  // The session with which the present life began.
};

static_assert(sizeof(PeerLiveness) == 56);

// What the rest of the node must do about a peer.
enum class LivenessChange : std::uint8_t {
  None = 0,
  Returned = 1,  // Wake every row that has this peer as a member.
  Lost = 2,      // The same.
};

// The life that an incarnation belongs to: it rises when what kept the promises of the node is
// gone.
GCOORD_HD inline std::uint32_t life_of(const PeerLiveness& peer, Incarnation incarnation) {
  return peer.lives_by_start != 0 ? incarnation.value : generation_of(incarnation);
}

GCOORD_HD inline bool heard_within(const PeerLiveness& peer, Tick now, std::uint32_t ticks) {
  return (peer.incarnation.value != 0) & (now - peer.heard < ticks);
}

// Whether both directions are fresh at `now`.
GCOORD_HD inline bool both_ways_fresh(const PeerLiveness& peer, Tick now, const Timing& timing) {
  return heard_within(peer, now, timing.election_ticks) && peer.acked_send.value != 0 &&
         now - peer.acked_send < timing.election_ticks - timing.lease_margin_ticks;
}

// Takes notice of the time; call once per tick and peer.
GCOORD_HD inline LivenessChange refresh(PeerLiveness& peer, Tick now, const Timing& timing) {
  const bool live = both_ways_fresh(peer, now, timing);
  const bool was_live = peer.live != 0;
  peer.live = live ? 1 : 0;
  if (live == was_live) {
    return LivenessChange::None;
  }
  return live ? LivenessChange::Returned : LivenessChange::Lost;
}

// Starts a stretch in which no shard is acknowledged yet. Only what the peer says after it heard a
// send tick of at least `base` belongs to it: a reply that was delayed over the gap must not count.
GCOORD_HD inline void open_session(PeerLiveness& peer, Tick base) {
  ++peer.session;
  GCOORD_ASSERT(peer.session != 0);
  peer.session_base = base;
}

// Whether an acknowledgement that names `heard`, the newest send tick of ours that the peer had
// heard when it spoke, belongs to the present session.
GCOORD_HD inline bool of_session(const PeerLiveness& peer, Tick heard) {
  return (peer.session != 0) & (heard.value != 0) & (heard >= peer.session_base);
}

// The same without doubt as to the life: what an old life said may name the very tick at which the
// new one was first heard.
GCOORD_HD inline bool of_present_session(const PeerLiveness& peer, Tick heard) {
  return of_session(peer, heard) & (heard > peer.session_base);
}

// Takes in a heartbeat that arrived at `now` on a node of incarnation `self`. Older lives and
// reordered words change nothing. An echo counts only if it names a send of this life that is not
// in the future.
GCOORD_HD inline LivenessChange on_heartbeat(PeerLiveness& peer,
                                             const Heartbeat& heartbeat,
                                             Incarnation self,
                                             Tick now,
                                             const Timing& timing) {
  if (heartbeat.incarnation.value == 0 || heartbeat.incarnation < peer.incarnation) {
    return LivenessChange::None;
  }
  bool fresh_session = false;
  if (heartbeat.incarnation > peer.incarnation) {
    const bool first = peer.incarnation.value == 0;
    const bool same_life =
        !first && life_of(peer, heartbeat.incarnation) == life_of(peer, peer.incarnation);
    peer.incarnation = heartbeat.incarnation;
    peer.peer_tick = heartbeat.send;
    peer.heard = now;
    peer.acked_send = Tick{};
    open_session(peer, now);
    peer.life_session = same_life ? peer.life_session : peer.session;
    fresh_session = true;
  } else if (heartbeat.send > peer.peer_tick) {
    peer.peer_tick = heartbeat.send;
    peer.heard = now;
  }
  const bool echo_valid = heartbeat.echo_incarnation == self && heartbeat.echo <= now &&
                          heartbeat.echo >= peer.session_base && heartbeat.echo.value != 0;
  if (echo_valid && heartbeat.echo > peer.acked_send) {
    // The peer heard the older send no earlier than it was sent and the newer one no later than
    // now.
    const bool first = peer.acked_send.value == 0;
    if (!first && now - peer.acked_send >= timing.election_ticks - timing.lease_margin_ticks) {
      open_session(peer, heartbeat.echo);
      fresh_session = true;
    }
    peer.acked_send = heartbeat.echo;
  }
  const LivenessChange change = refresh(peer, now, timing);
  return fresh_session && peer.live != 0 ? LivenessChange::Returned : change;
}

}  // namespace gcoord::consensus
