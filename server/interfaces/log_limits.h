// Limits and modes of the replicated log that its users see.
//
// They are apart from the log's interface, because a codec or a pool needs a number and no log.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// The longest command that propose() takes. An Append of 31 such entries is one extent of 64 KiB.
inline constexpr std::size_t kCommandBytesMax = 2048;

// How a read proves that its replica still leads.
enum class ReadMode : std::uint8_t {
  Lease,  // The leader's lease while it is valid, else a round.
  Round,  // A round of the quorum in any case: no clock is trusted.
};

}  // namespace gcoord::server
