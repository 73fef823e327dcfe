// The one place where netcore chooses memory orders (rules O1, O2, O3 and O11 of
// docs/internals/memory_order.md).
//
// Ring code names an intent (publish, observe, own, packet) and takes the orders from here: from
// HostOrder for rings between host threads, from SystemOrder where one end may be a GPU, another
// process or both, from DeviceOrder where both are kernels of one GPU. The last two run on host and
// device alike (common/device/memory_device.h has PTX and twin side by side), so ThreadSanitizer
// judges on CPUs the order that devices use. Swapping in a weaker policy in a test shows that a
// missing order is caught.
#pragma once

#include "common/device/memory_device.h"
#include "common/hd.h"
#include "netcore/memory/packet.h"

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

struct SystemOrder {
  // As HostOrder, at system scope.
  GCOORD_HD static void publish(std::uint64_t& cursor, std::uint64_t value) {
    store_release_system(&cursor, value);
  }

  GCOORD_HD static std::uint64_t observe(std::uint64_t& cursor) {
    return load_acquire_system(&cursor);
  }

  GCOORD_HD static std::uint64_t own(std::uint64_t& cursor) { return load_relaxed_system(&cursor); }

  // A word that stands alone: an abort flag, an epoch, a fault. Pairs with raise().
  GCOORD_HD static std::uint64_t peek(const std::uint64_t& word) {
    return load_relaxed_system(&word);
  }

  GCOORD_HD static void raise(std::uint64_t& word, std::uint64_t value) {
    store_relaxed_system(&word, value);
  }

  // Turns a word from `from` into `to` if it is still that; returns what it was. As publish() and
  // observe() of that word in one, whether it turned it or not. Pairs with itself and observe().
  GCOORD_HD static std::uint64_t turn(std::uint64_t& word, std::uint64_t from, std::uint64_t to) {
    return swap_if_system(&word, from, to);
  }

  // Draws a number that nobody else gets. Says nothing about other memory.
  GCOORD_HD static std::uint64_t draw(std::uint64_t& word) { return add_relaxed_system(&word, 1); }

  // A packet validates itself by its stamp (O3) and says nothing about other memory. Pairs with
  // take().
  GCOORD_HD static void put(Packet& place, const Packet& packet) {
    store_words_system(reinterpret_cast<Words128*>(&place), words_of(packet));
  }

  GCOORD_HD static Packet take(const Packet& place) {
    return packet_of(load_words_system(reinterpret_cast<const Words128*>(&place)));
  }

  // take() of a packet that speaks for other memory. Pairs with before_put() and put().
  GCOORD_HD static Packet take_ordered(const Packet& place) {
    return packet_of(load_words_acquire_system(reinterpret_cast<const Words128*>(&place)));
  }

  // O1: after the group's sync and before put(), by the thread that puts, when the packet speaks
  // for other memory (payload written, places read). Pairs with take_ordered().
  GCOORD_HD static void before_put() { fence_system(); }
};

// As SystemOrder, between kernels of one device, and about memory of that device alone.
struct DeviceOrder {
  GCOORD_HD static void publish(std::uint64_t& word, std::uint64_t value) {
    store_release_device(&word, value);
  }

  GCOORD_HD static std::uint64_t observe(std::uint64_t& word) { return load_acquire_device(&word); }

  // What stands alone and is asked seldom goes the system's way: the host may have stored it.
  GCOORD_HD static std::uint64_t peek(const std::uint64_t& word) { return SystemOrder::peek(word); }

  GCOORD_HD static void raise(std::uint64_t& word, std::uint64_t value) {
    SystemOrder::raise(word, value);
  }

  GCOORD_HD static std::uint64_t turn(std::uint64_t& word, std::uint64_t from, std::uint64_t to) {
    return swap_if_device(&word, from, to);
  }

  // Relaxed, so its scope is no cost.
  GCOORD_HD static std::uint64_t draw(std::uint64_t& word) { return SystemOrder::draw(word); }
};

}  // namespace gcoord::netcore
