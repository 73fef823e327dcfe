#include "server/witness/machine.h"

#include "common/assert.h"

namespace gcoord::server {

// Who leads nothing has proposed nothing.
void WitnessMachine::apply(const AppliedEntry& entry) {
  GCOORD_ASSERT(entry.cookie == 0);
}

void WitnessMachine::serialize(ShardId, std::vector<std::byte>& bytes) {
  append_witness_mark(bytes);
}

void WitnessMachine::checkpoint(ShardId, std::vector<std::byte>& bytes) {
  append_witness_mark(bytes);
}

void WitnessMachine::state(ShardId, std::vector<std::byte>& bytes) {
  append_witness_mark(bytes);
}

// Whatever a leader's services have: there is nobody here to judge it, or to use it.
Status WitnessMachine::install(ShardId, std::span<const std::byte>) {
  return {};
}

bool WitnessMachine::plausible(ShardId, std::span<const std::byte>) const {
  return true;
}

}  // namespace gcoord::server
