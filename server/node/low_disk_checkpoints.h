// Checkpoints of a node whose disk is low, one after another until it is low no more.
//
// A checkpoint lets the log of record give segments back, but only those before it: a log that goes
// on growing needs the next one. So it is requested when the disk becomes low, and again once the
// last one has ended, kAgainMs after it was requested at the earliest. One thread, the node's loop.
#pragma once

#include "server/interfaces/replicated_log.h"

#include <cstdint>

namespace gcoord::server {

class LowDiskCheckpoints {
 public:
  // A third of the default interval of checkpoints. One that finds nothing changed costs nothing.
  static constexpr std::uint64_t kAgainMs = 10'000;

  // Once a second or so. `low`: of the disk, now. now_ms only grows.
  void look(ReplicatedLog& engine, bool low, std::uint64_t now_ms);

 private:
  bool low_ = false;
  std::uint64_t requested_ms_ = 0;
  std::uint64_t number_ = 0;  // Of the checkpoint that was requested last.
};

}  // namespace gcoord::server
