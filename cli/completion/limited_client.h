// A client for what a person waits for with a key pressed: all that it does ends at a moment,
// whatever nodes and networks do.
#pragma once

#include "gcoord/client.h"

#include <chrono>
#include <thread>

namespace gcoord::cli {

class LimitedClient {
 public:
  // Connects by these endpoints, TLS and credentials; blocks for `time` at most. From then on it is
  // closed when that time is over, and calls that are under way fail.
  LimitedClient(client::ClientOptions access, std::chrono::milliseconds time);
  LimitedClient(const LimitedClient&) = delete;
  LimitedClient& operator=(const LimitedClient&) = delete;

  // Why there is none: no node answered.
  client::Result<client::Client>& client() { return client_; }

 private:
  std::chrono::steady_clock::time_point end_;
  client::Result<client::Client> client_;
  std::jthread closes_;  // Ends before the client does.
};

}  // namespace gcoord::cli
