// A resident cluster that somebody runs turn by turn: on the host, or on a device.
//
// What: the same rows, the same turns, and afterwards the same answers to the questions below,
// whichever memory the cluster lies in. `make_host_world` steps plain columns on as many threads as
// it is told; `make_device_world` steps packed rows in device memory. Every row starts as an empty
// replica of three voters.
// Contract: one caller; `run` may return before a device is done, every other call waits. Errors of
// a device come back from the next call and are final. Host code only.
#pragma once

#include "chaos/parity/turn_input.h"
#include "chaos/parity/view.h"
#include "common/status.h"
#include "consensus/device/row_copy.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::chaos {

// What a cluster occupies; see docs/internals/performance_device.md for what each part is.
struct ResidentMemory {
  std::size_t row_bytes = 0;       // Rows of all nodes, deadlines, due and receiver bytes.
  std::size_t wide_bytes = 0;      // The pool for exceptional rows.
  std::size_t outgoing_bytes = 0;  // Messages, extents and notes of rows that speak.
  std::size_t log_bytes = 0;       // Log pages and services.
};

class ResidentWorld {
 public:
  virtual ~ResidentWorld() = default;

  // Steps every row of every node that wants it, once.
  virtual Status run(const ResidentTurn& turn) = 0;

  // Waits until all turns are done, and reports what went wrong in any.
  virtual Status finish() = 0;

  // One number per row of a node: the row's columns, its service and what it is due.
  virtual Status digests(std::uint32_t node, std::vector<std::uint64_t>& out) = 0;

  virtual Result<consensus::RowCopy> row(std::uint32_t node, std::uint32_t row) = 0;
  virtual Status services(std::uint32_t node, std::vector<Service>& out) = 0;

  // Rows stepped so far, over all nodes.
  virtual Result<std::uint64_t> steps() = 0;

  virtual ResidentMemory memory() const = 0;
};

std::unique_ptr<ResidentWorld> make_host_world(const ResidentShape& shape, std::uint32_t threads);

// The host twin of a device world: packed rows, lists of active rows, one thread.
std::unique_ptr<ResidentWorld> make_packed_world(const ResidentShape& shape,
                                                 std::uint32_t wide_count);

// `wide_count` bounds the rows of a node that may be exceptional at once. Unavailable where there
// is no device or the build has no CUDA.
Result<std::unique_ptr<ResidentWorld>> make_device_world(int device,
                                                         const ResidentShape& shape,
                                                         std::uint32_t wide_count);

}  // namespace gcoord::chaos
