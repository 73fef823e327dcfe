#include "server/history/history.h"

#include "ledger/trees/cpu.h"
#include "ledger/trees/cuda.h"
#include "server/history/record_text.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gcoord::server {
namespace {

Result<std::unique_ptr<ledger::MerkleDevice>> open_device(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::Cuda) {
    return ledger::make_cuda_merkle_device(static_cast<int>(choice.index));
  }
  return ledger::make_cpu_merkle_device();
}

// Leaves of a device's entries from before Feature::DeviceLedger do not say when they were made: a
// bound by age lets none of them go, as before.
std::uint64_t entry_ms(std::span<const std::byte> leaf) {
  if (is_device_entry(leaf)) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  const auto header = decode_record_header(leaf);
  return header ? header->time_ms : 0;
}

}  // namespace

NodeHistory::NodeHistory(NodeHistoryOptions options, StateMachine& inner)
    : options_(std::move(options)), service_(inner, options_.shard_count) {}

Status NodeHistory::open(std::unique_ptr<ledger::HistoryStore> store) {
  store_ = std::move(store);
  GCOORD_TRY(auto device, open_device(options_.device));
  ledger::HistoryOptions history;
  history.shard_count = options_.shard_count;
  history.decisions_last = options_.durable;
  history.batching = options_.durable ? ledger::HistoryBatching{} : ledger::kRareBatching;
  GCOORD_TRY(auto opened, ledger::History::open(history, std::move(device), *store_));
  ledger::HistoryWorkerOptions worker{.driver = options_.driver,
                                      .keep = options_.keep,
                                      .wall_ms = options_.wall_ms,
                                      .metrics = options_.metrics};
  worker.clues.entry_ms = entry_ms;
  // In memory mode recovery needs what lies behind a checkpoint; in durable mode saves do, and what
  // goes to another node while history is ahead: the tree at a checkpoint's size.
  worker.clues.floor = [this](ShardId shard) {
    return std::min(service_.floor(shard), pins_.floor(shard));
  };
  worker_ = std::make_unique<ledger::HistoryWorker>(std::move(opened), std::move(worker));
  service_.attach(*worker_);
  return {};
}

Status NodeHistory::end_turn(bool rests) {
  service_.end_turn(rests);
  return service_.failure();
}

}  // namespace gcoord::server
