// Replacement of a damaged data directory, after an operator has allowed the node to start without
// it (--rejoin).
//
// Nothing is deleted: the directory becomes DIR.damaged, for inspection, and a new one takes its
// place. If the identity file of the old one could be read, the new one is its successor: the next
// generation, rejoining, with the same peers in mind (identity_file.h). If not, it is an empty
// directory, and the node learns from the peers that refuse it which generation it has to be. A
// crash in between leaves an empty directory, too, which the next start makes the successor. One
// thread; no other process has the directory.
#pragma once

#include "common/status.h"
#include "ledger/directory/data_directory.h"

#include <string>

namespace gcoord::ledger {

// Where the old content goes.
std::string damaged_path(const std::string& directory);

// Failures: FailedPrecondition with kDirectoryLocked, with kDirectoryDamagedTwice when there is a
// DIR.damaged already, because a disk that rots twice is to be replaced; Unavailable with
// kDirectoryUnusable when it cannot be moved, for example because it is a mount point; those of
// DataDirectory::open.
Status replace_damaged(const DataDirectoryOptions& options);

// Ends a replacement that a crash has cut off; ok where there is none. Before the directory is
// opened. Failures: those of DataDirectory::open.
Status resume_replacement(const DataDirectoryOptions& options);

}  // namespace gcoord::ledger
