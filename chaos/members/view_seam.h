// Seam between a simulated node's engine and its view machine: whoever judges hears of every view
// at the entry that makes it.
//
// One thread, the engine's.
#pragma once

#include "server/interfaces/passing_machine.h"
#include "server/members/view_machine.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gcoord::chaos {

// A node has another view than before.
struct SeenView {
  std::uint64_t before = 0;  // The epoch of the view before; 0: none.
  const membership::ClusterView& view;
  bool installed = false;  // With a snapshot or from a checkpoint; else by one entry.
};

class ViewSeam final : public server::PassingMachine {
 public:
  using OnView = std::function<void(const SeenView&)>;

  // `inner` is the machine, or stands around it.
  ViewSeam(server::StateMachine& inner, const server::ViewMachine& machine, OnView on_view)
      : PassingMachine(inner), machine_(machine), on_view_(std::move(on_view)) {}

  void apply(const server::AppliedEntry& entry) override {
    const std::uint64_t before = epoch();
    inner_.apply(entry);
    tell(before, false);
  }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.serialize(shard, bytes);
  }

  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.checkpoint(shard, bytes);
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    const std::uint64_t before = epoch();
    GCOORD_TRY_STATUS(inner_.install(shard, bytes));
    tell(before, true);
    return Status{};
  }

  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override {
    return inner_.plausible(shard, bytes);
  }

  bool continues(ShardId shard, std::span<const std::byte> bytes) const override {
    return inner_.continues(shard, bytes);
  }

 private:
  std::uint64_t epoch() const { return machine_.views().view().epoch; }

  void tell(std::uint64_t before, bool installed) const {
    if (epoch() != before) {
      on_view_({before, machine_.views().view(), installed});
    }
  }

  const server::ViewMachine& machine_;
  OnView on_view_;
};

}  // namespace gcoord::chaos
