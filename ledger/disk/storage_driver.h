// Driver of a writer's slow work: a thread of its own, or its owner, call by call.
//
// Nodes use threads. A simulation is the owner: it decides at which moment of its own time a disk
// has done what it was asked, and so one seed decides the order of everything.
#pragma once

#include <cstdint>

namespace gcoord::ledger {

enum class StorageDriver : std::uint8_t {
  Thread,
  Owner,  // Nothing is done but in advance().
};

}  // namespace gcoord::ledger
