// The lock commands of plain acquires and releases, from the slots and payloads of their requests.
//
// One truth for the I/O threads, which make them beforehand (prepared_requests.h), and for the
// loop's thread, which makes the others. Pure; thread-safe.
#pragma once

#include "locks/commands/command.h"
#include "protocol/request.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

// Whether lock_command() knows the kind.
constexpr bool is_plain_lock_request(protocol::RequestKind kind) {
  return kind == protocol::RequestKind::LockAcquire || kind == protocol::RequestKind::LockRelease;
}

// The command of a request of such a kind that protocol::check_request() admits, with the hash of
// its name. Its name lies in the payload.
locks::LockCommand lock_command(const protocol::RequestSlot& slot,
                                std::span<const std::byte> payload);

}  // namespace gcoord::server
