// The reports of a running node, from its engine and its lock service.
//
// node_status:
//   {"node", "cluster_id", "cluster_name", "version", "incarnation", "durability", "turn",
//    "stepper", "stepper_reason", "device": null or {"name", "memory_bytes", "launches",
//    "check_one_in", "steps_checked", "rows_swept", "sweep_looks", "sweeps": {"on_device": whether
//    the device sweeps what is large, "sessions", "waits", "checked"}}, "shards", "leaders",
//    "locks", "waiters", "sessions", "deadlocks": {"found", "ended", "unconfirmed", "oversized"},
//    "coordinator": {"method", "node": 0 if none is known, "elections", "won", "changes", "sent":
//    {"election", "answer", "coordinator", "again"}, "dropped", "other_method", "others": [{"node",
//    "method"}]}, "connections", "uptime_ms", "wal": {"submitted", "durable"}, "checkpoint":
//    {"lsn", "count"}, "ledger": {"hashed", "lag", "pending_bytes", "disk_bytes", "pruned",
//    "keep", "bytes_max"}, "disk": {"free_bytes", "total_bytes",
//    "reserve_bytes": held now, "low_bytes", "low"}, "entry_bytes", "publication": {"publishes",
//    and if not "reason", else "publisher", "round", "ordered", "size", "signed", "published",
//    "root", "age_ms", "signers", "first", "key", "refusal", "alarms": [{"node", "shard", "index",
//    "unconfirmed"}], "repair": [{"shard", "index"}]}, in memory mode and once a directory was
//    replaced "memory": {"voting", "forgotten", "unled" (shards), "rejoining"}, "peers":
//    [{"node", "address", "state", "live", "phi_milli": null where the turn is resident,
//    "incarnation", "transport", "device_link", "reason"}]}
// shard_show: one row with its configuration; shard_list: rows without.
//
// docs/reference/machine_interfaces.md names the fields for scripts. One thread.
#pragma once

#include "ledger/history/worker.h"
#include "ledger/space/guard.h"
#include "server/history/node_ledger.h"
#include "server/interfaces/node_reports.h"
#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"
#include "server/options/options.h"

#include <cstdint>
#include <functional>
#include <string>

namespace gcoord::server {

struct StatusSources {
  const NodeOptions* options = nullptr;
  const ReplicatedLog* engine = nullptr;
  const LockService* service = nullptr;
  const StateMachine* state =
      nullptr;  // What the engine applies to: its digests are those of traces.
  const ledger::HistoryWorker* history = nullptr;
  const NodeLedger* ledger = nullptr;
  const ledger::SpaceGuard* space = nullptr;
  std::function<std::size_t()> connection_count;
  std::function<std::uint64_t()> uptime_ms;
  std::function<std::string(NodeId)>
      device_link;  // Whether shards' messages go from device to device.
};

class StatusReports final : public NodeReports {
 public:
  explicit StatusReports(StatusSources sources) : sources_(std::move(sources)) {}

  std::string node_status() const override;
  std::string shard_list(const protocol::ShardRange& range) const override;
  std::string shard_show(ShardId shard) const override;

 private:
  StatusSources sources_;
};

// "follower", "pre-candidate", "candidate" or "leader".
std::string_view role_name(consensus::Role role);

}  // namespace gcoord::server
