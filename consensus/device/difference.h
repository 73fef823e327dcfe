// Names the first field in which two rows or two outboxes differ, for people who have to find out
// why.
#pragma once

#include "consensus/device/row_copy.h"
#include "consensus/step/outbox.h"

#include <cstdint>
#include <string>

namespace gcoord::consensus {

// "log.commit: 7 and 8", or empty if all that is meant is equal.
std::string first_difference(const RowCopy& one, const RowCopy& other);

// The same of what a step emitted; `messages_in` messages were in its inbox.
std::string first_difference(const Outbox& one, const Outbox& other, std::uint32_t messages_in);

}  // namespace gcoord::consensus
