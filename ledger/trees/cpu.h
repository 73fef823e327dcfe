// Merkle trees in the host's memory, hashed on the calling thread by OpenSSL. Host only.
#pragma once

#include "ledger/trees/device.h"

#include <memory>

namespace gcoord::ledger {

std::unique_ptr<MerkleDevice> make_cpu_merkle_device();

}  // namespace gcoord::ledger
