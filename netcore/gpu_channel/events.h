// Events between a host and its kernels, in both directions.
//
//   host to kernels   raise(i) counts event word i up; kernels have it in a poll set (word_entry in
//                     poll_entry.h) and wake up. A program that waits in an event loop of its own
//                     calls it from there.
//   kernels to host   a kernel rings bell i (bell.h); event_fd() is readable, and take() says which
//                     bell was rung and how often (bell_watch.h).
//
// Event words lie in the device's memory, and raise() stores there by a copy: waiters poll their
// own memory, and reads across PCIe take turns (bounded_wait.h). With word_kind Pinned a raise is
// one store of the host, which is the better choice where one warp alone waits. Bells are always
// page-locked: a device pushes there, and the host polls.
//
// What the host wrote for kernels before raise() is there when they see it: in page-locked memory
// by any store, in the device's by MemorySource::write(). Words and bells only count, so raising
// twice before anybody looked is one wake-up that says two. A line of 128 bytes each.
//
// Life: create(), handles to kernels, join them, destroy. Host only; raise() by one thread, the
// registry's; event_fd() and take() from any thread once event_fd() has returned.
#pragma once

#include "common/status.h"
#include "netcore/memory/bell_watch.h"
#include "netcore/memory/registry.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::netcore {

inline constexpr std::uint32_t kGpuEventsMax = 4096;  // Of words, and of bells.

struct GpuEventsOptions {
  std::uint32_t words = 1;
  std::uint32_t bells = 1;
  MemoryKind word_kind = MemoryKind::Private;
};

class GpuEvents {
 public:
  // InvalidArgument for more than kGpuEventsMax of either; ResourceExhausted without memory.
  static Result<std::unique_ptr<GpuEvents>> create(MemoryRegistry& registry,
                                                   const GpuEventsOptions& options);
  // Ends event_fd() and releases everything. No kernel uses a word or bell any more.
  ~GpuEvents();
  GpuEvents(const GpuEvents&) = delete;
  GpuEvents& operator=(const GpuEvents&) = delete;

  // For kernels: word `index` for an entry of a poll set, whose value starts at 0.
  const std::uint64_t* word(std::uint32_t index) const;
  // For kernels: bell `index` for a BellRinger.
  std::uint64_t* bell(std::uint32_t index) const;

  // Counts the word up by one. A failure is the device's.
  Status raise(std::uint32_t index);

  // Readable while take() would bring something; made, with the thread that listens, when it is
  // first asked for, and the same each time. It belongs to this object.
  Result<int> event_fd(const BellWatchOptions& options = {});

  // The next bell that was rung since it was last taken. Never waits. Asserts that event_fd() was
  // asked for.
  std::optional<BellRings> take();

 private:
  GpuEvents(MemoryRegistry& registry, const GpuEventsOptions& options)
      : registry_(registry), options_(options), raised_(options.words) {}

  MemoryRegistry& registry_;
  GpuEventsOptions options_;
  MemoryRange words_;
  MemoryRange bells_;
  std::vector<std::uint64_t> raised_;  // By word.
  std::unique_ptr<BellWatch> watch_;
};

}  // namespace gcoord::netcore
