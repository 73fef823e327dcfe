// Making the library's public Status from the numbers of the protocol. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "gcoord/status.h"
#include "protocol/error_codes.h"
#include "protocol/request.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::client {

// Cause, evidence and fix of the table. code is not None.
Status failure(protocol::ErrorCode code, std::string_view evidence = {});

// Why one node cannot be used: a number, or none, and evidence alone. Cause and fix are not in it:
// whoever reports it adds them once for all nodes.
inline gcoord::Status numbered(protocol::ErrorCode code, const std::string& evidence) {
  return {gcoord::StatusCode::Unavailable, evidence, static_cast<std::uint32_t>(code)};
}

// The words in which a node refused, as it sent them: their first protocol::kReasonBytesMax bytes,
// no letter cut in two.
std::string reason_in(std::span<const std::byte> payload);

// Why a node refused a Hello: its words, else what its number means; with the number where trying
// again does not mend it, because somebody is not allowed or means another cluster.
gcoord::Status refusal_of(const protocol::ReplySlot& slot, std::span<const std::byte> payload);

Status public_status(const gcoord::Status& status);

// Whether a failed release is an answer of the lock service itself: the lock is not this session's
// (any more), and asking again would change nothing.
bool decides_release(const Status& status);

}  // namespace gcoord::client
