#include "server/node/disk_upkeep.h"

namespace gcoord::server {

void DiskUpkeep::start(std::uint64_t now_ms) {
  const NodeOptions& options = environment_.options;
  const std::uint64_t bytes_max = ledger_bytes_max(
      options, environment_.engine.view().ledger_bounded, environment_.space.report().total_bytes);
  environment_.ledger.bound(bytes_max);
  const bool asked = options.ledger_bytes_max.has_value() || !options.ledger_keep.keeps_all();
  growth_.start(bytes_max == 0 && !asked, now_ms);
}

void DiskUpkeep::look(std::uint64_t now_ms) {
  growth_.look(*environment_.ledger.history().worker().history(), now_ms);
  const ledger::SpaceReport space = environment_.space.report();
  environment_.log.on_space(space);
  low_ = space.low;
  checkpoints_.look(environment_.engine, low_, now_ms);
}

}  // namespace gcoord::server
