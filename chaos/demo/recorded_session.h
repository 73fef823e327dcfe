// A session whose loss gets into the history: whatever it held may belong to others from then on.
// Thread-safe as the client library is.
#pragma once

#include "chaos/check/history_file.h"
#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace gcoord::chaos {

struct RecordedSessionOptions {
  std::uint32_t process = 0;  // In the history.
  std::chrono::milliseconds ttl{10'000};
  // Becomes true when the session is lost; may be nullptr.
  std::shared_ptr<std::atomic<bool>> lost;
  // A moment until which the session certainly lives, as its owner last knew; may be
  // nullptr. A process that was stopped learns of the loss late, and says that it was then.
  std::shared_ptr<std::atomic<std::uint64_t>> certain_until_ns;
};

// Blocking. The history outlives the client.
client::Result<client::Session> open_recorded_session(client::Client& client,
                                                      HistoryWriter& history,
                                                      const RecordedSessionOptions& options);

// How long the session certainly lives, from now on, on the clock of histories; 0: not at all.
std::uint64_t certain_until_ns(const client::Session& session);

}  // namespace gcoord::chaos
