// A question in text to a server on loopback, and its answer, each over a connection of its own.
// Blocking, by a deadline. Thread-safe.
#pragma once

#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::bench {

struct LoopbackQuestion {
  std::string_view text;
  std::string_view wanted;  // What the answer holds when it is whole.
};

// The first bytes of the answer, at most 4 KiB of them, until they hold what is wanted, the server
// closes or a second is over. Empty when nobody listens.
std::string ask_loopback(std::uint16_t port, const LoopbackQuestion& question);

// Asks again and again until the answer holds what is wanted; DeadlineExceeded when it never does.
Status await_answer(std::uint16_t port,
                    const LoopbackQuestion& question,
                    std::chrono::milliseconds timeout);

}  // namespace gcoord::bench
