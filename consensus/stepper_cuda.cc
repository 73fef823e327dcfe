#include "consensus/stepper_cuda.h"

#include "common/device_arena.h"
#include "consensus/packed_upload.h"
#include "consensus/stepper_cuda_launch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gcoord::consensus {
namespace {

// Rows of one launch: their inboxes and outboxes take 12 MiB of device memory.
constexpr std::uint32_t kBatchRows = 4096;

// Peers of a node at most, which bounds the one buffer that their records travel in.
constexpr std::uint32_t kPeersMax = 1024;

// What is done about an error inside a step, whose interface has no way to report one.
void stop_on_failure(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "gcoord: the CUDA stepper stops the node: %s\n", status.message().c_str());
    std::fflush(stderr);
    std::abort();
  }
}

// Where the inputs and outputs of one launch lie on the device.
struct BatchMemory {
  std::uint32_t* rows = nullptr;
  Inbox* in = nullptr;
  Outbox* out = nullptr;
  RowCopy* after = nullptr;
  StepInput* input = nullptr;
  PeerLiveness* peer = nullptr;

  static std::size_t bytes() {
    return ColumnArena::bytes_for<std::uint32_t>(kBatchRows) +
           ColumnArena::bytes_for<Inbox>(kBatchRows) + ColumnArena::bytes_for<Outbox>(kBatchRows) +
           ColumnArena::bytes_for<RowCopy>(kBatchRows) + ColumnArena::bytes_for<StepInput>(1) +
           ColumnArena::bytes_for<PeerLiveness>(kPeersMax);
  }

  static BatchMemory carve(DeviceArena& arena) {
    BatchMemory memory;
    memory.rows = arena.column<std::uint32_t>(kBatchRows);
    memory.in = arena.column<Inbox>(kBatchRows);
    memory.out = arena.column<Outbox>(kBatchRows);
    memory.after = arena.column<RowCopy>(kBatchRows);
    memory.input = arena.column<StepInput>(1);
    memory.peer = arena.column<PeerLiveness>(kPeersMax);
    return memory;
  }
};

class CudaStepper final : public Stepper {
 public:
  CudaStepper(std::unique_ptr<DeviceArena> arena, std::uint32_t row_count, std::uint32_t slot_count)
      : arena_(std::move(arena)),
        table_(carve_packed_table(*arena_, row_count, slot_count, row_count)),
        memory_(BatchMemory::carve(*arena_)),
        mirror_arena_(shard_columns_bytes(row_count, slot_count)),
        mirror_(carve_shard_columns(mirror_arena_, row_count, slot_count)),
        after_(kBatchRows) {}

  void step(std::span<const std::uint32_t> rows,
            std::span<const Inbox> in,
            std::span<Outbox> out,
            const StepInput& input) override {
    GCOORD_ASSERT(in.size() >= rows.size());
    GCOORD_ASSERT(out.size() >= rows.size());
    if (!uploaded_) {
      stop_on_failure(upload_columns());
      uploaded_ = true;
    }
    stop_on_failure(upload_input(input));
    for (std::size_t first = 0; first < rows.size(); first += kBatchRows) {
      const std::size_t count = std::min<std::size_t>(kBatchRows, rows.size() - first);
      stop_on_failure(step_batch(
          rows.subspan(first, count), in.subspan(first, count), out.subspan(first, count)));
    }
  }

  const ShardColumns& columns() const override { return mirror_; }

 private:
  // Packs the mirror on the host, with a table of the same shape, and copies it over whole.
  Status upload_columns() {
    const std::uint32_t places = table_.wide.row_count;
    ColumnArena arena(packed_table_bytes(table_.row_count, table_.slot_count, places));
    const PackedTable packed =
        carve_packed_table(arena, table_.row_count, table_.slot_count, places);
    for (std::uint32_t row = 0; row < table_.row_count; ++row) {
      GCOORD_ASSERT(store_row(packed, row, kNotWide, ShardRef(mirror_, row)));
    }
    return copy_packed_table(packed, table_);
  }

  Status upload_input(const StepInput& input) {
    GCOORD_ASSERT(input.peer_count <= kPeersMax);
    StepInput on_device = input;
    on_device.peer = memory_.peer;
    GCOORD_TRY_STATUS(copy_to_device(memory_.input, &on_device, 1));
    return copy_to_device(memory_.peer, input.peer, input.peer_count);
  }

  Status step_batch(std::span<const std::uint32_t> rows,
                    std::span<const Inbox> in,
                    std::span<Outbox> out) {
    GCOORD_TRY_STATUS(copy_to_device(memory_.rows, rows.data(), rows.size()));
    GCOORD_TRY_STATUS(copy_to_device(memory_.in, in.data(), rows.size()));
    const PackedBatch batch{static_cast<std::uint32_t>(rows.size()),
                            memory_.rows,
                            memory_.in,
                            memory_.out,
                            memory_.after};
    launch_packed_steps(table_, batch, memory_.input);
    GCOORD_TRY_STATUS(synchronize_device("a step of rows"));
    GCOORD_TRY_STATUS(copy_to_host(out.data(), memory_.out, rows.size()));
    GCOORD_TRY_STATUS(copy_to_host(after_.data(), memory_.after, rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      copy_row(ref_of(after_[k], ShardId{rows[k]}, mirror_.slot_count), ShardRef(mirror_, rows[k]));
    }
    return Status{};
  }

  std::unique_ptr<DeviceArena> arena_;
  PackedTable table_;
  BatchMemory memory_;
  ColumnArena mirror_arena_;
  ShardColumns mirror_;
  std::vector<RowCopy> after_;
  bool uploaded_ = false;
};

}  // namespace

Result<std::unique_ptr<Stepper>> make_cuda_stepper(int device,
                                                   std::uint32_t row_count,
                                                   std::uint32_t slot_count) {
  // Room for every row to be wide: a caller of this interface has no way to lose a step.
  const std::size_t bytes =
      packed_table_bytes(row_count, slot_count, row_count) + BatchMemory::bytes();
  GCOORD_TRY(auto arena, DeviceArena::make(device, bytes));
  return std::unique_ptr<Stepper>(
      std::make_unique<CudaStepper>(std::move(arena), row_count, slot_count));
}

}  // namespace gcoord::consensus
