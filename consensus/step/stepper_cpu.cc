#include "common/assert.h"
#include "common/tables/column_arena.h"
#include "consensus/step/settle.h"
#include "consensus/step/stepper.h"

#include <algorithm>

namespace gcoord::consensus {
namespace {

// Inboxes and outboxes of a batch stay in the second-level cache.
constexpr std::uint32_t kBatchRows = 128;

class CpuStepper final : public Stepper {
 public:
  CpuStepper(std::uint32_t row_count, std::uint32_t slot_count)
      : arena_(growing_columns_bytes(row_count), shard_columns_bytes(row_count, slot_count)),
        columns_(carve_shard_columns(arena_, row_count, slot_count)) {}

  Status step(std::span<const std::uint32_t> rows,
              std::span<const Inbox> in,
              std::span<Outbox> out,
              const StepInput& input) override {
    GCOORD_ASSERT(in.size() >= rows.size());
    GCOORD_ASSERT(out.size() >= rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      consensus::step(ShardRef(columns_, rows[k]), in[k], out[k], input);
    }
    return {};
  }

  bool settle(const RowInput& given, Outbox& out) override {
    out.clear();
    const StepArrays arrays{.configuration = &given.in.configuration,
                            .stored = out.stored,
                            .sink = sink_of(out.message, kOutboxMessages)};
    const StepRow row{ShardRef(columns_, given.row), given.input, out, arrays};
    return given.in.message_count == 0 ? settle_stored(row, given.in.storage_ack)
                                       : settle_message(row, given.in.message[0]);
  }

  const ShardColumns& columns() const override { return columns_; }

  void name_rows(const RowMap& map) override { consensus::name_rows(columns_, map); }

  Status grow(std::uint32_t slot_count) override {
    grow_slots(columns_, std::max(slot_count, columns_.slot_count));
    return {};
  }

  std::uint32_t batch_rows() const override { return kBatchRows; }

  StepperReport report() const override { return {.name = "cpu"}; }

 private:
  ColumnArena arena_;
  ShardColumns columns_;
};

}  // namespace

std::unique_ptr<Stepper> make_cpu_stepper(std::uint32_t row_count, std::uint32_t slot_count) {
  return std::make_unique<CpuStepper>(row_count, slot_count);
}

}  // namespace gcoord::consensus
