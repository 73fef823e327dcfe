// Observer of votes: it hears of the votes that an engine sends, and of other candidates and
// leaders.
//
// The engine on the host calls it in its turn, by its one thread; it must not block, and decides
// nothing: whatever it does with a vote, the vote counts or does not count as before. What a peer
// sends is checked by the observer.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

// A vote of one shard's replica in one term.
struct VoteGrant {
  ShardId shard;
  Term term;

  friend bool operator==(const VoteGrant&, const VoteGrant&) = default;
};

class VoteObserver {
 public:
  virtual ~VoteObserver() = default;

  // Votes that leave for the candidate in this turn, together. No pre-votes.
  virtual void on_granted(NodeId candidate, std::span<const VoteGrant> grants) = 0;

  // Another node campaigns in that term.
  virtual void on_candidate(const VoteGrant& of, NodeId candidate) = 0;

  // Another node leads in that term. Called for every Append, so it is cheap where this node was
  // not voted for in that term.
  virtual void on_leader(const VoteGrant& of, NodeId leader) = 0;

  // The link to the node is up, and proven as far as links are: this is its present life.
  virtual void on_peer_up(NodeId peer, Incarnation life) = 0;

  // True: the message was for the observer, and nobody else sees it.
  virtual bool on_peer_message(NodeId from, std::span<const std::byte> message) = 0;
};

}  // namespace gcoord::server
