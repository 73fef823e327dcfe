// Host-side check of a device's steps and of its memory.
//
// What: three checks, all against what the host knows without the device. A step in so many is done
// again on the host, by the same function from the same inputs, and every column and every output
// compared. Every row that is stepped bears the digest of what it was after its step before
// (stored_digest.h): the device steps nothing that has changed since. And rows that nobody steps
// are looked at in turns, so many per tick.
// Why digests by the host's own reckoning: a device that says of itself that all is well proves
// nothing. Eight bytes per row here.
// What it cannot see: a wrong step that was not drawn, and rows that are wrong in the same way on
// both sides. A difference ends the node (kDeviceDiffers). Not thread-safe.
#pragma once

#include "common/status.h"
#include "consensus/device/staged_step.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::consensus {

// One step in so many is done again. Half a microsecond of the host each; with the digests it makes
// 5 % of a large batch (docs/reference/devices.md).
inline constexpr std::uint32_t kDeviceCheckOneIn = 64;

// Rows of one look. It takes as long as a small batch, once per tick.
inline constexpr std::uint32_t kSweepRows = 4096;

struct DeviceCheckShape {
  std::uint32_t one_in = kDeviceCheckOneIn;  // 0: nothing is checked.
  std::uint32_t row_count = 0;
  std::uint32_t slot_count = 0;
};

class DeviceCheck {
 public:
  struct Sweep {
    std::uint32_t row_first = 0;
    std::uint32_t row_count = 0;
  };

  // A step that may be done again: what goes in.
  struct Step {
    std::uint32_t row = 0;
    const Inbox* in = nullptr;
    const StepInput* input = nullptr;  // With the host's peers.
  };

  explicit DeviceCheck(const DeviceCheckShape& shape);

  bool on() const { return shape_.one_in != 0; }

  // The rows have so many slots from now on.
  void set_slot_count(std::uint32_t slot_count) { shape_.slot_count = slot_count; }

  // --- What a row must be

  // As StagedRow says it; 0 where nothing is checked.
  std::uint64_t digest(std::uint32_t row) const { return on() ? digests_[row] : 0; }

  // What the table holds of the row from now on.
  void remember(std::uint32_t row, std::uint64_t digest);

  // The row is not what it was. `found` and `wide` are what the device shows, `known` is what the
  // host has of it.
  Status altered(const SteppedRow& found, const RowCopy& wide, ShardRef known) const;

  // --- Steps that are done again

  // Whether the next step is drawn; then `before` is kept for compare().
  bool draw(ShardRef before);

  // After the drawn step: fails if the host comes to another row or another outbox.
  Status compare(const Step& step, ShardRef after, const Outbox& out);

  // --- Rows that nobody steps

  // The rows to look at now. In sweep_looks() of them every row is looked at.
  Sweep next_sweep();

  // The first row of the sweep that is not what it was, or row_count.
  std::uint32_t first_altered(const Sweep& sweep, const std::uint64_t* digests);

  std::uint32_t sweep_looks() const;

  // --- For status and metrics

  std::uint32_t one_in() const { return shape_.one_in; }

  std::uint64_t steps_checked() const { return steps_checked_; }

  std::uint64_t rows_swept() const { return rows_swept_; }

 private:
  DeviceCheckShape shape_;
  std::vector<std::uint64_t> digests_;
  RowCopy before_{};
  Outbox again_;  // Of a step that is done again; kept warm.
  std::uint64_t steps_ = 0;
  std::uint64_t steps_checked_ = 0;
  std::uint64_t rows_swept_ = 0;
  std::uint32_t sweep_next_ = 0;
};

}  // namespace gcoord::consensus
