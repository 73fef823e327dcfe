// The reports of a running node, from its engine and its lock service.
//
// node_status: one JSON object; docs/reference/schemas/gcoordctl.json has every member, as
// $defs/node_report, and a test holds it against that.
// shard_show: one row with its configuration; shard_list_begin and shard_rows: {"node", "first",
// "shards", "rows"} of rows without, in parts.
//
// docs/reference/machine_interfaces.md names the fields for scripts. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/json/value.h"
#include "ledger/history/worker.h"
#include "ledger/space/guard.h"
#include "server/client_io/counters.h"
#include "server/evidence/double_vote.h"
#include "server/health/board.h"
#include "server/history/node_ledger.h"
#include "server/interfaces/node_reports.h"
#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"
#include "server/options/options.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

struct StatusSources {
  const NodeOptions* options = nullptr;
  const ReplicatedLog* engine = nullptr;
  LockService* service = nullptr;
  const StateMachine* state =
      nullptr;  // What the engine applies to: its digests are those of traces.
  const ledger::HistoryWorker* history = nullptr;
  const NodeLedger* ledger = nullptr;
  const HealthBoard* health = nullptr;
  const ledger::SpaceGuard* space = nullptr;
  std::function<std::size_t()> connection_count;
  std::function<std::uint64_t()> uptime_ms;
  std::function<const Histogram*()> wal_sync;  // Times to persist a record; nullptr without a log.
  std::function<std::string(NodeId)>
      device_link;  // Whether shards' messages go from device to device.
  std::function<std::string()> metrics_address;  // Where /metrics is; empty: off.
  std::function<Json()> detector;                // As detector_json(); null before it begins.
  std::function<const IoCounters*()> client_io;
  std::function<bool()> rights_checked;
  std::function<const std::vector<DoubleVote>*()> double_votes;  // With evidence here.
  std::function<Json()> gpu;  // As GpuGuard::report(); null where there is no GPU to watch.
  // How much the failure detector suspects a node, where the turn does not say; none: not yet.
  std::function<std::optional<std::uint32_t>(NodeId)> phi_milli;
};

class StatusReports final : public NodeReports {
 public:
  explicit StatusReports(StatusSources sources)
      : sources_(std::move(sources)), tls_(sources_.options->tls) {}

  // The choices that hold from now on.
  void set_tls(const TlsChoices& choices) { tls_ = choices; }

  std::string node_status() const override;
  std::string shard_list_begin(ShardId first) const override;
  std::string shard_rows(const protocol::ShardRange& range) const override;
  std::string shard_show(ShardId shard) const override;

 private:
  StatusSources sources_;
  TlsChoices tls_;
};

// "follower", "pre-candidate", "candidate" or "leader".
std::string_view role_name(consensus::Role role);

}  // namespace gcoord::server
