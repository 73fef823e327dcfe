#include "netcore/channel/ring.h"

#include "netcore/memory/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

struct OwnedRing {
  explicit OwnedRing(std::uint32_t capacity) : slots(capacity) {
    view = {slots.data(), &written, &consumed, capacity};
  }

  std::vector<std::uint64_t> slots;
  RingCursor written;
  RingCursor consumed;
  RingView<std::uint64_t> view;
};

TEST(Ring, BehavesLikeABoundedFirstInFirstOutModel) {
  rc::check([](const std::vector<bool>& writes) {
    OwnedRing ring{8};
    std::deque<std::uint64_t> model;
    std::uint64_t next = 0;
    for (const bool is_write : writes) {
      if (is_write) {
        RC_ASSERT(ring_write<HostOrder>(ring.view, next) == (model.size() < 8));
        if (model.size() < 8) {
          model.push_back(next);
        }
        ++next;
        continue;
      }
      std::uint64_t value = 0;
      RC_ASSERT(ring_read<HostOrder>(ring.view, value) == !model.empty());
      if (!model.empty()) {
        RC_ASSERT(value == model.front());
        model.pop_front();
      }
    }
    RC_ASSERT(ring_waiting<HostOrder>(ring.view) == model.size());
    RC_ASSERT(ring_room<HostOrder>(ring.view) == 8 - model.size());
  });
}

TEST(Ring, KeepsItsOrderWhenCursorsAreHuge) {
  OwnedRing ring{4};
  ring.written.value = ring.consumed.value = (std::uint64_t{1} << 40) - 2;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(ring_write<HostOrder>(ring.view, i));
    std::uint64_t value = 0;
    ASSERT_TRUE(ring_read<HostOrder>(ring.view, value));
    EXPECT_EQ(value, i);
  }
}

TEST(Ring, AStampIsNeverZeroAndTellsLapsApart) {
  EXPECT_NE(ring_stamp(0), 0u);
  EXPECT_NE(ring_stamp(3), ring_stamp(3 + 8));
}

TEST(Ring, CarriesEveryValueInOrderBetweenTwoThreads) {
  constexpr std::uint64_t kCount =
      20'000;  // Each 64 may cost a switch of threads on a busy machine.
  OwnedRing ring{64};
  std::thread writer{[&] {
    for (std::uint64_t i = 0; i < kCount;) {
      if (ring_write<HostOrder>(ring.view, i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  }};
  std::uint64_t wrong = 0;
  for (std::uint64_t expected = 0; expected < kCount;) {
    std::uint64_t value = 0;
    if (ring_read<HostOrder>(ring.view, value)) {
      wrong += value != expected++ ? 1u : 0u;
    } else {
      std::this_thread::yield();
    }
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace gcoord::netcore
