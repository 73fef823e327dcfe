// Flushes and compactions of RocksDB as background work (common/host/background_thread.h).
//
// RocksDB's own setting for its pools knows only the lowest level of all, at which flushes would
// stand still under load and the writers behind them; so its threads lower themselves when a job
// of theirs begins. The pools are the process's. Listeners are called by many threads.
#pragma once

#include <memory>

namespace rocksdb {
class EventListener;
}

namespace gcoord::ledger {

// For DBOptions::listeners.
std::shared_ptr<rocksdb::EventListener> background_jobs();

// Whether the calling thread is one of RocksDB's that merges tables at present; of databases with
// the listener.
bool this_thread_merges();

}  // namespace gcoord::ledger
