// The host's twin of the GPU's LockDevice: plain memory, and loops in place of kernels.
//
// It runs the same stages, so that whatever LockParallel and its headers do wrong shows without a
// GPU. Runs of one length are shuffled by a seed, since nothing may depend on their order, and any
// number of threads may take them, as the groups of a GPU do.
#pragma once

#include "common/random.h"
#include "common/tables/column_arena.h"
#include "locks/parallel/device.h"
#include "locks/parallel/run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace gcoord::locks {

class HostLockDevice final : public LockDevice {
 public:
  // Runs of `long_run_class` and above are applied as a group would.
  HostLockDevice(std::uint64_t seed,
                 std::uint32_t thread_count,
                 std::uint32_t long_run_class = kLongRunClass)
      : random_(seed), thread_count_(thread_count), long_run_class_(long_run_class) {}

  Result<LockMemory> reserve(std::size_t bytes) override {
    constexpr std::size_t kAlignment = ColumnArena::kAlignment;
    const std::size_t whole = (bytes + kAlignment) / kAlignment * kAlignment;
    void* start = std::aligned_alloc(kAlignment, whole);
    std::memset(start, 0, whole);
    return LockMemory(start, &std::free);
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Status copy_within(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  std::size_t scratch_bytes(std::uint32_t /*count_max*/) override { return 1; }

  Status run(const LockBatch& batch, void* /*scratch*/, std::size_t /*scratch_bytes*/) override {
    *batch.state = LockBatchState{};
    std::fill_n(batch.event_counts, batch.count, 0u);
    constexpr std::uint32_t kStride = 3;
    for (std::uint32_t k = 0; k < kStride; ++k) {
      count_commands(batch, k, kStride);
    }
    group(batch);
    for (std::uint32_t k = 0; k < batch.count; ++k) {
      list_run(batch, k);
    }
    shuffle_runs(batch);
    LockBatch ready = batch;
    ready.long_run_class = long_run_class_;
    for (std::uint32_t k = 0; k < batch.count; ++k) {
      make_ready(ready, k);
    }
    apply_all(ready);
    return {};
  }

  Status order_events(const LockBatch& batch,
                      std::uint32_t event_count,
                      std::uint32_t* first_events,
                      LockEvent* ordered,
                      void* /*scratch*/,
                      std::size_t /*scratch_bytes*/) override {
    std::exclusive_scan(
        batch.event_counts, batch.event_counts + batch.count, first_events, std::uint32_t{0});
    for (std::uint32_t k = 0; k < event_count; ++k) {
      order_event(batch, first_events, ordered, k);
    }
    return {};
  }

  Status move_ring(const RingMove& move) override {
    for (std::uint32_t k = 0; k < move.row_count; ++k) {
      locks::move_ring(move, k);
    }
    return {};
  }

  Status index_locks(const LockTables& tables) override {
    for (std::uint32_t row = 1; row <= tables.locks.capacity; ++row) {
      index_lock(tables, LockRow{row});
    }
    return {};
  }

  Status index_sessions(const LockTables& tables) override {
    for (std::uint32_t row = 1; row <= tables.sessions.capacity; ++row) {
      index_session(tables, SessionRow{row});
    }
    return {};
  }

 private:
  static void group(const LockBatch& batch) {
    std::copy_n(batch.place_values, batch.count, batch.order);
    std::stable_sort(batch.order, batch.order + batch.count, [&](std::uint32_t a, std::uint32_t b) {
      return batch.shard_keys[a] < batch.shard_keys[b];
    });
    for (std::uint32_t k = 0; k < batch.count; ++k) {
      batch.sorted_shards[k] = batch.shard_keys[batch.order[k]];
    }
  }

  void shuffle_runs(const LockBatch& batch) {
    for (std::uint32_t run_class = 0; run_class < kRunClasses; ++run_class) {
      LockRun* first = batch.runs + first_run(batch.count, run_class);
      std::shuffle(first, first + batch.state->run_count[run_class], random_);
    }
  }

  void apply_all(const LockBatch& batch) const {
    if (thread_count_ == 1) {
      apply_alone(batch);
      return;
    }
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 0; k < thread_count_; ++k) {
      threads.emplace_back([&batch] { apply_alone(batch); });
    }
  }

  static void apply_alone(const LockBatch& batch) {
    const auto window = std::make_unique<LockWindow>();
    apply_long_runs(batch, *window);
    apply_short_runs(batch);
  }

  std::mt19937_64 random_;
  std::uint32_t thread_count_;
  std::uint32_t long_run_class_;
};

}  // namespace gcoord::locks
