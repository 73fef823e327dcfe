// The file in which a RocksDB database writes down what it does, for supporters.
//
// Lines that a full disk refuses are lost. RocksDB's own logger ends the process by an assertion
// with the next line after one that was refused. Thread-safe.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

namespace gcoord::ledger {

// In place of what is at `path`. Failures: the system's.
rocksdb::Status open_rocks_log(const std::string& path, std::shared_ptr<rocksdb::Logger>& log);

}  // namespace gcoord::ledger
