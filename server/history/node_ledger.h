// The ledger of a node beside its engine: what it publishes, what it shows, and how what is wrong
// in it is repaired.
//
//   open    before the engine: which shards are to be repaired
//   start   when the engine is open: the publication begins
//   pass    once per pass of the loop; ends the node, to be opened again, when its history of some
//           shard is not the majority's (kHistoryRepair)
//   sweep   about once a second: tells peers what is repaired here, and ends a repair
//
// Says to the operator what went wrong, once. Keeps DIR/publication. As a LedgerView for any
// thread; otherwise one thread, the loop's.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/cluster/repair_file.h"
#include "ledger/disk/disk.h"
#include "ledger/disk/room.h"
#include "server/history/publication_node.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/ledger_view.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

struct NodeLedgerOptions {
  ClusterId cluster;
  NodeId node;
  std::vector<NodeId> nodes;  // Of the cluster, ascending; until set_members().
  std::uint32_t shard_count = 0;
  std::string data_directory;
  ledger::KeepPolicy keep;  // Of the cluster log.
  ledger::DiskRoom* room =
      nullptr;             // Of the directory, if there is a reserve; outlives the ledger.
  bool on_device = false;  // As PublicationNodeOptions.
  // Why nothing is published, and nothing done; nullptr: it is. Lives for ever.
  const char* silent_for = nullptr;
};

// The clock of what NodeLedgerStatus says: milliseconds that only grow, above 0. Thread-safe.
std::uint64_t ledger_now_ms();

// Why a witness publishes nothing (docs/adr/0117), for operators.
inline constexpr const char* kWitnessPublishesNothing =
    "this node is a witness: it has no histories of its shards";

// For status reports.
struct NodeLedgerStatus {
  PublicationView publication;
  std::string key;                            // A verifier key (ledger/notes/note_key.h).
  std::vector<HistoryAlarm> alarms;           // Of this life, the newest last; a few.
  std::vector<ledger::RepairedShard> repair;  // Under way here.
};

class NodeLedger final : public LedgerView {
 public:
  // Alarms that are kept for status reports.
  static constexpr std::size_t kAlarmsMax = 16;

  // Failures: kHistoryRepair if the list of repairs is damaged; the disk's.
  static Result<std::unique_ptr<NodeLedger>> open(NodeLedgerOptions options,
                                                  MetricsRegistry& metrics);

  // Shards whose replicas are to come back empty (ReplicaOptions::repaired_shards).
  std::vector<ShardId> repaired_shards() const;

  // The service outlives this. wake: wakes the loop, from any thread. Failures: PublicationNode's.
  Status start(Incarnation incarnation,
               PublicationService& service,
               OwnTrees trees,
               std::function<void()> wake);

  // Who is in the cluster from now on; before start() or after it. The voters' signatures make a
  // checkpoint, and theirs are the keys(); whoever has kept the key of a node that has left can
  // check what it signed. The loop's thread.
  void set_members(const ClusterMembers& members);

  // unix_ms: of the wall clock, for records. Aborted (kHistoryRepair): after one more turn of the
  // engine, which tells the others, the node is to be opened again. Any other failure ends it.
  Status pass(ReplicatedLog& engine, std::uint64_t unix_ms);

  Status sweep(ReplicatedLog& engine);

  // Before a checkpoint is written, by its thread (ReplicaOptions::before_checkpoint).
  Status settle() { return publication_ == nullptr ? Status{} : publication_->settle(); }

  // As PublicationNode::prune, where the node publishes.
  std::future<Result<ledger::PruneReport>> prune(const ledger::PruneOrder& order,
                                                 std::function<void()> ended) {
    return publication_->prune(order, std::move(ended));
  }

  bool publishes() const { return options_.silent_for == nullptr; }

  // Why it does not.
  const char* silent_for() const { return options_.silent_for; }

  // After start(): what is published of each shard, for any thread; nullptr where nothing is.
  std::shared_ptr<const PublishedSizes> published_sizes() const {
    return publication_ == nullptr ? nullptr : publication_->published_sizes();
  }

  NodeLedgerStatus status() const;

  // The key of this node, after start(); nullptr where nothing is published.
  const ledger::NoteSigner* signer() const {
    return publication_ == nullptr ? nullptr : &publication_->notary().signer();
  }

  // LedgerView, after start().
  std::uint32_t shard_count() const override { return options_.shard_count; }

  std::shared_ptr<const ledger::TreeReader> shard(ShardId shard) const override;
  std::shared_ptr<const ledger::TreeReader> cluster_log() const override;
  Result<std::string> checkpoint() const override;
  Result<std::string> shard_checkpoint(ShardId shard) const override;
  std::vector<std::string> keys() const override;

 private:
  NodeLedger(NodeLedgerOptions options, MetricsRegistry& metrics);

  void on_alarm(const HistoryAlarm& alarm);
  Status quarantine(const std::vector<HistoryAlarm>& shards);
  Status end_repair(const NodeView& view);

  NodeLedgerOptions options_;
  std::optional<PublicationMembers> members_;  // None: all of options_.nodes.
  MetricsRegistry& metrics_;
  Counter& alarms_total_;
  Gauge& repaired_gauge_;
  std::unique_ptr<ledger::Disk> disk_;
  std::vector<ledger::RepairedShard> repair_;
  std::vector<HistoryAlarm> alarms_;
  TreeOf tree_of_;
  std::unique_ptr<PublicationNode> publication_;
};

}  // namespace gcoord::server
