// Many watches of one name on few connections to one node, and when each of them is told.
//
// Frames of the protocol itself, because a client library's copy of every event for every watch
// would be what is measured. Threads of its own; the functions are for one other thread.
#pragma once

#include "bench/report/latencies.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

struct AudienceOptions {
  std::string address;  // Of one node.
  std::string name;
  std::uint32_t connections = 1;
  std::uint32_t watches = 1;  // Of all connections; a multiple of them.
};

class WatchAudience {
 public:
  // Returns when all watches have begun.
  static Result<std::unique_ptr<WatchAudience>> open(const AudienceOptions& options);

  ~WatchAudience();

  // The next change is asked for at this moment.
  void expect(std::chrono::steady_clock::time_point asked_at);

  // Until all have been told of it; false when they have not in a minute, or one has ended.
  bool await();

  // Of all changes so far. Not while one is expected.
  Latencies told() const;

 private:
  struct Stage;

  explicit WatchAudience(std::unique_ptr<Stage> stage);

  std::unique_ptr<Stage> stage_;
};

}  // namespace gcoord::bench
