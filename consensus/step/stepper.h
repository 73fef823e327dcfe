// Stepper: it runs the pure step over many rows, on the CPU here, on a device in device_stepper.
#pragma once

#include "common/status.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"
#include "consensus/step/step.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gcoord::consensus {

// What a stepper says of itself, for status and metrics.
struct StepperReport {
  std::string name;     // "cpu" or "cuda:0".
  std::string product;  // The device's own name; empty for the CPU.
  std::uint64_t device_memory_bytes = 0;
  std::uint64_t launches = 0;  // Batches that went to the device.
  // How the device is checked (device_check.h): one step in so many is done again on the host, 0:
  // nothing is checked; how many were so far; rows looked at in between, and in how many looks all
  // of them are.
  std::uint32_t check_one_in = 0;
  std::uint64_t steps_checked = 0;
  std::uint64_t rows_swept = 0;
  std::uint32_t sweep_looks = 0;
};

// Owns the columns of one node's shards and steps the rows that its owner names. Not thread-safe.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Steps rows[k] with in[k] into out[k], for every k. A row appears at most once in a call.
  // A failure (of a device, never of the step) leaves rows, outboxes and columns in no state to be
  // used: the owner carries out nothing of this call and stops. Every later call fails as well.
  virtual Status step(std::span<const std::uint32_t> rows,
                      std::span<const Inbox> in,
                      std::span<Outbox> out,
                      const StepInput& input) = 0;

  // One row and what it is told: that storage finished, or one message, and nothing else.
  struct RowInput {
    std::uint32_t row = 0;
    const Inbox& in;
    const StepInput& input;
  };

  // Tells a row one thing without a step, where that is all there is to it (settle.h). True: `out`
  // is what a step would have given. False: nothing was done, the row wants a step. Never fails;
  // the default is for rows that do not lie here.
  virtual bool settle(const RowInput& given, Outbox& out) {
    static_cast<void>(given);
    static_cast<void>(out);
    return false;
  }

  // Looks whether some of the rows are still what they were after their last step, where they lie
  // in memory that the host cannot see; once per tick. Fails as a step does.
  virtual Status look_over() { return {}; }

  // The columns as the host may read them between two calls, and write them before the first one
  // (recovery).
  virtual const ShardColumns& columns() const = 0;

  // Says which shards the rows are of, before anything else: `map` outlives the stepper. Without,
  // row and shard have the same number.
  virtual void name_rows(const RowMap& map) = 0;

  // Gives all rows slots up to slot_count, at most kReplicaSlots, if they have less: before one of
  // them is given a configuration that needs them. Between two calls; columns() are the same object
  // as before. Fails as a step does.
  virtual Status grow(std::uint32_t slot_count) = 0;

  // Whether columns() are the rows themselves, so that the owner may settle applied entries in them
  // between two calls (settle.h), and not a copy of rows that lie elsewhere.
  virtual bool columns_are_rows() const { return true; }

  // Rows that a call had best be given: more at once are slower or no faster.
  virtual std::uint32_t batch_rows() const = 0;

  virtual StepperReport report() const = 0;
};

// Steps one row after another on the calling thread, and never fails. Allocates all columns at
// once, with address space for those to which it may grow; asserts on lack of memory.
std::unique_ptr<Stepper> make_cpu_stepper(std::uint32_t row_count, std::uint32_t slot_count);

}  // namespace gcoord::consensus
