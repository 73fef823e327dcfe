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
#include "ledger/notes/cluster_horizon.h"
#include "ledger/publication/entry.h"
#include "ledger/publication/head_review.h"
#include "ledger/publication/history_hunt.h"
#include "ledger/publication/message.h"
#include "ledger/publication/port.h"
#include "ledger/publication/published_heads.h"
#include "ledger/publication/round.h"
#include "ledger/publication/round_times.h"
#include "ledger/publication/signature_set.h"
#include "ledger/publication/stale_heads.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct PublicationOptions {
  NodeId self;
  std::vector<NodeId> nodes;  // All of the cluster, this one too, ascending.
  std::uint32_t shard_count = 0;
  Incarnation incarnation;        // Numbers of batches rise with it.
  LedgerKey key{};                // That this node signs with.
  std::uint64_t signed_size = 0;  // Of the cluster log that this node signed in an earlier life.
  // A round begins at most so often, and right behind a full one. Half of the second within which
  // an entry is to be published is left for the round itself.
  std::uint64_t interval_ms = 250;
  std::size_t round_heads_max = kHeadsPerRoundMax;
  ledger::KeepPolicy keep;         // Of the cluster log, by count and bytes; it has no age.
  std::uint64_t stale_window = 0;  // StaleHeads'; 0: as wide as the shards ask for.
};

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
  // What may have been lost is said again so often.
  static constexpr std::uint64_t kRepeatMs = 500;

  // The port outlives it.
  Publication(PublicationOptions options, PublicationPort& port, MetricsRegistry& metrics);

  // Leaves that are read at start; heads of shards that are not among them are published again.
  static constexpr std::uint64_t kScannedMax = std::uint64_t{4} << 20;
  // Leaves below what was signed that are compared again at start: what has changed on the disk
  // since is found where it is likely to be asked for.
  static constexpr std::uint64_t kComparedAgain = 4096;

  // Once, before anything else: reads the newest leaves that this node keeps.
  Status start();

  // A shard has that many decided entries, of which the last is not a publication entry.
  void touch(ShardId shard, std::uint64_t size, std::uint64_t now_ms);

  // Entries of shard 0 that were taken, in their order; on_state() follows.
  void on_round(const RoundEntry& round);

  // What the entries of shard 0 come to by now.
  void on_state(const PublicationState& state);

  // Whether this node leads shard 0.
  void on_role(bool publisher);

  // An entry that was proposed will not be applied: what is not ordered is proposed again, a little
  // later.
  void on_proposal_lost();

  // Bytes whose first one is kPublicationKind.
  void on_message(NodeId from, std::span<const std::byte> bytes, std::uint64_t now_ms);

  // now_ms only grows and is above 0.
  void advance(std::uint64_t now_ms);

  // Lets go of leaves that neither the policy nor `below` keeps, and that are not needed; how many.
  // A failure is the port's, and final.
  Result<std::uint64_t> prune(const ledger::KeepPolicy& keep, std::uint64_t below);

  // When to call advance() again, at the latest.
  std::uint64_t next_due_ms() const { return due_ms_; }

  PublicationView view() const;

  PublishedHead head(ShardId shard) const { return heads_.at(shard); }

 private:
  struct Counters {
    explicit Counters(MetricsRegistry& registry);

    Counter& dropped;  // Messages.
    Counter& rounds;   // Proposed here.
    Counter& rounds_split;
    Counter& heads_compared;
    Counter& heads_unknown;
    Counter& heads_different;
    Counter& heads_let_go;  // Before they were compared.
    Counter& leaves_fetched;
    Counter& leaves_refused;
    Counter& signatures;
    Counter& signatures_refused;  // Of others, that are not genuine.
    Gauge& size;
    Gauge& published;
    Gauge& signing;
    Gauge& waiting;
    Gauge& first;
    Counter& proposals_lost;
    Counter& proposals_repeated;
  };

  // Messages by kind (publication_messages.cc). False: dropped.
  bool on(NodeId from, PageMessage& message);
  bool on(NodeId from, const VerdictMessage& message);
  bool on(NodeId from, const SignatureMessage& message);
  bool on(NodeId from, const LeavesQuery& message);
  bool on(NodeId from, const LeavesMessage& message);
  bool on(NodeId from, const HashQuery& message);
  bool on(NodeId from, const HashMessage& message);
  bool on(NodeId from, const KeyMessage& message);
  bool on(NodeId from, const AlarmMessage& message);
  bool on(NodeId from, const BeginMessage& message);

  void send(NodeId to, const PublicationMessage& message);
  void send_all(const PublicationMessage& message);

  // publication.cc: every node.
  void answer_pages();
  void catch_up();
  void fetch();
  void trust();
  bool append(std::span<const ledger::ShardHead> leaves);
  bool compare();
  void note_agreed(std::uint64_t begin, std::uint64_t end);
  std::uint64_t skip_agreed();
  bool compare_leaf(const ledger::ShardHead& head);
  Result<std::vector<ledger::ShardHead>> known_heads(std::span<const ShardId> shards);
  void vouch();
  void refuse(const Status& why);
  void publish();
  void repeat();
  void hunt();
  void doubt(HistoryAlarm alarm);
  void fail(const Status& why);

  // publication_keep.cc: the beginning of the log.
  std::uint64_t prunable() const;
  void keep();
  void send_horizon(NodeId to, std::uint64_t target);
  void begin_log(const ledger::ClusterHorizon& horizon);

  // publication_lead.cc: the publisher.
  void lead();
  void begin_round();
  void give_up_round();
  std::vector<ledger::ShardHead> collect();
  std::vector<ShardId> changed_shards();
  bool read_back(const ledger::ShardHead& head);
  bool is_held(ShardId shard);
  void settle_round();
  void drop_disputed();
  bool follow_round();
  Status plan_entries();
  void propose_entries();
  void propose_key();

  bool up_to_date() const;

  PublicationOptions options_;
  PublicationPort& port_;
  Counters counters_;
  PublishedHeads heads_;
  StaleHeads stale_;
  HeadReview review_;
  HistoryHunt hunt_;
  SignatureSet signatures_;
  PublicationState state_;
  std::map<NodeId, LedgerKey> announced_;  // Keys that nodes say they sign with.
  std::optional<PublicationRound> round_;

  // A shard that no majority agreed on, and since when it has news.
  struct Held {
    std::uint64_t until_ms = 0;
    std::uint64_t news_ms = 0;
  };

  std::map<ShardId, Held> held_;
  std::set<ShardId> doubted_;  // Whose history here is unreadable or differs, and stays as it is.
  std::uint64_t batch_ = 0;
  std::uint64_t trusted_ = 0;  // Leaves of the own log that are known to be the ordered ones.
  std::map<std::uint64_t, std::uint64_t> agreed_;  // Leaves behind compared_: begin and end.
  std::uint64_t compared_ = 0;  // Leaves that this node's own trees were compared with.
  std::uint64_t published_ = 0;
  std::uint64_t published_ms_ = 0;
  ledger::MerkleHash published_root_{};
  std::vector<NodeId> signers_;  // Of what is published.
  std::optional<SignatureMessage> signed_;
  // Roots after each entry of round_, and before the first one; empty until a majority has agreed.
  std::vector<ledger::MerkleHash> entry_roots_;
  std::size_t entries_ordered_ = 0;   // Of them.
  std::size_t entries_proposed_ = 0;  // Of which nothing was heard yet, and those ordered.
  std::uint64_t refused_ = 0;         // The size that refusal_ is about.
  Status refusal_;
  bool publisher_ = false;
  bool failed_ = false;
  bool quarantined_ = false;
  std::size_t peer_ = 0;  // Asked for leaves last.
  std::uint32_t cursor_ = 0;
  std::uint64_t now_ms_ = 0;
  std::uint64_t due_ms_ = 0;
  std::uint64_t fetch_ms_ = 0;
  std::uint64_t keep_ms_ = 0;
  std::size_t horizons_heard_ = 0;  // Since leaves came.
  std::uint64_t repeat_ms_ = 0;
  std::uint64_t next_round_ms_ = 0;
  std::uint64_t proposed_ms_ = 0;
  std::uint64_t propose_ms_ = 0;  // Nothing is proposed before.
  std::uint64_t key_ms_ = 0;
  std::uint64_t news_ms_ = 0;  // When the first news came that no round has collected; 0: none.
  RoundTimes times_;           // Of this publisher.
  std::uint64_t sign_ms_ = 0;
  std::uint64_t hunt_ms_ = 0;  // When the last hunt ended that confirmed nothing.
};

}  // namespace gcoord::server
