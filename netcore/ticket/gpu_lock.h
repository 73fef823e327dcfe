// The host's half of a ticket lock: it makes or maps the memory, hands out the handle that kernels
// work with (ticket_lock.h), looks at the line and revokes.
//
// One object is one process's side, or one device's, of one lock. Life: create() in the memory of
// the home device, import() at every other side with the descriptor of the home's region (how it
// came here is the caller's business: fd_socket.h), device() for kernels, close(). Memory kinds:
// Shared, for other devices and processes; Private, for one device alone; Pinned, for host threads
// and for devices that reach host memory by native atomics. Between processors that have no native
// atomics on each other's memory a lock does not lock: ask gpu_atomics_reach() and
// gpu_host_atomics() (gpu_device.h) before.
//
// Revoking: revoke(ticket) leaves a word in the region which the next group that waits reads,
// within one round of its wait, and acts on; so no kernel has to be started, on a device that may
// be full. Where nobody waits nothing happens, since nobody is kept waiting. One word: a later
// revocation replaces one that nobody has read; there is one holder, so it suffices to look and
// revoke again. On host memory it is done at once as well. Never for a ticket whose holder lives
// and has no bound, unless what the lock protects checks fencing tokens.
//
// Ending: as GpuChannel: close(), join all kernels, destroy. The home's memory ends with the home's
// process only when all importers have unmapped it, but what it says is worth nothing then: make a
// new lock. Host only, one thread.
#pragma once

#include "common/status.h"
#include "netcore/memory/registry.h"
#include "netcore/ticket/lock.h"
#include "netcore/ticket/peek.h"

#include <cstdint>
#include <memory>

namespace gcoord::netcore {

struct GpuTicketLockOptions {
  TicketLayout layout;
  MemoryKind kind = MemoryKind::Shared;           // Of a lock that is created.
  MemoryKind control_kind = MemoryKind::Private;  // Pinned for a side that host threads work.
};

class GpuTicketLock {
 public:
  // A lock that is free. InvalidArgument for a layout that is none; ResourceExhausted without
  // memory.
  static Result<std::unique_ptr<GpuTicketLock>> create(MemoryRegistry& registry,
                                                       const GpuTicketLockOptions& options);
  // Another side of a lock; the descriptor stays the caller's. FailedPrecondition when there is no
  // lock of this layout behind it.
  static Result<std::unique_ptr<GpuTicketLock>> import(MemoryRegistry& registry,
                                                       int fd,
                                                       const GpuTicketLockOptions& options);
  // Releases everything. No kernel uses the handle any more.
  ~GpuTicketLock();
  GpuTicketLock(const GpuTicketLock&) = delete;
  GpuTicketLock& operator=(const GpuTicketLock&) = delete;

  // Its descriptor goes to other sides.
  const MemoryRange& region() const { return region_; }

  const TicketLayout& layout() const { return options_.layout; }

  // For kernels, and for host threads at host memory.
  TicketLockDevice device() const;

  // Who holds it and who waits. Copies the region: 128 bytes per place. A failure is the device's.
  Result<TicketPeek> look() const;

  // Has the ticket taken out of the line or its hold away; see above. Any side may ask. A failure
  // is the device's.
  Status revoke(std::uint64_t ticket);

  // Asks all of this side to leave with Aborted. A failure is the device's; waiters then leave at
  // their deadlines.
  Status abort();
  // Likewise with Closed.
  Status close();

 private:
  GpuTicketLock(MemoryRegistry& registry, const GpuTicketLockOptions& options)
      : registry_(registry), options_(options) {}

  Status write_first();
  Status check_header() const;
  Status make_control();
  TicketWords words() const;
  bool is_host_memory() const;
  Status store(std::uint64_t& word, std::uint64_t value, MemoryKind kind);

  MemoryRegistry& registry_;
  GpuTicketLockOptions options_;
  MemoryRange region_;
  MemoryRange control_;
};

}  // namespace gcoord::netcore
