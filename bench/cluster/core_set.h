// CPU core sets for the nodes and clients of a benchmark, so that clients are not measured with
// nodes.
#pragma once

#include "common/status.h"

#include <sched.h>

#include <optional>
#include <string>

namespace gcoord::bench {

// While it lives, the calling thread runs on these cores, and so does, for good, every process that
// it starts meanwhile. One thread: made and destroyed by the same one.
class OnCores {
 public:
  // "0,1" or "0-3,8"; empty: all stays as it is. InvalidArgument for what is no such list or names
  // cores that this process may not use.
  static Result<OnCores> of(const std::string& list);

  ~OnCores();
  OnCores(OnCores&& other) noexcept;
  OnCores& operator=(OnCores&&) = delete;

 private:
  explicit OnCores(std::optional<cpu_set_t> before) : before_(before) {}

  std::optional<cpu_set_t> before_;  // Where the thread ran before.
};

}  // namespace gcoord::bench
