// Messages of events to watches: how long they get, and what of an entry goes into one.
#pragma once

#include "protocol/watch_messages.h"

#include <cstddef>
#include <vector>

namespace gcoord::server {

// A message ends at about so many bytes.
inline constexpr std::size_t kWatchMessageBytes = std::size_t{64} << 10;

// Appends what one entry did to a message that was begun, if it has room for all of it.
bool append_if_fits(std::vector<std::byte>& payload, const protocol::WatchBlock& block);

// Whether there is more in it than its head.
bool holds_events(const std::vector<std::byte>& payload);

}  // namespace gcoord::server
