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
};

// Blocking. The history outlives the client.
client::Result<client::Session> open_recorded_session(client::Client& client,
                                                      HistoryWriter& history,
                                                      const RecordedSessionOptions& options);

}  // namespace gcoord::chaos
