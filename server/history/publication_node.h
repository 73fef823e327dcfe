// The publication of a real node: its files, its thread, and its place in the loop.
//
// The work (reading trees, comparing roots, writing and signing) is done on a thread of its own, so
// that no turn waits for it; the loop hands over what happened and does what is to be done, once
// per pass (exchange). Keeps DIR/ledger: the cluster log, what was signed, the key. A failure of
// any of them stops the node, as a failure of its log does.
//
// open, the listener's calls and exchange are for the loop's thread; the rest is for any.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/prune_order.h"
#include "ledger/cluster/cluster_log.h"
#include "ledger/cluster/signer_state.h"
#include "ledger/disk/disk.h"
#include "ledger/disk/room.h"
#include "ledger/publication/ledger_notary.h"
#include "ledger/publication/mailbox.h"
#include "ledger/publication/publication.h"
#include "server/history/publication_service.h"
#include "server/history/settle_requests.h"
#include "server/interfaces/replicated_log.h"

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {

struct PublicationNodeOptions {
  ClusterId cluster;
  NodeId node;
  std::vector<NodeId> nodes;  // Of the cluster, ascending; until set_members().
  std::uint32_t shard_count = 0;
  Incarnation incarnation;
  std::string directory;  // DIR/ledger.
  OwnTrees trees;
  // Milliseconds that only grow, above 0; for any thread.
  std::function<std::uint64_t()> now_ms;
  // The secret of this node's key, if it has none yet: 32 bytes that nobody can guess.
  ledger::NoteSeed key_seed{};
  // Wakes the loop; for any thread.
  std::function<void()> wake;
  ledger::KeepPolicy keep;           // Of the cluster log.
  ledger::DiskRoom* room = nullptr;  // Of the directory, if there is a reserve; outlives the node.
  // The log of shard 0 lies on a device, which has little room for what is undecided.
  bool on_device = false;
};

// What the loop is to know or do.
struct PublicationNews {
  std::vector<HistoryAlarm> alarms;
  std::vector<HistoryAlarm> quarantine;  // Not empty: the node is to be opened again, repairing.
  std::optional<Status> refusal;         // Ok: it signs again.
};

class PublicationNode final : public PublicationListener, private PublicationPort {
 public:
  // Failures: kLedgerKey, kSignerState, kClusterLogRot, the disk's.
  static Result<std::unique_ptr<PublicationNode>> open(PublicationNodeOptions options,
                                                       MetricsRegistry& metrics);
  // Joins the thread.
  ~PublicationNode() override;
  PublicationNode(const PublicationNode&) = delete;
  PublicationNode& operator=(const PublicationNode&) = delete;

  // Who takes part from now on. For the loop's thread.
  void set_members(PublicationMembers members);

  // Once per pass of the loop. unix_ms: for records. A failure ends the node.
  Result<PublicationNews> exchange(ReplicatedLog& engine, std::uint64_t unix_ms);

  // Returns when the leaves of every round that was told before are durable, or why they are not.
  // For any thread but this one's own: a checkpoint of shard 0 must not come before them.
  Status settle();

  // Begins to let go of old leaves of the cluster log, beside what the policy does; as
  // HistoryWorker::prune. The order names no shard, and no age.
  std::future<Result<ledger::PruneReport>> prune(const ledger::PruneOrder& order,
                                                 std::function<void()> ended);

  PublicationView view() const;

  const LedgerNotary& notary() const { return *notary_; }

  std::shared_ptr<const ledger::TreeReader> cluster_log_reader() const { return log_; }

  // For any thread, and for longer than this lives.
  std::shared_ptr<const PublishedSizes> published_sizes() const {
    return publication_->published_sizes();
  }

  // PublicationListener.
  void on_applied(ShardId shard, std::uint64_t size) override;
  void on_publication_round(const RoundEntry& round) override;
  void on_publication_state(const PublicationState& state) override;
  void on_publisher(bool publisher) override;
  void on_publication_lost() override;
  void on_publication_message(NodeId from, std::span<const std::byte> message) override;

 private:
  PublicationNode(PublicationNodeOptions options, MetricsRegistry& metrics);

  Status open_files();
  Status start(MetricsRegistry& metrics);
  void run();
  void take(PublicationInput&& input, std::uint64_t now_ms);
  void hand_over();
  void answer_settle(std::uint64_t number);
  void answer_pruning();
  void show_keys();

  // PublicationPort, on the thread.
  std::uint64_t now_ms() const override { return options_.now_ms(); }

  void send(NodeId to, std::vector<std::byte> message) override;
  void propose(std::vector<std::byte> entry) override;
  std::shared_ptr<const ledger::TreeReader> tree(ShardId shard) override;
  Result<std::vector<ledger::ShardHead>> heads(std::span<const ShardId> shards) override;
  Result<std::vector<ledger::ShardHead>> heads_at(
      std::span<const ledger::ShardHead> named) override;
  const ledger::TreeReader& cluster_log() const override;
  Status append_leaves(std::span<const ledger::ShardHead> leaves) override;
  Result<std::uint64_t> prune_leaves(std::uint64_t wanted) override;
  ledger::ClusterHorizon horizon() const override;
  Status begin_log_at(const ledger::ClusterHorizon& horizon) override;
  Result<LedgerSignature> sign(std::uint64_t size, const ledger::MerkleHash& root) override;
  bool genuine(NodeId node, const SignatureMessage& message) override;
  void on_published(const PublishedLog& log) override;
  void on_refusal(const Status& why) override;
  void on_alarm(const HistoryAlarm& alarm) override;
  void quarantine(std::span<const HistoryAlarm> shards) override;
  void on_failure(const Status& why) override;

  PublicationNodeOptions options_;
  Counter& dropped_;
  std::unique_ptr<ledger::Disk> disk_;
  std::shared_ptr<ledger::ClusterLog> log_;
  std::unique_ptr<ledger::SignerState> signer_;
  std::unique_ptr<LedgerNotary> notary_;
  PublicationMailbox desk_;
  PublicationInput gathered_;  // The loop's, as the two below.
  bool leads_ = false;         // Shard 0.
  bool publishes_ = false;     // Abilities::publishes, of the last pass.
  PublicationOutput output_;   // The thread's, as all below but view_.
  std::unique_ptr<Publication> publication_;
  PublicationState state_;
  std::optional<PublicationMembers> members_;  // None: all that have a key.
  SettleRequests settling_;

  struct Pruning {
    ledger::PruneOrder order;
    std::function<void()> ended;
    std::promise<Result<ledger::PruneReport>> done;
  };

  std::mutex pruning_mutex_;  // Of the next one.
  std::vector<Pruning> prunings_;
  mutable std::mutex view_mutex_;
  PublicationView view_;
  std::thread thread_;
};

}  // namespace gcoord::server
