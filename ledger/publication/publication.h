// The publication of a node: how the shards' heads get into the cluster log, and how the nodes come
// to vouch for it.
//
//   publisher: heads of changed shards -> pages to all -> a majority agrees -> entries in shard 0
//   every node: entry applied -> its leaves, each compared with the own tree -> {size, root}
//   durable -> signature to all -> majority: published
//
// Who gets shard 0 by a snapshot asks the others for the leaves in between, with a proof.
//
// The leader of shard 0 is the publisher; the log of shard 0 orders the rounds
// (publication_entry.h), so it does not matter if two believe to be it. A node signs only a log
// whose every head it has compared with its own trees, as far as they reach back. Whose own root
// differs from an ordered head is in the minority (publication_round.h): it names the entry
// (history_hunt.h), signs nothing more, and hands the shard over to be quarantined and repaired.
//
// A machine without clocks, threads and disks: it is told the time and what happened, and does what
// it does through PublicationPort. Work of one call is bounded; a call of advance() by the time
// next_due_ms() says keeps it going. Messages come from outside: what does not fit is dropped and
// counted. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/keep_policy.h"
#include "ledger/heads/head_review.h"
#include "ledger/heads/signed_leaves.h"
#include "ledger/merkle/hash.h"
#include "ledger/publication/announced_keys.h"
#include "ledger/publication/cluster_log_copy.h"
#include "ledger/publication/head_audit.h"
#include "ledger/publication/history_quarantine.h"
#include "ledger/publication/log_keeping.h"
#include "ledger/publication/log_signing.h"
#include "ledger/publication/publication_base.h"
#include "ledger/publication/round_publisher.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

struct PublicationView {
  std::uint64_t round = 0;         // The last one that is ordered.
  std::uint64_t ordered_size = 0;  // Of the cluster log.
  std::uint64_t size = 0;          // Of what this node has of it.
  std::uint64_t signed_size = 0;   // 0: this node has not signed since it started.
  std::uint64_t published_size = 0;
  // Of what is published: its root, who vouches for it, and when this node heard of it (of
  // advance()); 0: nothing since it started.
  ledger::MerkleHash published_root{};
  std::vector<NodeId> signers;
  std::uint64_t published_ms = 0;
  std::uint64_t first = 0;  // Leaves below it are pruned here.
  bool publisher = false;
  RoundDuration slowest;  // Of the rounds that this node published since it started.
  Status refusal;         // Why this node does not sign.
};

class Publication {
 public:
  // The longest time from one call of advance() to the next while something is under way.
  static constexpr std::uint64_t kStepMs = 20;

  // The port outlives it.
  Publication(PublicationOptions options, PublicationPort& port, MetricsRegistry& metrics);
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;

  // Once, before anything else: reads the newest leaves that this node keeps.
  Status start();

  // A shard has that many decided entries, of which the last is not a publication entry.
  void touch(ShardId shard, std::uint64_t size, std::uint64_t now_ms);

  // Entries of shard 0 that were taken, in their order; on_state() follows.
  void on_round(const RoundEntry& round);

  // The state after the entries of shard 0 so far.
  void on_state(const PublicationState& state);

  // Who takes part from now on; a round that is under way ends with those that it began with.
  void on_members(PublicationMembers members);

  // Whether this node leads shard 0.
  void on_role(bool publisher);

  // An entry that was proposed will not be applied: what is not ordered is proposed again, a little
  // later.
  void on_proposal_lost() { publisher_.on_proposal_lost(); }

  // Bytes whose first one is kPublicationKind.
  void on_message(NodeId from, std::span<const std::byte> bytes, std::uint64_t now_ms);

  // now_ms only grows and is above 0.
  void advance(std::uint64_t now_ms);

  // Lets go of leaves that neither the policy nor `below` keeps, and that are not needed; how many.
  // A failure is the port's, and final.
  Result<std::uint64_t> prune(const ledger::KeepPolicy& keep, std::uint64_t below) {
    return keeping_.prune({keep, below}, signing_.published().size);
  }

  // When to call advance() again, at the latest.
  std::uint64_t next_due_ms() const { return due_ms_; }

  // How long news of sizes may lie before touch() hears of them, where the next call of advance()
  // is due in due_in_ms; beyond that by a moment at most.
  std::uint64_t sizes_wait_ms(std::uint64_t due_in_ms) const;

  PublicationView view() const;

  PublishedHead head(ShardId shard) const { return base_.heads.at(shard); }

  // Of what a majority has signed; for any thread.
  std::shared_ptr<const PublishedSizes> published_sizes() const { return base_.heads.sizes(); }

 private:
  // False: the message is dropped.
  bool take(NodeId from, PublicationMessage& message);
  bool follow_signed();
  void answer_pages();
  void repeat();
  std::uint64_t next_wait_ms(bool more) const;

  PublicationBase base_;
  HistoryQuarantine quarantine_;
  HeadReview review_;  // Of the pages of other publishers.
  HeadAudit audit_;
  LogSigning signing_;
  ClusterLogCopy copy_;
  SignedLeaves signed_leaves_;
  LogKeeping keeping_;
  AnnouncedKeys keys_;
  RoundPublisher publisher_;
  std::uint64_t repeat_ms_ = 0;
  std::uint64_t due_ms_ = 0;
};

}  // namespace gcoord::server
