// The host's half of a poll set: it makes the memory in which the set rests between kernels, hands
// out the handle that they work with (poll_set.h), and ends their waits.
//
// One object is one set, worked by one group at a time. Life: create(), device() for kernels,
// close() or abort(), join all kernels, destroy. Host only, one thread.
#pragma once

#include "common/status.h"
#include "netcore/memory/registry.h"
#include "netcore/poll/set.h"

#include <cstdint>
#include <memory>

namespace gcoord::netcore {

struct GpuPollOptions {
  std::uint32_t entries = 32;             // At most so many at once: a pass of a warp.
  MemoryKind kind = MemoryKind::Private;  // Pinned for a set that host threads work.
};

class GpuPoll {
 public:
  // An empty set. InvalidArgument for no entries or more than kPollEntriesMax; ResourceExhausted
  // without memory.
  static Result<std::unique_ptr<GpuPoll>> create(MemoryRegistry& registry,
                                                 const GpuPollOptions& options);
  // Releases everything. No kernel uses the handle any more.
  ~GpuPoll();
  GpuPoll(const GpuPoll&) = delete;
  GpuPoll& operator=(const GpuPoll&) = delete;

  // For kernels, and for host threads at host memory.
  PollSetDevice device() const;

  // Asks whoever waits for the set to leave with Aborted. A failure is the device's; waiters then
  // leave at their deadlines. A group that never waits, since something is ready each time, is told
  // in its turn if the word is in the set: word_entry(&device.control->abort, 0).
  Status abort();
  // Likewise with EpochChanged.
  Status close();

 private:
  GpuPoll(MemoryRegistry& registry, const GpuPollOptions& options)
      : registry_(registry), options_(options) {}

  ChannelControl* control() const;
  Status store(std::uint64_t& word, std::uint64_t value);

  MemoryRegistry& registry_;
  GpuPollOptions options_;
  MemoryRange memory_;  // The control words, the state, and the entries, each from a line on.
};

}  // namespace gcoord::netcore
