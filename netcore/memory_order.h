// The one place where netcore chooses memory orders (ORDERING.md rules O1, O2, O11).
//
// Ring code names an intent (publish, observe, own) and takes the orders as a policy type, so that
// the same code runs over host threads now and over system-scope device atomics later: the device
// policy will sit beside this one in memory_order_device.h. Swapping in a weaker policy in a test
// shows that a missing order is caught.
#pragma once

#include <atomic>
#include <cstdint>

namespace gcoord::netcore {

struct HostOrder {
  // Makes everything this thread wrote before visible to whoever observes the new cursor.
  // Pairs with observe().
  static void publish(std::uint64_t& cursor, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>{cursor}.store(value, std::memory_order_release);
  }

  // The other side's cursor, with everything it wrote before publishing it. Pairs with publish().
  static std::uint64_t observe(std::uint64_t& cursor) {
    return std::atomic_ref<std::uint64_t>{cursor}.load(std::memory_order_acquire);
  }

  // A cursor that only this side writes: no order is needed to read it back.
  static std::uint64_t own(std::uint64_t& cursor) {
    return std::atomic_ref<std::uint64_t>{cursor}.load(std::memory_order_relaxed);
  }
};

}  // namespace gcoord::netcore
