#include "cli/verbs/snapshot_report.h"

#include "common/text/utc_text.h"
#include "ledger/base/error_details.h"
#include "membership/view/cpu.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <string>

namespace gcoord::cli {

namespace {

std::string hex(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15u];
  }
  return text;
}

ledger::MerkleHash root_of(const ledger::SnapshotFrontier& frontier) {
  if (frontier.peaks.empty()) {
    return ledger::empty_root();
  }
  ledger::MerkleHash root = frontier.peaks.back();
  for (std::size_t k = frontier.peaks.size() - 1; k-- > 0;) {
    root = ledger::hash_node(frontier.peaks[k], root);
  }
  return root;
}

}  // namespace

Status explained(const Status& status) {
  const bool of_snapshots =
      status.detail() >= ledger::kSnapshotForeign && status.detail() <= ledger::kRestoreRefused;
  return of_snapshots ? protocol::make_error(static_cast<protocol::ErrorCode>(status.detail()),
                                             status.message())
                      : status;
}

Status SnapshotReport::on_header(const ledger::SnapshotHeader& header) {
  header_ = header;
  moves_ = locks::MoveSurvey(header.shard_count);
  return {};
}

void SnapshotReport::conclude() {
  moves_.conclude();
}

Status SnapshotReport::on_state(const ledger::SnapshotState& whole) {
  const ledger::SnapshotShard& shard = whole.shard;
  const auto summary = server::summarize_state(whole.state);
  if (!summary.ok()) {
    return Status{summary.status().code(),
                  "shard " + std::to_string(shard.shard.value) + ": " + summary.status().message(),
                  summary.status().detail()};
  }
  GCOORD_TRY_STATUS(moves_.take(shard.shard, server::lock_state_of(whole.state)));
  const auto view = membership::ViewCpu::parse(whole.view);
  if (!view) {
    return Status{StatusCode::DataLoss,
                  "shard " + std::to_string(shard.shard.value) + ": the cluster view is damaged",
                  ledger::kSnapshotImpossible};
  }
  view_epoch_ = std::max(view_epoch_, view->view().epoch);
  total_.sessions += summary.value().sessions;
  total_.locks += summary.value().locks;
  total_.waiters += summary.value().waiters;
  total_.groups += summary.value().groups;
  total_.token_last = std::max(total_.token_last, summary.value().token_last);
  applied_ += shard.applied.value;
  if (rows_ == Rows::Keep) {
    kept_.push_back({shard, summary.value(), whole.frontier ? hex(root_of(*whole.frontier)) : ""});
  }
  return {};
}

Json SnapshotReport::json(const ledger::SnapshotFacts& facts) const {
  Json nodes = Json::array();
  for (const ledger::SnapshotNode& each : header_.nodes) {
    nodes.push_back(each.node.value);
  }
  Json json = {{"format", ledger::kSnapshotFormatNewest},
               {"cluster_id", std::to_string(header_.cluster.value)},
               {"node", header_.node.value},
               {"nodes", nodes},
               {"release", header_.release},
               {"time", utc_text(header_.time_ms)},
               {"durability", header_.durable ? "durable" : "memory"},
               {"ledger", header_.ledger},
               {"shards", header_.shard_count},
               {"shards_used", std::to_string(facts.end.shard_count)},
               {"entries_applied", std::to_string(applied_)},
               {"sessions", std::to_string(total_.sessions)},
               {"locks", std::to_string(total_.locks)},
               {"waiters", std::to_string(total_.waiters)},
               {"groups", std::to_string(total_.groups)},
               {"token_highest", std::to_string(total_.token_last)},
               {"view", std::to_string(view_epoch_)},
               {"moved_names", std::to_string(moves_.names())},
               {"moves_to_settle", std::to_string(moves_.settled())},
               {"moves_lost", std::to_string(moves_.lost())},
               {"bytes", std::to_string(facts.file_bytes)},
               {"sha256", hex(facts.digest)}};
  if (rows_ == Rows::Keep) {
    Json rows = Json::array();
    for (const Row& row : kept_) {
      rows.push_back({{"shard", row.shard.shard.value},
                      {"applied", std::to_string(row.shard.applied.value)},
                      {"term", std::to_string(row.shard.term.value)},
                      {"sessions", std::to_string(row.summary.sessions)},
                      {"locks", std::to_string(row.summary.locks)},
                      {"waiters", std::to_string(row.summary.waiters)},
                      {"token_last", std::to_string(row.summary.token_last)},
                      {"bytes", std::to_string(row.shard.state_bytes)}});
      if (!row.root.empty()) {
        rows.back()["root"] = row.root;
      }
    }
    json["shard_list"] = rows;
  }
  return json;
}

Table SnapshotReport::table() const {
  Table table{
      {"SHARD", "APPLIED", "TERM", "SESSIONS", "LOCKS", "WAITERS", "TOKEN", "BYTES"}, {}, {}, {}};
  for (const Row& row : kept_) {
    table.rows.push_back({std::to_string(row.shard.shard.value),
                          std::to_string(row.shard.applied.value),
                          std::to_string(row.shard.term.value),
                          std::to_string(row.summary.sessions),
                          std::to_string(row.summary.locks),
                          std::to_string(row.summary.waiters),
                          std::to_string(row.summary.token_last),
                          std::to_string(row.shard.state_bytes)});
  }
  table.caption = "snapshot of cluster " + std::to_string(header_.cluster.value) + ", node " +
                  std::to_string(header_.node.value) + ", " + utc_text(header_.time_ms);
  return table;
}

}  // namespace gcoord::cli
