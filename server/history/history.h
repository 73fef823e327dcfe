// The history of a node's shards with everything it is made of: its store, its thread, and the
// service that feeds it (docs/adr/0030).
//
//   NodeHistory history(options, lock_service);
//   engine = open(..., history.service());  // on_directory -> history.open(store),
//                                           // before_checkpoint -> history.settle()
//   history.recovered();                    // then, after every turn, end_turn()
//
// It ends after the engine, which calls it until its threads are joined. One thread, but for what
// says otherwise.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "ledger/disk/storage_driver.h"
#include "ledger/history/pins.h"
#include "ledger/history/store.h"
#include "ledger/history/worker.h"
#include "server/history/ledger_service.h"
#include "server/platform/device_choice.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace gcoord::server {

struct NodeHistoryOptions {
  std::uint32_t shard_count = 1;
  bool durable = true;  // False in memory mode: decisions may be lost with the cluster.
  // Where trees lie: on a GPU that was asked for by name, else on the CPU.
  DeviceChoice device;
  ledger::KeepPolicy keep;
  ledger::StorageDriver driver = ledger::StorageDriver::Thread;
  std::function<std::uint64_t()> wall_ms;  // Unix milliseconds; for pruning.
  MetricsRegistry* metrics = nullptr;
};

class NodeHistory {
 public:
  NodeHistory(NodeHistoryOptions options, StateMachine& inner);

  // Once, before the engine recovers. Failures are the store's, kHistoryRot, or the device's.
  Status open(std::unique_ptr<ledger::HistoryStore> store);

  // What the engine calls.
  LedgerService& service() { return service_; }

  // When the engine is open.
  void recovered() { service_.recovered(); }

  // As LedgerService::end_turn. A failure ends the node.
  Status end_turn(bool rests);

  // By any thread: what was applied before is durable on return.
  Status settle() { return worker_->settle(); }

  // Keeps what recovery may need now, and with it what a save that begins now needs, for as long as
  // what is returned lives.
  std::shared_ptr<const void> pin() { return pins_.pin(service_.floors()); }

  // After open().
  ledger::HistoryWorker& worker() { return *worker_; }

  const ledger::HistoryWorker& worker() const { return *worker_; }

 private:
  NodeHistoryOptions options_;
  std::unique_ptr<ledger::HistoryStore> store_;
  LedgerService service_;
  ledger::HistoryPins pins_;
  std::unique_ptr<ledger::HistoryWorker> worker_;  // Ends before the store.
};

}  // namespace gcoord::server
