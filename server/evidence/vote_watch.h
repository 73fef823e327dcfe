// Watch over votes: signs the votes that this node grants, keeps the signed votes that it gets, and
// finds nodes that vote twice in one term (docs/adr/0153).
//
//   voter      signs what it grants in a turn, once per candidate
//   candidate  keeps the newest signed votes of each shard (vote_table.h), unjudged
//   both       a node that holds votes of a term, and meets another candidate or leader of that
//              shard and term, shows them to it; that one compares them with its own
//
// Signatures are checked only when two votes contradict each other. What is proven is stored
// (store.h), counted once and logged; nothing else follows from it: no vote is taken back
// and no node stops. Peers are not trusted: what they send is bounded, dropped and counted. Until
// start() it does nothing. One thread, the engine's; a proven double vote waits for the disk.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "ledger/notes/note_key.h"
#include "server/budget/token_bucket.h"
#include "server/evidence/message.h"
#include "server/evidence/metrics.h"
#include "server/evidence/store.h"
#include "server/evidence/vote_table.h"
#include "server/interfaces/vote_observer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

class VoteWatch final : public VoteObserver {
 public:
  struct Options {
    ClusterId cluster;
    NodeId node;
    std::uint32_t shard_count = 0;
    std::string data_directory;
  };

  // All outlive it.
  struct Environment {
    const ledger::NoteSigner* signer = nullptr;  // nullptr: this node signs nothing.
    // The key that the ledger has for a node.
    std::function<std::optional<ledger::NotePublicKey>(NodeId)> key_of;
    std::function<bool(NodeId)> takes_statements;  // Whether the node has Feature::VoteSignatures.
    std::function<bool(NodeId, std::span<const std::byte>)> send;  // As send_peer_message().
    std::function<std::uint64_t()> now_ms;
    Incarnation life;  // This one of the node.
  };

  VoteWatch(Options options, MetricsRegistry& metrics);

  // Reads the evidence that is there. What cannot be read is logged; nothing fails.
  void start(Environment environment);

  // VoteObserver.
  void on_granted(NodeId candidate, std::span<const VoteGrant> grants) override;
  void on_candidate(const VoteGrant& of, NodeId candidate) override;
  void on_leader(const VoteGrant& of, NodeId leader) override;
  void on_peer_up(NodeId peer, Incarnation life) override;
  bool on_peer_message(NodeId from, std::span<const std::byte> message) override;

  // What this node has evidence of.
  const std::vector<DoubleVote>& list() const { return store_.list(); }

 private:
  bool started() const { return environment_.send != nullptr; }

  bool is_sound(NodeId from, const VoteMessage& message) const;
  void take_granted(const VoteMessage& message);
  void take_shown(NodeId from, const VoteMessage& message);
  void meet(const VoteGrant& of, NodeId rival);
  void show(VoteTable::Number number, NodeId rival);
  std::optional<VoteGrant> find_double(const VoteStatement& theirs) const;
  void judge(const VoteMessage& theirs, const VoteGrant& of);
  void store(const VoteEvidence& evidence);
  bool may_judge(NodeId from);

  Options options_;
  Environment environment_;
  EvidenceMetrics metrics_;
  VoteTable table_;
  EvidenceStore store_;
  std::map<NodeId, Incarnation> lives_;  // Of nodes whose links came up.
  std::map<NodeId, TokenBucket> judged_;
  TokenBucket shown_;
};

}  // namespace gcoord::server
