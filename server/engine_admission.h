// Whom this node accepts as a peer, by what it remembers of the peer's data directory.
//
// A node whose directory was replaced has forgotten its votes, and an old image of a directory that
// comes back has forgotten some: neither may speak under the old id (FAULTS.md 24 and 25). What is
// admitted is remembered durably before it counts. Called on the engine's thread.
#pragma once

#include "common/status.h"
#include "ledger/identity_file.h"
#include "netcore/admission.h"

#include <functional>

namespace gcoord::server {

// `identity` outlives the hook. on_failure is told when a peer could not be remembered.
netcore::AdmitHook make_admit_hook(ledger::IdentityFile& identity,
                                   std::function<void(const Status&)> on_failure);

}  // namespace gcoord::server
