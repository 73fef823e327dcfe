// Answers, and what each means for its operation: whether it is one, who else may know better, and
// how it reads to a caller. Pure; thread-safe.
#pragma once

#include "client/dispatch/operation.h"
#include "common/ids.h"
#include "gcoord/status.h"
#include "protocol/error_codes.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gcoord::client {

class Connection;

// A release, or a break, that was sent again, under another number or under none, finds its work
// done: the first one was executed.
bool released_before(const Operation& operation, protocol::ErrorCode code);

// Whether a release of the very hold that answers an acquire was sent before and is not answered.
// It may have been lost with its node, so that it comes behind this acquire and ends what the
// acquire was told it has.
bool is_being_released(OperationTable& operations,
                       const Operation& acquire,
                       const protocol::ReplySlot& slot);

// Says that this node does not take the shard's requests now, not that this one is refused.
bool refuses_shard(protocol::ErrorCode code);

// Sent to a node that was taken for the leader, or to any, because none was known.
bool asks_a_witness(const Operation& operation, protocol::ErrorCode code);

// The wait has ended, or has nobody that it could grant anything to: no place is left of it.
bool ends_wait(protocol::ErrorCode code);

// A copy of the wait came late, over a connection that was lost, and bound the wait to that one: no
// answer would come here any more. Each copy can do so once.
bool replaced_by_copy(const Operation& operation, protocol::ErrorCode code);

// As a caller gets it: what the node said, else what its number means.
Status status_of(const protocol::ReplySlot& slot, std::span<const std::byte> payload);

// Whether somebody may want to find the request in the node's log: the node failed, or could not.
// A lock that is held, a token that is stale and words that are wrong explain themselves.
bool is_trouble(const Status& status);

// " (request 7.1/42 of node 2)", as the node's log names it; empty where the node does not say what
// it calls the connection.
std::string request_text(NodeId node, const Connection* connection, std::uint64_t request_id);

}  // namespace gcoord::client
