// Host emulation of the lock tables of a device's turn, for tests of what decides their commands.
#pragma once

#include "bench/lock_turn/apply.h"
#include "bench/lock_turn/device.h"
#include "bench/lock_turn/plan.h"
#include "bench/lock_turn/rows.h"
#include "common/tables/column_arena.h"
#include "locks/snapshot/snapshot.h"
#include "server/resident/node/lock_turn_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace gcoord::server {

// A group has one member, and threads share the stripes. Rows with at least `together` entries are
// decided by their group in windows.
class TwinLockTurn final : public bench::LockTurnDevice {
 public:
  explicit TwinLockTurn(const bench::LockTurnPlan& plan,
                        std::uint32_t thread_count = 1,
                        std::uint32_t together = bench::kTogetherLeast)
      : arena_(bench::lock_turn_bytes_of(plan)), thread_count_(thread_count) {
    abort_ = arena_.column<std::uint64_t>(1);
    CarvedLocks carved = carve_lock_turn(arena_, plan.shape, plan.sizes, 9, abort_);
    std::copy(carved.stripes.begin(), carved.stripes.end(), carved.service.stripes);
    work_.service = carved.service;
    work_.stripe_count = plan.shape.stripe_count;
    work_.row_count = plan.shape.shard_count;
    work_.together = together;
  }

  Status prepare(const bench::LockTurnRows& rows) override {
    done_.assign(work_.row_count, 0);
    results_.assign(rows.entries().size(), TurnResult{});
    work_.entries = rows.entries().data();
    work_.first = rows.first().data();
    work_.base = rows.base().data();
    work_.done = done_.data();
    work_.results = results_.data();
    return {};
  }

  void apply_together(std::uint32_t least) override {
    work_.together = least == 0 ? bench::kNeverTogether : least;
  }

  Status apply() override {
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 0; k < thread_count_; ++k) {
      threads.emplace_back([this, k] {
        for (std::uint32_t stripe = k; stripe < work_.stripe_count; stripe += thread_count_) {
          bench::apply_stripe(work_, stripe);
        }
      });
    }
    threads.clear();
    return *abort_ == 0 ? Status{} : Status{StatusCode::ResourceExhausted, "no free rows"};
  }

  Result<std::vector<TurnResult>> results() override { return results_; }

  std::size_t table_bytes() const override { return arena_.used_bytes(); }

  // Of all stripes: commands that were decided in windows.
  std::uint64_t decided_in_windows() const {
    std::uint64_t sum = 0;
    for (std::uint32_t k = 0; k < work_.stripe_count; ++k) {
      sum += stripe(k).window->decided_count;
    }
    return sum;
  }

  std::vector<std::byte> snapshot(ShardId shard) const {
    const std::uint32_t number = row_of_shard(shard) / work_.service.rows_per_stripe;
    return locks::write_snapshot(stripe(number).shared.tables, shard);
  }

  const LockStripe& stripe(std::uint32_t number) const { return work_.service.stripes[number]; }

 private:
  ColumnArena arena_;
  std::uint32_t thread_count_;
  std::uint64_t* abort_ = nullptr;
  bench::LockTurnWork work_;
  std::vector<std::uint32_t> done_;
  std::vector<TurnResult> results_;
};

}  // namespace gcoord::server
