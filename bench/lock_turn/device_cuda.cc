#include "bench/lock_turn/device.h"
#include "bench/lock_turn/launch.h"
#include "common/device/device_arena.h"

#include <utility>

namespace gcoord::bench {
namespace {

// A batch is one kernel, in which a hot shard's commands come one after another.
constexpr std::uint32_t kBatchMs = 120'000;

class CudaLockTurn final : public LockTurnDevice {
 public:
  CudaLockTurn(int device, std::unique_ptr<DeviceArena> tables)
      : device_(device), tables_(std::move(tables)) {}

  Status open(const LockTurnPlan& plan) {
    abort_ = tables_->column<std::uint64_t>(1);
    server::CarvedLocks carved =
        server::carve_lock_turn(*tables_, plan.shape, plan.sizes, 1, abort_);
    work_.service = carved.service;
    work_.stripe_count = plan.shape.stripe_count;
    work_.row_count = plan.shape.shard_count;
    return copy_to_device(carved.service.stripes, carved.stripes.data(), carved.stripes.size());
  }

  Status prepare(const LockTurnRows& rows) override {
    const std::size_t entry_count = rows.entries().size();
    const std::size_t bytes = ColumnArena::bytes_for<locks::LockEntry>(entry_count) +
                              ColumnArena::bytes_for<std::uint32_t>(work_.row_count + 1) +
                              ColumnArena::bytes_for<std::uint64_t>(work_.row_count) +
                              ColumnArena::bytes_for<std::uint32_t>(work_.row_count) +
                              ColumnArena::bytes_for<server::TurnResult>(entry_count);
    batch_ = nullptr;
    GCOORD_TRY(batch_, DeviceArena::make(device_, bytes));
    entry_count_ = entry_count;
    auto* entries = batch_->column<locks::LockEntry>(entry_count);
    auto* first = batch_->column<std::uint32_t>(work_.row_count + 1);
    auto* base = batch_->column<std::uint64_t>(work_.row_count);
    work_.done = batch_->column<std::uint32_t>(work_.row_count);
    work_.results = batch_->column<server::TurnResult>(entry_count);
    GCOORD_TRY_STATUS(copy_to_device(entries, rows.entries().data(), entry_count));
    GCOORD_TRY_STATUS(copy_to_device(first, rows.first().data(), rows.first().size()));
    GCOORD_TRY_STATUS(copy_to_device(base, rows.base().data(), rows.base().size()));
    work_.entries = entries;
    work_.first = first;
    work_.base = base;
    return {};
  }

  void apply_together(std::uint32_t least) override {
    work_.together = least == 0 ? kNeverTogether : least;
  }

  Status apply() override {
    launch_apply_stripes(work_);
    GCOORD_TRY_STATUS(synchronize_device("applying lock commands", kBatchMs));
    std::uint64_t aborted = 0;
    GCOORD_TRY_STATUS(copy_to_host(&aborted, abort_, 1));
    return aborted == 0 ? Status{}
                        : Status{StatusCode::ResourceExhausted, "a stripe has no free rows left"};
  }

  Result<std::vector<server::TurnResult>> results() override {
    std::vector<server::TurnResult> results(entry_count_);
    GCOORD_TRY_STATUS(copy_to_host(results.data(), work_.results, entry_count_));
    return results;
  }

  std::size_t table_bytes() const override { return tables_->used_bytes(); }

 private:
  int device_;
  std::unique_ptr<DeviceArena> tables_;
  std::unique_ptr<DeviceArena> batch_;
  LockTurnWork work_;
  std::uint64_t* abort_ = nullptr;
  std::size_t entry_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<LockTurnDevice>> open_lock_turn_device(int device,
                                                              const LockTurnPlan& plan) {
  GCOORD_TRY_STATUS(probe_device(device));
  GCOORD_TRY_STATUS(prepare_device_copies());
  GCOORD_TRY(auto tables, DeviceArena::make(device, lock_turn_bytes_of(plan)));
  auto opened = std::make_unique<CudaLockTurn>(device, std::move(tables));
  GCOORD_TRY_STATUS(opened->open(plan));
  return std::unique_ptr<LockTurnDevice>{std::move(opened)};
}

}  // namespace gcoord::bench
