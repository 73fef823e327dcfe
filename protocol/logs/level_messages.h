// Payload of LogLevels: the levels of a node's log that are wanted, and who wants them.
//
// The reply is JSON: {"levels":{"node":"info",...}}, one member for each component that the node
// knows. Decoding is bounded. Pure functions; thread-safe. Views in decoded values point into the
// payload.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Bytes of the levels; all components of a node with their levels fit.
inline constexpr std::size_t kLogLevelsBytesMax = 512;

// u16 bytes, levels, who (the rest, at most kBreakWhoBytesMax).
struct LogLevelsOrder {
  // "info,peers=debug"; empty: nothing is changed, and the present levels are the answer.
  std::string_view levels;
  std::string_view who;  // A principal, for the node's log. Nothing proves it.
};

std::vector<std::byte> encode_log_levels(const LogLevelsOrder& order);

// PayloadMalformed for what is too long or cut off. Whether the levels are levels is the node's to
// say (server/log_levels/levels.h).
Result<LogLevelsOrder> decode_log_levels(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
