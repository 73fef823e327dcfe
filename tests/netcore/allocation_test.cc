// Once warm, sending and receiving over TCP take nothing from the heap.
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/network_world.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::atomic<std::uint64_t> allocation_count{0};

void* count_and_allocate(std::size_t bytes, std::size_t alignment) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

// The replaceable allocation functions of this program; std::aligned_alloc pairs with std::free.
// Not inlined: where GCC inlines one of a pair and not the other, as with a sanitizer, it warns
// that they do not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return count_and_allocate(bytes, alignof(std::max_align_t));
}

[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return count_and_allocate(bytes, static_cast<std::size_t>(alignment));
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace gcoord::netcore {
namespace {

// Counts without remembering, so that the test itself needs no memory.
struct CountingSink final : Sink {
  void on_frame(NodeId, Band, std::span<const Slot> slots, const PayloadView&) override {
    slot_count += slots.size();
  }

  void on_heartbeat(NodeId, const Heartbeat&) override {}

  void on_peer_up(NodeId, Incarnation, std::uint32_t) override { ++live; }

  void on_peer_down(NodeId, std::string_view) override { --live; }

  std::size_t slot_count = 0;
  int live = 0;
};

TEST(Allocation, AWarmChannelSendsAndReceivesWithoutAny) {
  const auto answerer = must_create(node_options(2, {{NodeId{1}, "127.0.0.1", 0}}));
  const auto caller =
      must_create(node_options(1, {{NodeId{2}, "127.0.0.1", answerer->listen_port()}}));
  CountingSink at_caller;
  CountingSink at_answerer;
  std::uint64_t now_ms = 1;
  const auto turn = [&] {
    ++now_ms;
    caller->progress(now_ms, at_caller);
    answerer->progress(now_ms, at_answerer);
  };
  while (at_caller.live == 0 || at_answerer.live == 0) {
    turn();
  }
  const std::vector<Slot> slots(100, sample_slot(1));
  const auto bytes = sample_bytes(1, 5000);
  const PayloadExtent extent{7, bytes};
  const auto exchange = [&](std::size_t rounds) {
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t expected = at_answerer.slot_count + slots.size();
      ASSERT_TRUE(caller->send(NodeId{2}, Band::Consensus, slots, {&extent, 1}));
      caller->heartbeat(NodeId{2}, {});
      while (at_answerer.slot_count < expected) {
        turn();
      }
      answerer->heartbeat(NodeId{1}, {});
      turn();
    }
  };
  exchange(1000);
  const std::uint64_t allocations_before = allocation_count.load();
  exchange(1000);
  EXPECT_EQ(allocation_count.load(), allocations_before);
}

}  // namespace
}  // namespace gcoord::netcore
