#include "server/node/disk_upkeep.h"

#include <utility>

namespace gcoord::server {

void DiskUpkeep::look() {
  const ledger::SpaceReport space = environment_.space.report();
  environment_.log.on_space(space);
  if (!std::exchange(low_, space.low) && space.low) {
    environment_.engine.request_checkpoint();
  }
}

}  // namespace gcoord::server
