#include "chaos/parity/digest.h"
#include "chaos/parity/drain_outbox.h"
#include "chaos/parity/start.h"
#include "chaos/parity/turn.h"
#include "chaos/parity/world.h"
#include "common/tables/column_arena.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

namespace gcoord::chaos {
namespace {

class HostWorld final : public ResidentWorld {
 public:
  HostWorld(const ResidentShape& shape, std::uint32_t threads)
      : threads_(std::max(threads, 1u)),
        arena_(resident_bytes(shape) +
               kResidentNodes * consensus::shard_columns_bytes(shape.shard_count, kResidentNodes)),
        view_(carve_resident(arena_, shape)) {
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      columns_[node] = consensus::carve_shard_columns(arena_, shape.shard_count, kResidentNodes);
      for (std::uint32_t row = 0; row < shape.shard_count; ++row) {
        start_row({columns_[node], row}, NodeId{node + 1});
      }
    }
  }

  Status run(const ResidentTurn& turn) override {
    age_outgoing(view_);
    each_slice([&](std::uint32_t first, std::uint32_t last) {
      std::uint64_t steps = 0;
      for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
        const consensus::StepInput input = step_input_of(turn.node[node]);
        for (std::uint32_t row = first; row < last; ++row) {
          steps += run_row(turn, input, node, row) ? 1u : 0u;
        }
      }
      steps_.fetch_add(steps, std::memory_order_relaxed);  // A sum; ordered by the join.
    });
    return Status{};
  }

  Status finish() override { return Status{}; }

  Status digests(std::uint32_t node, std::vector<std::uint64_t>& out) override {
    out.resize(view_.shape.shard_count);
    each_slice([&](std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t row = first; row < last; ++row) {
        out[row] = resident_digest(view_, node, row, {columns_[node], row});
      }
    });
    return Status{};
  }

  Result<consensus::RowCopy> row(std::uint32_t node, std::uint32_t row) override {
    return consensus::copy_of({columns_[node], row});
  }

  Status services(std::uint32_t node, std::vector<Service>& out) override {
    out.assign(view_.node[node].service, view_.node[node].service + view_.shape.shard_count);
    return Status{};
  }

  Result<std::uint64_t> steps() override { return steps_.load(std::memory_order_relaxed); }

  ResidentMemory memory() const override {
    return {.row_bytes = kResidentNodes *
                         consensus::shard_columns_bytes(view_.shape.shard_count, kResidentNodes),
            .outgoing_bytes = kResidentNodes * view_.shape.ages * outgoing_bytes(view_.shape)};
  }

 private:
  // A row speaks at the place of its own number.
  bool run_row(const ResidentTurn& turn,
               const consensus::StepInput& input,
               std::uint32_t node,
               std::uint32_t row) {
    const consensus::ShardRef shard(columns_[node], row);
    if (!wants_turn(view_, turn, node, row, shard.hot().deadline)) {
      return false;
    }
    RowWork work;
    RowLists lists;
    const RowTurn t{view_, turn, input, node, row, row, work, lists};
    gather_row(t);
    step_row(t, shard);
    carry_out_row(t);
    return true;
  }

  // Rows of different shards have nothing to do with each other, so a thread takes a range of
  // shards with all their replicas.
  void each_slice(const std::function<void(std::uint32_t, std::uint32_t)>& work) {
    const std::uint64_t count = view_.shape.shard_count;
    std::vector<std::jthread> pool;
    for (std::uint32_t k = 0; k < threads_; ++k) {
      const auto first = static_cast<std::uint32_t>(count * k / threads_);
      const auto last = static_cast<std::uint32_t>(count * (k + 1) / threads_);
      pool.emplace_back([&work, first, last] { work(first, last); });
    }
  }

  std::uint32_t threads_;
  ColumnArena arena_;
  ResidentView view_;
  consensus::ShardColumns columns_[kResidentNodes];
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace

std::unique_ptr<ResidentWorld> make_host_world(const ResidentShape& shape, std::uint32_t threads) {
  return std::make_unique<HostWorld>(shape, threads);
}

}  // namespace gcoord::chaos
