#include "chaos/resident/resident_launch.h"
#include "chaos/resident/resident_world.h"
#include "common/device_arena.h"

namespace gcoord::chaos {
namespace {

// What the kernels need besides the cluster itself.
std::size_t world_bytes(const ResidentShape& shape, std::uint32_t wide_count) {
  const std::size_t tables =
      consensus::packed_table_bytes(shape.shard_count, kResidentNodes, wide_count);
  const std::size_t lists = ColumnArena::bytes_for<std::uint32_t>(shape.shard_count);
  return resident_bytes(shape) + kResidentNodes * (tables + lists) +
         ColumnArena::bytes_for<std::uint32_t>(2 * kResidentNodes) +
         ColumnArena::bytes_for<std::uint64_t>(kResidentNodes) +
         ColumnArena::bytes_for<std::uint64_t>(shape.shard_count) +
         ColumnArena::bytes_for<consensus::RowCopy>(1);
}

class DeviceWorld final : public ResidentWorld {
 public:
  DeviceWorld(std::unique_ptr<DeviceArena> arena,
              const ResidentShape& shape,
              std::uint32_t wide_count)
      : arena_(std::move(arena)), wide_count_(wide_count) {
    world_.view = carve_resident(*arena_, shape);
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      world_.table[node] =
          consensus::carve_packed_table(*arena_, shape.shard_count, kResidentNodes, wide_count);
      world_.active.row[node] = arena_->column<std::uint32_t>(shape.shard_count);
    }
    world_.active.count = arena_->column<std::uint32_t>(2 * kResidentNodes);
    world_.active.steps = arena_->column<std::uint64_t>(kResidentNodes);
    digest_ = arena_->column<std::uint64_t>(shape.shard_count);
    row_ = arena_->column<consensus::RowCopy>(1);
    launch_start(world_);
  }

  Status run(const ResidentTurn& turn) override {
    launch_scan(world_, turn);
    launch_steps(world_, turn);
    return Status{};
  }

  Status finish() override {
    GCOORD_TRY_STATUS(synchronize_device("turns of a resident cluster"));
    for (const consensus::PackedTable& table : world_.table) {
      std::uint32_t exhausted = 0;
      GCOORD_TRY_STATUS(copy_to_host(&exhausted, table.exhausted, 1));
      if (exhausted != 0) {
        return Status{StatusCode::ResourceExhausted,
                      std::to_string(exhausted) + " rows found no place among " +
                          std::to_string(wide_count_) + " wide ones"};
      }
    }
    return Status{};
  }

  Status digests(std::uint32_t node, std::vector<std::uint64_t>& out) override {
    out.resize(world_.view.shape.shard_count);
    launch_digests(world_, node, digest_);
    GCOORD_TRY_STATUS(finish());
    return copy_to_host(out.data(), digest_, out.size());
  }

  Result<consensus::RowCopy> row(std::uint32_t node, std::uint32_t row) override {
    consensus::RowCopy copy;
    launch_row(world_, node, row, row_);
    GCOORD_TRY_STATUS(finish());
    GCOORD_TRY_STATUS(copy_to_host(&copy, row_, 1));
    return copy;
  }

  Status services(std::uint32_t node, std::vector<Service>& out) override {
    out.resize(world_.view.shape.shard_count);
    GCOORD_TRY_STATUS(finish());
    return copy_to_host(out.data(), world_.view.node[node].service, out.size());
  }

  Result<std::uint64_t> steps() override {
    std::uint64_t steps[kResidentNodes] = {};
    GCOORD_TRY_STATUS(finish());
    GCOORD_TRY_STATUS(copy_to_host(steps, world_.active.steps, kResidentNodes));
    return steps[0] + steps[1] + steps[2];
  }

  ResidentMemory memory() const override {
    const ResidentShape& shape = world_.view.shape;
    const std::size_t rows = shape.shard_count;
    const std::size_t wide =
        consensus::shard_columns_bytes(consensus::whole_words(wide_count_), kResidentNodes);
    const std::size_t found = rows * (sizeof(std::uint32_t) + 1) * shape.ages;  // Where it speaks.
    const std::size_t row_bytes =
        kResidentNodes * (rows * (sizeof(Tick) + sizeof(consensus::PackedRow) + 1) + found +
                          rows * sizeof(std::uint32_t));
    return {
        .row_bytes = row_bytes,
        .wide_bytes = kResidentNodes * wide,
        .outgoing_bytes = kResidentNodes * (shape.ages * outgoing_bytes(shape) - found),
        .log_bytes = kResidentNodes * rows * (shape.log_slots * sizeof(Entry) + sizeof(Service))};
  }

 private:
  std::unique_ptr<DeviceArena> arena_;
  std::uint32_t wide_count_;
  DeviceWorldView world_;
  std::uint64_t* digest_ = nullptr;
  consensus::RowCopy* row_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<ResidentWorld>> make_device_world(int device,
                                                         const ResidentShape& shape,
                                                         std::uint32_t wide_count) {
  GCOORD_TRY(auto arena, DeviceArena::make(device, world_bytes(shape, wide_count)));
  return std::unique_ptr<ResidentWorld>(
      std::make_unique<DeviceWorld>(std::move(arena), shape, wide_count));
}

}  // namespace gcoord::chaos
