// The environment of a RocksDB database that never meets a full disk.
//
// Every append to a file of the database waits for its room first (ledger/disk/room.h), also
// those of its own threads, which flush and merge; merges can wait (RoomWish). Then its space is
// taken before it is written, since another program may come between. Reads and removals wait for
// nothing, so what the database knows can be read meanwhile. Once nobody waits any more, because
// the node ends, it writes without room.
#pragma once

#include "ledger/disk/room.h"

#include <rocksdb/env.h>

#include <memory>

namespace gcoord::ledger {

// `files`, but for that. `files` and `room` outlive it, and it outlives the database. nullptr where
// there is no room to ask for.
std::unique_ptr<rocksdb::Env> roomy_environment(DiskRoom* room,
                                                rocksdb::Env* files = rocksdb::Env::Default());

}  // namespace gcoord::ledger
