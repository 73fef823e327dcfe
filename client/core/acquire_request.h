// The request of an acquire: which options a node takes, and how they are encoded. A plain acquire
// is a LockAcquire; more options make it a LockAcquireHold. Pure; any thread.
#pragma once

#include "client/core/calls.h"
#include "client/core/core.h"
#include "gcoord/options.h"
#include "protocol/error_codes.h"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace gcoord::client {

// In the range of the protocol; the check that follows refuses what is beyond it.
std::uint32_t protocol_ms(std::chrono::milliseconds duration);

// None, or why these options cannot be sent: an option out of its range, options that exclude each
// other, or FeatureMissing where the cluster lacks one of them.
protocol::ErrorCode check_acquire_request(const Core& core,
                                          std::string_view name,
                                          const AcquireOptions& options);

// The acquire without its session and times.
OperationPtr acquire_operation(const Core& core,
                               std::string_view name,
                               const AcquireOptions& options);

}  // namespace gcoord::client
