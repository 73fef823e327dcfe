// The state machines of a witness: a node that votes and has the log, and no services' state.
//
//   engine -> ViewMachine -> WitnessMachine -> the machines of a node with services
//
// No entry reaches the services, and their state stays the initial one; what stands before this
// machine keeps its own, the cluster view. So the log is compacted by what is decided, a checkpoint
// has a mark (witness_mark.h) in place of the state, and of a snapshot the services' part is
// dropped. Roles, messages of peers and what else is no state go on to the services, which exchange
// features and addresses with the other nodes and lead nothing. One thread, the engine's.
#pragma once

#include "server/interfaces/passing_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class WitnessMachine final : public PassingMachine {
 public:
  // inner outlives it.
  explicit WitnessMachine(StateMachine& inner) : PassingMachine(inner) {}

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override;
  void state(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;

  // The same on every node that has none.
  std::uint64_t state_hash(ShardId) const override { return 0; }
};

}  // namespace gcoord::server
