#include "consensus/device/device_stepper.h"

#include "common/device/device_errors.h"
#include "common/region_arena.h"
#include "consensus/device/wide_places.h"

#include <algorithm>
#include <utility>

namespace gcoord::consensus {
namespace {

// Rows of one launch at most. A turn of the engine brings about as many of one cause, and a launch
// with its wait costs as much as the step of a thousand rows.
constexpr std::uint32_t kBatchRows = 4096;

// Peers of a node at most, which bounds the room that their records travel in.
constexpr std::uint32_t kPeersMax = 64;

constexpr std::size_t kPlaceBytes = 16;  // Alignment of what is staged.

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes;
}

// What a sweep brings back lies where rows come back otherwise.
static_assert(kSweepRows <= kBatchRows);
static_assert(sizeof(std::uint64_t) <= sizeof(SteppedRow));

// A table of fewer rows has no larger batches.
std::uint32_t batch_rows_of(std::uint32_t row_count) {
  return std::min(kBatchRows, row_count);
}

// Everything that a batch can stage at most: peers, rows, configurations, messages.
std::size_t staged_bytes_max(std::size_t rows) {
  return aligned(kPeersMax * sizeof(PeerLiveness)) + aligned(rows * sizeof(StagedRow)) +
         aligned(rows * sizeof(Configuration)) + rows * kInboxMessages * sizeof(Message);
}

std::size_t outgoing_bytes(std::size_t rows) {
  return rows * kOutboxMessages * sizeof(Message);
}

// One row in so many has room in the first pool: exceptional rows are few at rest.
constexpr std::uint32_t kWideOneIn = 16;

// Places of the first pool: every batch finds room for all of its rows.
std::uint32_t first_pool(const DeviceStepperOptions& options, std::uint32_t batch) {
  const std::uint32_t wide =
      options.wide_count == 0 ? options.row_count / kWideOneIn : options.wide_count;
  return std::min(wide + batch, options.row_count);
}

// The staged region as it fills: every part begins where the one before it ends.
class Staging {
 public:
  explicit Staging(std::byte* host) : host_(host) {}

  template <typename T>
  std::size_t add(const T* elements, std::size_t count) {
    const std::size_t at = used_;
    std::copy_n(elements, count, reinterpret_cast<T*>(host_ + at));
    used_ = aligned(at + count * sizeof(T));
    return at;
  }

  std::size_t used() const { return used_; }

 private:
  std::byte* host_;
  std::size_t used_ = 0;
};

class DeviceStepper final : public Stepper {
 public:
  // `options.wide_count` is the size of the pool as it was allocated.
  DeviceStepper(std::unique_ptr<StepDevice> device,
                const DeviceStepperOptions& options,
                const StepMemorySizes& sizes,
                const StepMemory& memory)
      : device_(std::move(device)),
        memory_(memory),
        device_bytes_(sizes.device_bytes()),
        batch_rows_(batch_rows_of(options.row_count)),
        wide_(options.row_count),
        check_({.one_in = options.check_one_in,
                .row_count = options.row_count,
                .slot_count = options.slot_count}),
        mirror_arena_(growing_columns_bytes(options.row_count),
                      shard_columns_bytes(options.row_count, options.slot_count)),
        mirror_(carve_shard_columns(mirror_arena_, options.row_count, options.slot_count)) {
    RegionArena rows(memory.rows, sizes.rows);
    table_ = carve_packed_rows(rows, options.row_count, options.slot_count);
    take_pool({memory.pool, sizes.pool}, options.wide_count);
  }

  Status step(std::span<const std::uint32_t> rows,
              std::span<const Inbox> in,
              std::span<Outbox> out,
              const StepInput& input) override {
    GCOORD_ASSERT(in.size() >= rows.size());
    GCOORD_ASSERT(out.size() >= rows.size());
    GCOORD_TRY_STATUS(failure_);
    for (std::size_t first = 0; first < rows.size(); first += batch_rows_) {
      const std::size_t count = std::min<std::size_t>(batch_rows_, rows.size() - first);
      failure_ = step_batch(
          rows.subspan(first, count), in.subspan(first, count), out.subspan(first, count), input);
      GCOORD_TRY_STATUS(failure_);
    }
    return {};
  }

  Status look_over() override {
    GCOORD_TRY_STATUS(failure_);
    if (check_.on() && uploaded_) {
      failure_ = sweep();
    }
    return failure_;
  }

  const ShardColumns& columns() const override { return mirror_; }

  void name_rows(const RowMap& map) override { consensus::name_rows(mirror_, map); }

  // The pool is made anew, and the next step brings all rows over again: how a packed row says that
  // a slot is empty, and where the planes of the pool lie, depend on the number of slots.
  Status grow(std::uint32_t slot_count) override {
    GCOORD_TRY_STATUS(failure_);
    if (slot_count <= mirror_.slot_count) {
      return {};
    }
    grow_slots(mirror_, slot_count);
    table_.slot_count = slot_count;
    check_.set_slot_count(slot_count);
    wide_ = WideSlots(table_.row_count);
    uploaded_ = false;
    failure_ = make_pool(std::max(room_needed(batch_rows_), table_.wide.row_count));
    return failure_;
  }

  bool columns_are_rows() const override { return false; }

  std::uint32_t batch_rows() const override { return batch_rows_; }

  StepperReport report() const override {
    return {.name = device_->name(),
            .product = device_->product(),
            .device_memory_bytes = device_bytes_,
            .launches = device_->launches(),
            .check_one_in = check_.one_in(),
            .steps_checked = check_.steps_checked(),
            .rows_swept = check_.rows_swept(),
            .sweep_looks = check_.sweep_looks()};
  }

 private:
  // Packs the mirror on the host, and copies it over whole.
  Status upload_columns() {
    const std::size_t bytes = packed_rows_bytes(table_.row_count);
    ColumnArena arena(bytes);
    const PackedTable packed = carve_packed_rows(arena, table_.row_count, table_.slot_count);
    for (std::uint32_t row = 0; row < table_.row_count; ++row) {
      pack_mirror(packed, row);
    }
    GCOORD_TRY_STATUS(device_->upload(memory_.rows, packed.deadline, bytes));
    return wide_.count() != 0 ? make_pool(room_needed(batch_rows_)) : Status{};
  }

  void pack_mirror(const PackedTable& to, std::uint32_t row) {
    const ShardRef mirror(mirror_, row);
    PackedRow packed;
    if (!pack(mirror, packed)) {
      packed = PackedRow{};
      name_place(packed, wide_.count(), mirror.hot().role);
    }
    store_packed(packed, to.packed[row]);
    to.deadline[row] = mirror.hot().deadline;
    remember(row, packed);
  }

  // --- The pool of wide rows

  // Places that a batch of so many rows may need.
  std::uint32_t room_needed(std::uint32_t batch) const {
    return std::min(wide_.count() + batch, table_.row_count);
  }

  // Before a batch. The device takes places at once for all rows that become wide in it, and each
  // of them finds one (claim_wide).
  Status make_room(std::uint32_t batch) {
    const std::uint32_t needed = room_needed(batch);
    return needed <= table_.wide.row_count ? Status{} : make_pool(needed);
  }

  // Makes a pool with room for `needed` rows, twice the one so far if there is memory, and fills it
  // from the mirror: what is wide keeps its place.
  Status make_pool(std::uint32_t needed) {
    const std::uint32_t wanted =
        std::max(needed, std::min(2 * table_.wide.row_count, table_.row_count));
    const PoolSizes sizes{.wanted = wide_pool_bytes(table_.slot_count, wanted),
                          .needed = wide_pool_bytes(table_.slot_count, needed)};
    Result<PoolRegion> made = device_->replace_pool(sizes);
    if (made.status().detail() == kDeviceMemory) {
      return {StatusCode::ResourceExhausted,
              std::to_string(wide_.count()) +
                  " shards do not fit 128 bytes: " + made.status().message(),
              kDeviceExhausted};
    }
    GCOORD_TRY_STATUS(made.status());
    device_bytes_ = device_bytes_ - pool_.bytes + made.value().bytes;
    take_pool(made.value(), made.value().bytes == sizes.wanted ? wanted : needed);
    return fill_pool();
  }

  void take_pool(const PoolRegion& pool, std::uint32_t wide_count) {
    pool_ = pool;
    RegionArena region(pool.start, pool.bytes);
    carve_wide_pool(region, table_, wide_count);
  }

  Status fill_pool() {
    ColumnArena arena(pool_.bytes);
    PackedTable image = table_;
    carve_wide_pool(arena, image, table_.wide.row_count);
    for (std::uint32_t row = 0; row < table_.row_count; ++row) {
      const std::uint32_t place = wide_.place_of(row);
      if (place != kNotWide) {
        copy_row(ShardRef(mirror_, row), ShardRef(image.wide, place));
        relaxed_set(image.wide_taken[place / kWordBits], 1u << place % kWordBits);
      }
    }
    return device_->upload(pool_.start, image.wide.hot, pool_.bytes);
  }

  // What the table holds of a row from now on; the mirror has its columns.
  void remember(std::uint32_t row, const PackedRow& packed) {
    wide_.note(row, is_wide(packed) ? static_cast<std::uint32_t>(packed.term) : kNotWide);
    check_.remember(row, check_.on() ? digest_of(row, packed) : 0);
  }

  std::uint64_t digest_of(std::uint32_t row, const PackedRow& packed) const {
    const Tick deadline = mirror_.hot[row].deadline;
    if (!is_wide(packed)) {
      return packed_digest(packed, deadline);
    }
    RowCopy wide = copy_of(ShardRef(mirror_, row));
    const ShardId place{static_cast<std::uint32_t>(packed.term)};
    return wide_digest(packed, deadline, ref_of(wide, place, mirror_.slot_count));
  }

  // --- Batches

  Status step_batch(std::span<const std::uint32_t> rows,
                    std::span<const Inbox> in,
                    std::span<Outbox> out,
                    const StepInput& input) {
    if (!uploaded_) {
      GCOORD_TRY_STATUS(upload_columns());
      uploaded_ = true;
    }
    GCOORD_TRY_STATUS(make_room(static_cast<std::uint32_t>(rows.size())));
    GCOORD_TRY_STATUS(device_->step(stage(rows, in, input)));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const DeviceCheck::Step taken{.row = rows[k], .in = &in[k], .input = &input};
      GCOORD_TRY_STATUS(accept(taken, k, out[k]));
    }
    return {};
  }

  // Takes element k of a batch back, if it is what it should be.
  Status accept(const DeviceCheck::Step& taken, std::size_t k, Outbox& out) {
    const SteppedRow& stepped = stepped_at(k);
    const ShardRef mirror(mirror_, taken.row);
    if (stepped.form == RowForm::Lost) {
      return exhausted(mirror.shard());
    }
    if (stepped.form == RowForm::Altered) {
      return check_.altered(stepped, wide_at(k), mirror);
    }
    const bool drawn = check_.draw(mirror);
    take_back(taken.row, k, taken.in->message_count, stepped, out);
    return drawn ? check_.compare(taken, mirror, out) : Status{};
  }

  Status sweep() {
    const DeviceCheck::Sweep rows = check_.next_sweep();
    GCOORD_TRY_STATUS(
        device_->sweep({.table = table_,
                        .row_first = rows.row_first,
                        .row_count = rows.row_count,
                        .digests = reinterpret_cast<std::uint64_t*>(memory_.stepped_device)}));
    const std::uint32_t row =
        check_.first_altered(rows, reinterpret_cast<const std::uint64_t*>(memory_.stepped_host));
    return row == table_.row_count ? Status{} : look_at(row);
  }

  // Has the device show a row that has changed: whoever would step it is shown it. It is asked for
  // with a digest that it does not have, because a difference may have passed in the meantime, and
  // a row must not be stepped by an input that means nothing.
  Status look_at(std::uint32_t row) {
    const Inbox nothing;
    const StepCall call = stage({&row, 1}, {&nothing, 1}, StepInput{});
    staged_rows_[0].digest = other_digest(check_.digest(row));
    std::memcpy(memory_.staged_host +
                    (reinterpret_cast<const std::byte*>(call.batch.rows) - memory_.staged_device),
                staged_rows_.data(),
                sizeof(StagedRow));
    GCOORD_TRY_STATUS(device_->step(call));
    return check_.altered(stepped_at(0), wide_at(0), ShardRef(mirror_, row));
  }

  // Not 0, which is no digest at all.
  static std::uint64_t other_digest(std::uint64_t digest) {
    return ~digest != 0 ? ~digest : std::uint64_t{1};
  }

  // Where the columns of wide rows begin among what is pushed.
  std::size_t wide_offset() const { return outgoing_bytes(batch_rows_); }

  const SteppedRow& stepped_at(std::size_t k) const {
    return reinterpret_cast<const SteppedRow*>(memory_.stepped_host)[k];
  }

  RowCopy& wide_at(std::size_t k) const {
    return reinterpret_cast<RowCopy*>(memory_.pushed_host + wide_offset())[k];
  }

  StepCall stage(std::span<const std::uint32_t> rows,
                 std::span<const Inbox> in,
                 const StepInput& input) {
    GCOORD_ASSERT(input.peer_count <= kPeersMax);
    Staging staging(memory_.staged_host);
    const std::size_t peers = staging.add(input.peer, input.peer_count);
    stage_rows(rows, in);
    const std::size_t heads = staging.add(staged_rows_.data(), staged_rows_.size());
    const std::size_t configurations = staging.add(configurations_.data(), configurations_.size());
    const std::size_t messages = staging.used();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      staging.add(in[k].message, in[k].message_count);
    }
    std::byte* base = memory_.staged_device;
    StepCall call;
    call.table = table_;
    call.batch = {.count = static_cast<std::uint32_t>(rows.size()),
                  .rows = reinterpret_cast<const StagedRow*>(base + heads),
                  .configurations = reinterpret_cast<const Configuration*>(base + configurations),
                  .messages = reinterpret_cast<const Message*>(base + messages),
                  .stepped = reinterpret_cast<SteppedRow*>(memory_.stepped_device),
                  .wide = reinterpret_cast<RowCopy*>(memory_.pushed_device + wide_offset()),
                  .outgoing = reinterpret_cast<Message*>(memory_.pushed_device)};
    call.input = input;
    call.input.peer = reinterpret_cast<const PeerLiveness*>(base + peers);
    call.staged_bytes = staging.used();
    call.stepped_bytes = rows.size() * sizeof(SteppedRow);
    return call;
  }

  void stage_rows(std::span<const std::uint32_t> rows, std::span<const Inbox> in) {
    staged_rows_.clear();
    configurations_.clear();
    std::uint32_t message_count = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      GCOORD_ASSERT(rows[k] < table_.row_count);
      GCOORD_ASSERT(in[k].message_count <= kInboxMessages);
      staged_rows_.push_back({.row = rows[k],
                              .shard = ShardRef(mirror_, rows[k]).shard(),
                              .message_first = message_count,
                              .configuration = static_cast<std::uint32_t>(configurations_.size()),
                              .digest = check_.digest(rows[k]),
                              .head = in[k]});
      message_count += in[k].message_count;
      if (in[k].configuration_input != ConfigurationInput::None) {
        configurations_.push_back(in[k].configuration);
      }
    }
  }

  // The row into the mirror, the output into the caller's outbox.
  void take_back(std::uint32_t row,
                 std::size_t k,
                 std::uint32_t messages_in,
                 const SteppedRow& stepped,
                 Outbox& out) {
    const ShardRef mirror(mirror_, row);
    if (stepped.form == RowForm::Packed) {
      unpack(stepped.packed, stepped.deadline, mirror);
    } else {
      copy_row(ref_of(wide_at(k), mirror.shard(), mirror_.slot_count), mirror);
    }
    remember(row, stepped.packed);
    static_cast<OutboxHead&>(out) = stepped.head;
    std::copy_n(stepped.stored, messages_in, out.stored);
    GCOORD_ASSERT(out.message_count <= kOutboxMessages);
    const auto* outgoing =
        reinterpret_cast<const Message*>(memory_.pushed_host) + k * kOutboxMessages;
    std::copy_n(outgoing, out.message_count, out.message);
  }

  static Status exhausted(ShardId shard) {
    return {StatusCode::ResourceExhausted,
            "shard " + std::to_string(shard.value) + " found no free wide row",
            kDeviceExhausted};
  }

  std::unique_ptr<StepDevice> device_;
  StepMemory memory_;
  std::size_t device_bytes_;
  std::uint32_t batch_rows_;
  PackedTable table_;
  PoolRegion pool_;
  WideSlots wide_;
  DeviceCheck check_;
  ColumnArena mirror_arena_;
  ShardColumns mirror_;
  std::vector<StagedRow> staged_rows_;  // Kept warm, as are the configurations.
  std::vector<Configuration> configurations_;
  bool uploaded_ = false;
  Status failure_;
};

}  // namespace

Result<std::unique_ptr<Stepper>> make_device_stepper(std::unique_ptr<StepDevice> device,
                                                     const DeviceStepperOptions& options) {
  const std::uint32_t batch = batch_rows_of(options.row_count);
  DeviceStepperOptions chosen = options;
  chosen.wide_count = first_pool(options, batch);
  StepMemorySizes sizes;
  sizes.rows = packed_rows_bytes(chosen.row_count);
  sizes.pool = wide_pool_bytes(chosen.slot_count, chosen.wide_count);
  sizes.staged = staged_bytes_max(batch);
  sizes.stepped = batch * sizeof(SteppedRow);
  sizes.pushed = outgoing_bytes(batch) + batch * sizeof(RowCopy);
  GCOORD_TRY(const StepMemory memory, device->allocate(sizes));
  return std::unique_ptr<Stepper>(
      std::make_unique<DeviceStepper>(std::move(device), chosen, sizes, memory));
}

}  // namespace gcoord::consensus
