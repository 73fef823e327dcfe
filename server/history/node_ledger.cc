#include "server/history/node_ledger.h"

#include "ledger/base/error_details.h"
#include "ledger/directory/data_directory.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"
#include "security/secret/file.h"
#include "server/platform/boot_time.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_history_" + std::string(name), .help = std::string(help)};
}

ledger::NoteSeed draw_seed() {
  ledger::NoteSeed seed;
  for (std::size_t at = 0; at < seed.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = draw_random();
    std::memcpy(&seed[at], &word, sizeof word);
  }
  return seed;
}

Status unpublished(const char* why) {
  return protocol::make_error(protocol::ErrorCode::LedgerUnpublished, why);
}

std::string place_of(const HistoryAlarm& alarm) {
  const std::string shard = "shard " + std::to_string(alarm.shard.value);
  return alarm.index == kIndexUnknown
             ? shard
             : shard + " from entry " + std::to_string(alarm.index) + " on";
}

}  // namespace

// SteadyTime stops a node whose clock goes back; until it does, the ledger's threads see it stand.
std::uint64_t ledger_now_ms() {
  static std::atomic<std::uint64_t> newest_ms{0};
  const std::uint64_t now_ms = boot_time_us() / 1000 + 1;
  std::uint64_t newest = newest_ms.load();
  while (newest < now_ms && !newest_ms.compare_exchange_weak(newest, now_ms)) {
  }
  return std::max(newest, now_ms);
}

NodeLedger::NodeLedger(NodeLedgerOptions options, MetricsRegistry& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      alarms_total_(metrics.counter(
          plain("alarms_total",
                "Shard histories, here or on other nodes, that differ from the majority's"))),
      repaired_gauge_(metrics.gauge(plain(
          "repaired_shards", "Shards of this node that are being repaired from the others"))) {}

Result<std::unique_ptr<NodeLedger>> NodeLedger::open(NodeLedgerOptions options,
                                                     MetricsRegistry& metrics) {
  std::unique_ptr<NodeLedger> node{new NodeLedger(std::move(options), metrics)};
  if (!node->publishes()) {
    return node;
  }
  // The engine makes the data directory otherwise, and this comes before it.
  GCOORD_TRY_STATUS(ledger::make_data_directory(node->options_.data_directory));
  GCOORD_TRY(const auto parent, ledger::PosixDisk::open_directory(node->options_.data_directory));
  GCOORD_TRY(node->disk_,
             ledger::PosixDisk::open_directory(node->options_.data_directory + "/publication",
                                               node->options_.room));
  GCOORD_TRY_STATUS(
      security::check_secret_file(node->options_.data_directory + "/publication/ledger.key"));
  GCOORD_TRY(node->repair_, ledger::read_repair_file(*node->disk_));
  node->repaired_gauge_.set(static_cast<std::int64_t>(node->repair_.size()));
  return node;
}

std::vector<ShardId> NodeLedger::repaired_shards() const {
  std::vector<ShardId> shards;
  for (const ledger::RepairedShard& each : repair_) {
    shards.push_back(each.shard);
  }
  return shards;
}

Status NodeLedger::start(Incarnation incarnation,
                         PublicationService& service,
                         OwnTrees trees,
                         std::function<void()> wake) {
  tree_of_ = trees.tree_of;
  if (!publishes()) {
    return Status{};
  }
  GCOORD_TRY(publication_,
             PublicationNode::open({.cluster = options_.cluster,
                                    .node = options_.node,
                                    .nodes = options_.nodes,
                                    .shard_count = options_.shard_count,
                                    .incarnation = incarnation,
                                    .directory = options_.data_directory + "/publication",
                                    .trees = std::move(trees),
                                    .now_ms = &ledger_now_ms,
                                    .key_seed = draw_seed(),
                                    .wake = std::move(wake),
                                    .keep = options_.keep,
                                    .room = options_.room,
                                    .on_device = options_.on_device},
                                   metrics_));
  if (members_) {
    publication_->set_members(*members_);
  }
  service.set_listener(publication_.get());
  if (!repair_.empty()) {
    log_warning(LogComponent::Ledger,
                "repairs its history of {} shards from the other nodes; does not vote in them",
                repair_.size());
  }
  return Status{};
}

void NodeLedger::set_members(const ClusterMembers& members) {
  if (members.view.epoch == 0) {
    return;
  }
  // A witness has no histories to agree with.
  members_ = PublicationMembers{nodes_of(members.view), voters_with_state(members.view)};
  if (publication_ != nullptr) {
    publication_->set_members(*members_);
  }
}

Status NodeLedger::pass(ReplicatedLog& engine, std::uint64_t unix_ms) {
  if (!publishes()) {
    return Status{};
  }
  GCOORD_TRY(const PublicationNews news, publication_->exchange(engine, unix_ms));
  for (const HistoryAlarm& alarm : news.alarms) {
    on_alarm(alarm);
  }
  if (news.refusal && news.refusal->ok()) {
    log_info(LogComponent::Ledger, "signs the ledger again");
  } else if (news.refusal) {
    log_error(LogComponent::Ledger,
              "GC{}: no longer signs the ledger: {}",
              news.refusal->detail(),
              news.refusal->message());
  }
  return news.quarantine.empty() ? Status{} : quarantine(news.quarantine);
}

void NodeLedger::on_alarm(const HistoryAlarm& alarm) {
  const bool known = std::ranges::any_of(alarms_, [&](const HistoryAlarm& each) {
    return each.node == alarm.node && each.shard == alarm.shard && each.index == alarm.index;
  });
  if (known) {
    return;
  }
  alarms_total_.add();
  if (alarms_.size() == kAlarmsMax) {
    alarms_.erase(alarms_.begin());
  }
  alarms_.push_back(alarm);
  if (alarm.node == NodeId{0}) {
    log_error(LogComponent::Ledger,
              "GC{}: no majority of nodes agrees on the history of {}",
              ledger::kHistoryUndecided,
              place_of(alarm));
  } else if (alarm.unconfirmed) {
    log_error(
        LogComponent::Ledger,
        "GC{}: the history of {} is damaged, or differs where no other node shows it: no longer "
        "signs the ledger, and repairs nothing by itself",
        ledger::kHistoryRot,
        place_of(alarm));
  } else {
    log_error(LogComponent::Ledger,
              "GC{}: the history of node {} is not the majority's: {}",
              ledger::kHistoryDiffers,
              alarm.node.value,
              place_of(alarm));
  }
}

// Durable before the replicas are given up.
Status NodeLedger::quarantine(const std::vector<HistoryAlarm>& shards) {
  std::vector<ledger::RepairedShard> repaired;
  std::string places;
  for (const HistoryAlarm& alarm : shards) {
    repaired.push_back({alarm.shard, alarm.index});
    places += (places.empty() ? "" : ", ") + place_of(alarm);
  }
  GCOORD_TRY_STATUS(ledger::add_to_repair_file(*disk_, repaired));
  return Status{StatusCode::Aborted,
                "this node's history is not the majority's: " + places +
                    "; it is fetched from the other nodes again",
                ledger::kHistoryRepair};
}

Status NodeLedger::sweep(ReplicatedLog& engine) {
  if (repair_.empty()) {
    return Status{};
  }
  const std::size_t told = std::min(repair_.size(), kAlarmsMax);
  for (std::size_t k = 0; k < told; ++k) {
    const auto message =
        encode(PublicationMessage{AlarmMessage{repair_[k].shard, repair_[k].index}});
    for (const NodeId node : members_ ? members_->nodes : options_.nodes) {
      if (node != options_.node) {
        engine.send_peer_message(node, message);
      }
    }
  }
  return end_repair(engine.view());
}

// The replicas remember again, and what the log of record holds of before is covered. A resident
// node in memory mode has no log of record.
Status NodeLedger::end_repair(const NodeView& view) {
  const bool has_record =
      view.turn != NodeTurn::Resident || view.durability == consensus::Durability::Durable;
  if (view.forgotten_count != 0 || (has_record && view.checkpoint_count == 0)) {
    return Status{};
  }
  GCOORD_TRY_STATUS(ledger::remove_repair_file(*disk_));
  log_info(LogComponent::Ledger,
           "its history of {} shards agrees with the majority again",
           repair_.size());
  repair_.clear();
  repaired_gauge_.set(0);
  return Status{};
}

NodeLedgerStatus NodeLedger::status() const {
  return {.publication = publication_->view(),
          .key = publication_->notary().key().text(),
          .alarms = alarms_,
          .repair = repair_};
}

std::shared_ptr<const ledger::TreeReader> NodeLedger::shard(ShardId shard) const {
  return tree_of_(shard);
}

std::shared_ptr<const ledger::TreeReader> NodeLedger::cluster_log() const {
  return publishes() ? publication_->cluster_log_reader() : nullptr;
}

Result<std::string> NodeLedger::checkpoint() const {
  return publishes() ? publication_->notary().checkpoint() : unpublished(silent_for());
}

Result<std::string> NodeLedger::shard_checkpoint(ShardId shard) const {
  if (!publishes()) {
    return unpublished(silent_for());
  }
  GCOORD_TRY(const ledger::ShardHead head, publication_->notary().head(shard));
  const auto tree = tree_of_(shard);
  if (tree == nullptr || tree->size() < head.size) {
    return Status{StatusCode::NotFound,
                  "this node does not have the published entries yet; ask again",
                  ledger::kLedgerAbsent};
  }
  return publication_->notary().shard_checkpoint(shard);
}

std::vector<std::string> NodeLedger::keys() const {
  return publishes() ? publication_->notary().keys() : std::vector<std::string>{};
}

}  // namespace gcoord::server
