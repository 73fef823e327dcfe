// The key that a node signs the ledger with: made once, in its data directory, never sent anywhere.
//
// One file, `ledger.key`, mode 0600 in a directory of mode 0700: the signer key as text
// (note_key.h) and a newline. A directory that is made anew gets another key; the log of shard 0
// tells when (ledger/heads/entry.h). One thread.
#pragma once

#include "common/status.h"
#include "ledger/disk/disk.h"
#include "ledger/notes/note_key.h"

#include <string>

namespace gcoord::ledger {

// The key in the file, which must have this name; or, when there is no file, the one of this seed,
// which is durable then: 32 bytes that nobody can guess, drawn for each call. FailedPrecondition
// (kLedgerKey) if the file holds anything else; failures of the disk.
Result<NoteSigner> open_node_key(Disk& disk, const std::string& name, const NoteSeed& seed);

}  // namespace gcoord::ledger
