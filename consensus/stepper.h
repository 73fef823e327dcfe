// What runs the pure step over many rows: on the CPU here, on a device in stepper_cuda.
#pragma once

#include "consensus/inbox.h"
#include "consensus/outbox.h"
#include "consensus/shard_table.h"
#include "consensus/step.h"

#include <cstdint>
#include <memory>
#include <span>

namespace gcoord::consensus {

// Owns the columns of one node's shards and steps the rows that its owner names. Not thread-safe.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Steps rows[k] with in[k] into out[k], for every k. A row appears at most once in a call.
  virtual void step(std::span<const std::uint32_t> rows,
                    std::span<const Inbox> in,
                    std::span<Outbox> out,
                    const StepInput& input) = 0;

  // The columns as the host may read them between two calls, and write them before the first one
  // (recovery).
  virtual const ShardColumns& columns() const = 0;
};

// Steps one row after another on the calling thread. Allocates all columns at once; asserts on lack
// of memory.
std::unique_ptr<Stepper> make_cpu_stepper(std::uint32_t row_count, std::uint32_t slot_count);

}  // namespace gcoord::consensus
