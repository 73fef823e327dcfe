// A closed-loop load of lock and unlock through the client library, for `gcoordctl bench lock`.
//
// Each of `clients` sessions keeps `pipeline` lanes busy; a lane acquires its name, releases it,
// and begins again. A sample is the time of one acquire or release, from call to callback. Threads
// and order of calls as of ClosedLoad.
#pragma once

#include "cli/load/closed_load.h"
#include "cli/load/history.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace gcoord::cli {

struct LockLoadOptions {
  std::uint32_t clients = 1;
  std::uint32_t pipeline = 1;
  bool shared_name = false;  // All lanes want one name; else every lane has its own.
  std::chrono::milliseconds ttl{10'000};
  std::string prefix = "bench";
};

class LockLoad final : public ClosedLoad {
 public:
  // The history may be nullptr.
  LockLoad(LockLoadOptions options, History* history);

 private:
  client::Result<client::Session> open_session(client::Client& client,
                                               std::uint32_t index) override;
  void add_lanes(client::Session& session, std::uint32_t index, Lanes& lanes) override;

  LockLoadOptions options_;
  History* history_ = nullptr;
};

}  // namespace gcoord::cli
