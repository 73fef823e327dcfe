// State that the parts of a publication share: options, the port, the ordered state, the table of
// published heads, and the time of the present call.
//
// Each part (cluster_log_copy.h, head_audit.h, history_quarantine.h, log_signing.h, log_keeping.h,
// round_publisher.h, announced_keys.h) has a state of its own beside this and writes here only
// what it owns by the comments below. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/keep_policy.h"
#include "ledger/heads/entry.h"
#include "ledger/heads/message.h"
#include "ledger/heads/port.h"
#include "ledger/heads/published_heads.h"
#include "ledger/heads/round_times.h"
#include "ledger/merkle/tree_reader.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

// Messages that may have been lost are sent again at this interval.
inline constexpr std::uint64_t kPublicationRepeatMs = 500;
// Leaves that are read in one go, as a TreeReader gives them.
inline constexpr std::size_t kLeavesAtOnce = 256;

struct PublicationOptions {
  NodeId self;
  std::vector<NodeId> nodes;  // The cluster at first: all have a vote; with this one, ascending.
  std::uint32_t shard_count = 0;
  Incarnation incarnation;        // Numbers of batches rise with it.
  LedgerKey key{};                // That this node signs with.
  std::uint64_t signed_size = 0;  // Of the cluster log that this node signed in an earlier life.
  // A round begins at most so often, and right behind a full one. Half of the second within which
  // an entry is to be published is left for the round itself.
  std::uint64_t interval_ms = 250;
  std::size_t round_heads_max = kHeadsPerRoundMax;
  // How a round is cut into entries of the log, and how many of them may be undecided at once. All
  // of the largest round, 65,536 heads in three megabytes of shard 0's log, is three eighths of
  // what a shard may have undecided, so that clients' entries there find room. A million heads are
  // 24,000 entries, and each flight of them waits for a turn and a sync.
  std::size_t entry_heads_max = kHeadsPerEntryMax;  // At most.
  std::size_t entries_under_way = 1536;
  // A log that has little room may lack it for a large entry as long as clients fill it: where one
  // is lost, what is left of the round goes in smaller ones.
  bool shrinks_lost_entries = false;
  ledger::KeepPolicy keep;         // Of the cluster log, by count and bytes; it has no age.
  std::uint64_t stale_window = 0;  // StaleHeads'; 0: as wide as the shards ask for.
};

// Who takes part. Signatures and verdicts count of those that have a vote; the others have the
// cluster log all the same.
struct PublicationMembers {
  std::vector<NodeId> nodes;   // All, ascending.
  std::vector<NodeId> voters;  // Of them, ascending.
};

struct PublicationCounters {
  explicit PublicationCounters(MetricsRegistry& registry);

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

struct PublicationBase {
  // The port outlives it.
  PublicationBase(PublicationOptions options, PublicationPort& port, MetricsRegistry& metrics);

  const ledger::TreeReader& log() const { return port.cluster_log(); }

  // Whether this node has all leaves that are ordered.
  bool up_to_date() const { return log().size() == state.size(); }

  // Whether the node takes part.
  bool has_node(NodeId node) const;

  bool has_shard(ShardId shard) const { return shard.value < options.shard_count; }

  void send(NodeId to, const PublicationMessage& message);
  void send_all(const PublicationMessage& message);

  // Final: nothing is published or signed any more, and the node stops.
  void fail(const Status& why);

  const PublicationOptions options;
  PublicationPort& port;
  PublicationCounters counters;
  PublicationMembers members;  // Written by Publication.
  PublishedHeads heads;        // Written by ClusterLogCopy, LogKeeping and Publication.
  PublicationState state;      // As of the entries of shard 0 that were taken.
  RoundTimes times;            // Of this publisher.
  bool publisher = false;      // This node leads shard 0.
  bool failed = false;
  std::uint64_t now_ms = 0;
  std::uint64_t news_ms = 0;  // When the first news came that no round has collected; 0: none.
};

}  // namespace gcoord::server
