#include "server/offline/machine.h"

#include "ledger/history/history.h"
#include "ledger/trees/cpu.h"

#include <utility>

namespace gcoord::server {

Result<std::unique_ptr<OfflineMachine>> OfflineMachine::open(const std::string& history_path,
                                                             std::uint32_t shard_count) {
  GCOORD_TRY(auto store, ledger::HistoryStore::open(history_path, shard_count));
  ledger::HistoryOptions options;
  options.shard_count = shard_count;
  GCOORD_TRY(auto history,
             ledger::History::open(options, ledger::make_cpu_merkle_device(), *store));
  return std::unique_ptr<OfflineMachine>(
      new OfflineMachine(std::move(store), std::move(history), shard_count));
}

OfflineMachine::OfflineMachine(std::unique_ptr<ledger::HistoryStore> store,
                               std::shared_ptr<const ledger::History> history,
                               std::uint32_t shard_count)
    : store_(std::move(store)),
      service_(shard_count),
      trees_(service_, std::move(history), shard_count),
      publication_(trees_),
      views_(publication_),
      access_(views_),
      limits_(access_),
      audit_(limits_, {.shard_count = shard_count, .keeps = true}) {}

}  // namespace gcoord::server
