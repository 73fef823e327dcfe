// The state machines of a node with limits beside them: what the engine calls.
//
//   engine -> LimitsMachine -> AccessMachine -> the machines behind that
//
// Every call is passed on. Commands of limits (RecordKind::Limits in the log of shard 0) are taken
// here, too, and change a state that is part of shard 0's: it is in its checkpoints, its snapshots
// and its digest, and a witness has it. The bytes of shard 0: what is passed on gives, then the
// part of security/limits/part.h; without limits there is nothing behind what is passed on, as in
// earlier releases. A listener, which is set once the engine is open, hears of changes.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/ids.h"
#include "protocol/reply_sink.h"
#include "security/limits/limit_cpu.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/passing_machine.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// The shard whose log orders changes of limits.
inline constexpr ShardId kLimitsShard = kViewShard;

class LimitsListener {
 public:
  virtual ~LimitsListener() = default;

  // Another table, or the first one that is known.
  virtual void on_limits() = 0;
  // A proposal of this node was decided, or will not be.
  virtual void on_limits_decided(std::uint64_t cookie, security::LimitCode code) = 0;
  virtual void on_limits_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) = 0;
};

// The record that is proposed for a command. time_ms: Unix milliseconds.
std::vector<std::byte> limits_record(std::span<const std::byte> command,
                                     protocol::RecordOrigin origin,
                                     std::uint64_t time_ms);

class LimitsMachine final : public PassingMachine {
 public:
  // inner outlives it.
  explicit LimitsMachine(StateMachine& inner) : PassingMachine(inner) {}

  // nullptr: nobody listens any more. Whoever listens looks at table() first.
  void set_listener(LimitsListener* listener) { listener_ = listener; }

  const security::LimitTable& table() const { return state_.table(); }

  const security::LimitCpu& state_of_limits() const { return state_; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  std::uint64_t state_hash(ShardId shard) const override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override;
  void witness_state(ShardId shard, std::vector<std::byte>& bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;
  bool continues(ShardId shard, std::span<const std::byte> bytes) const override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;

 private:
  void add_state(ShardId shard, std::vector<std::byte>& bytes) const;
  void tell() const;

  LimitsListener* listener_ = nullptr;
  security::LimitCpu state_;
  // Of the state's bytes; none: not computed since it changed.
  mutable std::optional<std::uint32_t> digest_;
};

}  // namespace gcoord::server
