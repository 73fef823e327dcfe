// A closed-loop load of lock batches through the client library, for `gcoordctl bench lock
// --batch`.
//
// Each of `clients` sessions acquires `batch` names of its own in one call, releases them in one
// call, and begins again. A sample is the time of one batch, from call to callback. Threads and
// order of calls as of ClosedLoad.
#pragma once

#include "cli/load/closed_load.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace gcoord::cli {

struct BatchLoadOptions {
  std::uint32_t clients = 1;
  std::uint32_t batch = 1;  // Names of one batch, at most client::kLockBatchNamesMax.
  std::chrono::milliseconds ttl{10'000};
  std::string prefix = "bench";
};

class BatchLoad final : public ClosedLoad {
 public:
  explicit BatchLoad(BatchLoadOptions options);

 private:
  client::Result<client::Session> open_session(client::Client& client,
                                               std::uint32_t index) override;
  void add_lanes(client::Session& session, std::uint32_t index, Lanes& lanes) override;

  BatchLoadOptions options_;
};

}  // namespace gcoord::cli
