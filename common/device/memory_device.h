// Memory that a GPU shares with another GPU, a CPU or both, touched by name of intent.
//
// Every function has two bodies: PTX on a device, at system scope but for those named after the
// device, and a twin for the host that is what a CPU thread does to the same memory. Both may meet
// in one ring (a host thread at the other end of pinned memory), and two host threads may stand for
// two devices, so that ThreadSanitizer sees what a device would do. Who stores and who loads, and
// why, is decided in netcore/memory/order.h; nothing else includes this file.
//
// Contract: naturally aligned addresses of global or pinned host memory, never of shared or local
// memory. Loads never go through a cache that is not coherent (O2 of
// docs/internals/memory_order.md). One call moves one thread's word; groups are the caller's
// business (common/device/warp_device.h). Sources: PTX ISA 8.8, sections "Memory Consistency Model"
// and "ld", "st" (type .b128 since ISA 8.3).
#pragma once

#include "common/hd.h"

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace gcoord {

// 16 bytes that travel as one: what a device stores and loads in a single access.
struct alignas(16) Words128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// ld.acquire.sys: everything that its writer wrote before a release is visible after it.
GCOORD_HD inline std::uint64_t load_acquire_system(const std::uint64_t* from) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value = 0;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
#else
  return std::atomic_ref<std::uint64_t>{*const_cast<std::uint64_t*>(from)}.load(
      std::memory_order_acquire);
#endif
}

// ld.relaxed.sys: the newest value, and nothing about any other word.
GCOORD_HD inline std::uint64_t load_relaxed_system(const std::uint64_t* from) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value = 0;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
#else
  return std::atomic_ref<std::uint64_t>{*const_cast<std::uint64_t*>(from)}.load(
      std::memory_order_relaxed);
#endif
}

// st.release.sys: pairs with load_acquire_system.
GCOORD_HD inline void store_release_system(std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
#else
  std::atomic_ref<std::uint64_t>{*to}.store(value, std::memory_order_release);
#endif
}

// ld.acquire.gpu: as load_acquire_system, for what another kernel of the same device stored.
GCOORD_HD inline std::uint64_t load_acquire_device(const std::uint64_t* from) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value = 0;
  asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
#else
  return load_acquire_system(from);
#endif
}

// st.release.gpu: pairs with load_acquire_device. Does not wait for stores to other devices to be
// seen there, as a release to the system does.
GCOORD_HD inline void store_release_device(std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
#else
  store_release_system(to, value);
#endif
}

// st.relaxed.sys: visible soon, ordered with nothing.
GCOORD_HD inline void store_relaxed_system(std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
#else
  std::atomic_ref<std::uint64_t>{*to}.store(value, std::memory_order_relaxed);
#endif
}

// atom.cas.acq_rel.sys: stores `desired` where there is `expected`; returns what was there.
// Publishes what this thread wrote before, and what the word's last writer published is visible
// after it, whether it stored or not. The word is touched by processors that reach it with native
// atomics only: between a CPU and a device across PCIe there are none (O8).
GCOORD_HD inline std::uint64_t swap_if_system(std::uint64_t* at,
                                              std::uint64_t expected,
                                              std::uint64_t desired) {
#if defined(__CUDA_ARCH__)
  std::uint64_t found = 0;
  asm volatile("atom.acq_rel.sys.cas.b64 %0, [%1], %2, %3;"
               : "=l"(found)
               : "l"(at), "l"(expected), "l"(desired)
               : "memory");
  return found;
#else
  std::atomic_ref<std::uint64_t>{*at}.compare_exchange_strong(
      expected, desired, std::memory_order_acq_rel, std::memory_order_acquire);
  return expected;
#endif
}

// atom.cas.acq_rel.gpu: as swap_if_system, where only kernels of one device touch the word.
GCOORD_HD inline std::uint64_t swap_if_device(std::uint64_t* at,
                                              std::uint64_t expected,
                                              std::uint64_t desired) {
#if defined(__CUDA_ARCH__)
  std::uint64_t found = 0;
  asm volatile("atom.acq_rel.gpu.cas.b64 %0, [%1], %2, %3;"
               : "=l"(found)
               : "l"(at), "l"(expected), "l"(desired)
               : "memory");
  return found;
#else
  return swap_if_system(at, expected, desired);
#endif
}

// atom.add.relaxed.sys: adds and returns the value before; every caller gets another one. Orders
// nothing. For the same words as swap_if_system.
GCOORD_HD inline std::uint64_t add_relaxed_system(std::uint64_t* at, std::uint64_t count) {
#if defined(__CUDA_ARCH__)
  std::uint64_t found = 0;
  asm volatile("atom.relaxed.sys.add.u64 %0, [%1], %2;"
               : "=l"(found)
               : "l"(at), "l"(count)
               : "memory");
  return found;
#else
  return std::atomic_ref<std::uint64_t>{*at}.fetch_add(count, std::memory_order_relaxed);
#endif
}

// One 16-byte access (O3). The host has no portable one: its twin stores `high` last and loads it
// first, so whoever keeps the sequence in `high` sees `low` at least as new. Both halves are stored
// with release and loaded with acquire: where `high` is the same every time (a grant), it is `low`
// that tells of something new. A CPU reads a device's store whole, because it arrives as one write
// within a line.
GCOORD_HD inline void store_words_system(Words128* to, Words128 value) {
#if defined(__CUDA_ARCH__)
  asm volatile("{ .reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.sys.b128 [%0], v; }"
               :
               : "l"(to), "l"(value.low), "l"(value.high)
               : "memory");
#else
  std::atomic_ref<std::uint64_t>{to->low}.store(value.low, std::memory_order_release);
  std::atomic_ref<std::uint64_t>{to->high}.store(value.high, std::memory_order_release);
#endif
}

// The twin of store_words_system.
GCOORD_HD inline Words128 load_words_system(const Words128* from) {
  Words128 value;
#if defined(__CUDA_ARCH__)
  asm volatile("{ .reg .b128 v; ld.relaxed.sys.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
               : "=l"(value.low), "=l"(value.high)
               : "l"(from)
               : "memory");
#else
  auto* source = const_cast<Words128*>(from);
  value.high = std::atomic_ref<std::uint64_t>{source->high}.load(std::memory_order_acquire);
  value.low = std::atomic_ref<std::uint64_t>{source->low}.load(std::memory_order_acquire);
#endif
  return value;
}

// As load_words_system, and everything that the writer wrote before publishing these words is
// visible after it: an acquire that does not wait for this thread's own stores, as a fence would.
GCOORD_HD inline Words128 load_words_acquire_system(const Words128* from) {
#if defined(__CUDA_ARCH__)
  Words128 value;
  asm volatile("{ .reg .b128 v; ld.acquire.sys.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
               : "=l"(value.low), "=l"(value.high)
               : "l"(from)
               : "memory");
  return value;
#else
  return load_words_system(from);
#endif
}

// fence.acq_rel.sys, before the flag when publishing and after it when observing (O1, O2). Nothing
// on the host: its 16-byte twin carries release and acquire itself, which ThreadSanitizer
// understands, as it does not understand fences.
GCOORD_HD inline void fence_system() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" : : : "memory");
#endif
}

// Nanoseconds of a clock that every thread of one device (or of one host) shares; it only grows.
// The two clocks have nothing to do with each other. For deadlines and measurements, never for
// decisions that are replicated. Device: %globaltimer, which ticks in steps of 32 ns to 1 us.
GCOORD_HD inline std::uint64_t device_now_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

// Gives way for about so long: the back-off of a bounded wait (O10). A device sleeps in hardware,
// at most a millisecond. A host thread yields its core: a sleep of any length costs it 50 us, the
// kernel's timer slack, which is what an echo over pinned memory took when this slept.
GCOORD_HD inline void device_pause(std::uint32_t nanoseconds) {
#if defined(__CUDA_ARCH__)
  asm volatile("nanosleep.u32 %0;" : : "r"(nanoseconds));
#else
  static_cast<void>(nanoseconds);
  sched_yield();
#endif
}

}  // namespace gcoord
