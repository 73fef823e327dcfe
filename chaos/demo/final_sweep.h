// The last question to the cluster: can every name of the history be taken again, once?
//
// Everybody has gone or was forgotten by then, so each name must come free, by release or by
// expiry, and its grant must carry a token above all that were acknowledged. The sweep's grants
// join the history, where the checker judges their tokens.
#pragma once

#include "chaos/check/operation.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct SweepResult {
  std::vector<Operation> operations;
  std::vector<std::string> stuck;  // Names that nobody could take within the wait.
};

// Blocking, for about `wait` at most.
Result<SweepResult> sweep_names(client::Client& client,
                                const std::vector<Operation>& history,
                                std::chrono::milliseconds wait);

}  // namespace gcoord::chaos
