// The state machines of a node with the cluster view beside them: what the engine calls.
//
//   engine -> ViewMachine -> the machines that were there before
//
// Every call is passed on. View commands (RecordKind::View in the log of shard 0) are taken here,
// too, and change a state that is part of shard 0's: it is in its checkpoints, its snapshots and
// its digest. The bytes of shard 0: what is passed on gives, the view's state, its length u32, and
// the view's mark; without a view there is nothing behind what is passed on, as in earlier
// releases. What was learned is told to a listener, which is set once the engine is open.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/ids.h"
#include "membership/view/cpu.h"
#include "protocol/reply_sink.h"
#include "server/interfaces/passing_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class ViewListener {
 public:
  virtual ~ViewListener() = default;

  // Another view, or the first one that is known.
  virtual void on_view() = 0;
  // A proposal of this node was decided, or will not be.
  virtual void on_view_decided(std::uint64_t cookie, membership::ViewCode code) = 0;
  virtual void on_view_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) = 0;
};

// The record that is proposed for a command. time_ms: Unix milliseconds.
std::vector<std::byte> view_record(std::span<const std::byte> command,
                                   protocol::RecordOrigin origin,
                                   std::uint64_t time_ms);

class ViewMachine final : public PassingMachine {
 public:
  // inner outlives it.
  explicit ViewMachine(StateMachine& inner) : PassingMachine(inner) {}

  // nullptr: nobody listens any more. Whoever listens looks at views() first.
  void set_listener(ViewListener* listener) { listener_ = listener; }

  const membership::ViewCpu& views() const { return views_; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override;
  void witness_state(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;
  bool continues(ShardId shard, std::span<const std::byte> bytes) const override;
  std::uint64_t state_hash(ShardId shard) const override;

 private:
  void add_state(ShardId shard, std::vector<std::byte>& bytes) const;
  void tell() const;

  ViewListener* listener_ = nullptr;
  membership::ViewCpu views_;
};

}  // namespace gcoord::server
