#include "chaos/parity/launch.h"
#include "chaos/parity/world.h"
#include "chaos/parity/world_memory.h"
#include "common/device/device_arena.h"

namespace gcoord::chaos {
namespace {

// One launch holds many turns, also under a tool that checks each access.
constexpr std::uint32_t kTurnsMs = 600'000;

class DeviceWorld final : public ResidentWorld {
 public:
  DeviceWorld(std::unique_ptr<DeviceArena> arena,
              const ResidentShape& shape,
              std::uint32_t wide_count)
      : arena_(std::move(arena)),
        wide_count_(wide_count),
        memory_(carve_device_world(*arena_, shape, wide_count)) {
    launch_start(memory_.world);
  }

  Status run(const ResidentTurn& turn) override {
    age_outgoing(memory_.world.view);
    launch_turn(memory_.world, turn);
    return Status{};
  }

  Status finish() override {
    GCOORD_TRY_STATUS(synchronize_device("turns of a resident cluster", kTurnsMs));
    for (const consensus::PackedTable& table : memory_.world.table) {
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
    out.resize(memory_.world.view.shape.shard_count);
    launch_digests(memory_.world, node, memory_.digest);
    GCOORD_TRY_STATUS(finish());
    return copy_to_host(out.data(), memory_.digest, out.size());
  }

  Result<consensus::RowCopy> row(std::uint32_t node, std::uint32_t row) override {
    consensus::RowCopy copy;
    launch_row(memory_.world, node, row, memory_.row);
    GCOORD_TRY_STATUS(finish());
    GCOORD_TRY_STATUS(copy_to_host(&copy, memory_.row, 1));
    return copy;
  }

  Status services(std::uint32_t node, std::vector<Service>& out) override {
    out.resize(memory_.world.view.shape.shard_count);
    GCOORD_TRY_STATUS(finish());
    return copy_to_host(out.data(), memory_.world.view.node[node].service, out.size());
  }

  Result<std::uint64_t> steps() override {
    std::uint64_t steps[kResidentNodes] = {};
    GCOORD_TRY_STATUS(finish());
    GCOORD_TRY_STATUS(copy_to_host(steps, memory_.world.active.steps, kResidentNodes));
    return steps[0] + steps[1] + steps[2];
  }

  ResidentMemory memory() const override {
    return device_world_memory(memory_.world.view.shape, wide_count_);
  }

 private:
  std::unique_ptr<DeviceArena> arena_;
  std::uint32_t wide_count_;
  DeviceWorldMemory memory_;
};

}  // namespace

Result<std::unique_ptr<ResidentWorld>> make_device_world(int device,
                                                         const ResidentShape& shape,
                                                         std::uint32_t wide_count) {
  GCOORD_TRY(auto arena, DeviceArena::make(device, device_world_bytes(shape, wide_count)));
  return std::unique_ptr<ResidentWorld>(
      std::make_unique<DeviceWorld>(std::move(arena), shape, wide_count));
}

}  // namespace gcoord::chaos
