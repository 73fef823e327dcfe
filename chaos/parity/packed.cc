#include "chaos/parity/device.h"
#include "chaos/parity/world.h"
#include "chaos/parity/world_memory.h"

namespace gcoord::chaos {
namespace {

// What the kernels do, one thread after the other.
class PackedWorld final : public ResidentWorld {
 public:
  PackedWorld(const ResidentShape& shape, std::uint32_t wide_count)
      : arena_(device_world_bytes(shape, wide_count)),
        memory_(carve_device_world(arena_, shape, wide_count)) {
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      for (std::uint32_t row = 0; row < shape.shard_count; ++row) {
        start_place(memory_.world, node, row);
      }
    }
  }

  Status run(const ResidentTurn& turn) override {
    const DeviceWorldView& world = memory_.world;
    age_outgoing(memory_.world.view);
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      run_rows(turn, node);
      RowArrays arrays;
      run_rest(world, turn, node, 0, 1, arrays);
      close_turn(world.active, turn.number, node);
    }
    return Status{};
  }

  Status finish() override {
    for (const consensus::PackedTable& table : memory_.world.table) {
      if (*table.exhausted != 0) {
        return Status{StatusCode::ResourceExhausted, "the pool of wide rows is too small"};
      }
    }
    return Status{};
  }

  Status digests(std::uint32_t node, std::vector<std::uint64_t>& out) override {
    out.resize(memory_.world.view.shape.shard_count);
    for (std::uint32_t row = 0; row < out.size(); ++row) {
      digest_place(memory_.world, node, row, out.data());
    }
    return finish();
  }

  Result<consensus::RowCopy> row(std::uint32_t node, std::uint32_t row) override {
    consensus::RowCopy copy;
    copy_place(memory_.world, node, row, copy);
    return copy;
  }

  Status services(std::uint32_t node, std::vector<Service>& out) override {
    const ResidentView& view = memory_.world.view;
    out.assign(view.node[node].service, view.node[node].service + view.shape.shard_count);
    return finish();
  }

  Result<std::uint64_t> steps() override {
    const std::uint64_t* steps = memory_.world.active.steps;
    return steps[0] + steps[1] + steps[2];
  }

  ResidentMemory memory() const override {
    return device_world_memory(memory_.world.view.shape, memory_.world.table[0].wide.row_count);
  }

 private:
  // As the first kernel, rows four by four.
  void run_rows(const ResidentTurn& turn, std::uint32_t node) {
    const DeviceWorldView& world = memory_.world;
    const consensus::StepInput input = step_input_of(turn.node[node]);
    std::uint32_t& count = world.active.count_of(turn.number, node);
    for (std::uint32_t first = 0; first < world.view.shape.shard_count;
         first += kScanRowsPerThread) {
      const std::uint32_t wanting = four_wanting(world, turn, node, first);
      for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
        if ((wanting >> k & 1u) != 0) {
          RowWork work;
          RowLists lists;
          const std::uint32_t row = first + k;
          RowAhead ahead;
          const RowTurn t{world.view, turn, input, node, row, count++, work, lists, false, &ahead};
          gather_row(t);
          consensus::PackedRow& packed = world.table[node].packed[row];
          consensus::role_of(packed) == consensus::Role::Leader
              ? run_place<consensus::Role::Leader>(world, t, packed)
              : run_place<consensus::Role::Follower>(world, t, packed);
        }
      }
    }
  }

  ColumnArena arena_;
  DeviceWorldMemory memory_;
};

}  // namespace

std::unique_ptr<ResidentWorld> make_packed_world(const ResidentShape& shape,
                                                 std::uint32_t wide_count) {
  return std::make_unique<PackedWorld>(shape, wide_count);
}

}  // namespace gcoord::chaos
