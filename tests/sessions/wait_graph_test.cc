// Deadlocks among waits (L18 of docs/reference/services.md), compared with a detector that anybody
// can follow.
#include "sessions/wait_graph.h"

#include "common/random.h"
#include "sessions/wait_graph_search.h"
#include "tests/sessions/sweep_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace gcoord::sessions {
namespace {

struct Waits {
  std::vector<WaitEdge> edges;
  std::vector<std::uint8_t> any;
};

// Who can never go on: everybody, less those of whom it can be seen that they do.
std::vector<bool> naively_stuck(const Waits& waits) {
  std::vector<bool> stuck(waits.any.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t v = 0; v < stuck.size(); ++v) {
      std::size_t all = 0;
      std::size_t going_on = 0;
      for (const WaitEdge& edge : waits.edges) {
        all += edge.from == v ? 1 : 0;
        going_on += edge.from == v && !stuck[edge.to] ? 1 : 0;
      }
      const bool goes_on = all == 0 || (waits.any[v] != 0 ? going_on > 0 : going_on == all);
      changed = changed || (stuck[v] && goes_on);
      stuck[v] = stuck[v] && !goes_on;
    }
  }
  return stuck;
}

// Whether v comes back to itself over the lowest stuck one that each waits for.
bool naively_on_cycle(const Waits& waits, const std::vector<bool>& stuck, std::uint32_t v) {
  std::uint32_t at = v;
  for (std::size_t step = 0; step < stuck.size(); ++step) {
    std::uint32_t next = kNoVertex;
    for (const WaitEdge& edge : waits.edges) {
      next = edge.from == at && stuck[edge.to] ? std::min(next, edge.to) : next;
    }
    at = next;
    if (at == v) {
      return true;
    }
  }
  return false;
}

class WaitGraphTest : public SweepDeviceTest {
 protected:
  struct Found {
    std::vector<std::uint32_t> on_cycle;
    std::vector<std::uint32_t> choice;  // Empty when nobody is on a cycle.
    bool settled = false;
  };

  Found find(const Waits& waits) {
    WaitGraphSearch search(*device_);
    const auto cycles = search.find(waits.edges, waits.any);
    EXPECT_TRUE(cycles.ok());
    if (!cycles.ok()) {
      return {};
    }
    Found found{.settled = cycles.value().settled};
    for (const WaitEdge& each : cycles.value().on_cycle) {
      found.on_cycle.push_back(each.from);
    }
    if (!found.on_cycle.empty()) {
      found.choice = search.choices().value();
    }
    for (const WaitEdge& each : cycles.value().on_cycle) {
      EXPECT_EQ(found.choice[each.from], each.to);
    }
    return found;
  }
};

TEST_P(WaitGraphTest, L18TwoWhoWaitForEachOtherAreACycle) {
  const Found found = find({{{0, 1}, {1, 0}, {2, 0}}, {0, 0, 0}});
  EXPECT_EQ(found.on_cycle, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(found.choice[2], 0u);
}

TEST_P(WaitGraphTest, L18AQueueWithoutACycleIsNone) {
  const Found found = find({{{0, 1}, {1, 2}, {3, 2}}, {0, 0, 0, 0}});
  EXPECT_TRUE(found.on_cycle.empty());
  EXPECT_TRUE(found.settled);
}

TEST_P(WaitGraphTest, L18WhoWaitsForAnyOfSeveralIsStuckOnlyWhenAllOfThemAre) {
  // 0 holds what 1 wants; 1 and 2 hold the permits that 0 waits for.
  Waits waits{{{0, 1}, {0, 2}, {1, 0}}, {1, 0, 0}};
  EXPECT_TRUE(find(waits).on_cycle.empty());
  waits.edges.push_back({2, 0});
  EXPECT_EQ(find(waits).on_cycle, (std::vector<std::uint32_t>{0, 1}));
}

TEST_P(WaitGraphTest, L18WhoWaitsForAllOfSeveralIsStuckWhenOneOfThemIs) {
  EXPECT_EQ(find({{{0, 1}, {0, 2}, {1, 0}}, {0, 0, 0}}).on_cycle,
            (std::vector<std::uint32_t>{0, 1}));
}

TEST_P(WaitGraphTest, L18ALongCycleIsFoundWhole) {
  Waits waits;
  constexpr std::uint32_t kLength = 50'000;
  for (std::uint32_t v = 0; v < kLength; ++v) {
    waits.edges.push_back({v, (v + 1) % kLength});
  }
  waits.any.resize(kLength);
  EXPECT_EQ(find(waits).on_cycle.size(), kLength);
}

TEST_P(WaitGraphTest, L18RandomWaitsAreJudgedAsTheNaiveDetectorDoes) {
  std::size_t with_cycles = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Waits waits;
    const auto vertex_count = 1 + static_cast<std::uint32_t>(random64(seed, 1, 0) % 40);
    const std::uint64_t edge_count = random64(seed, 1, 1) % (vertex_count * 2 + 1);
    for (std::uint32_t v = 0; v < vertex_count; ++v) {
      waits.any.push_back(random64(seed, 2, v) % 3 == 0 ? 1 : 0);
    }
    for (std::uint64_t k = 0; k < edge_count; ++k) {
      const WaitEdge edge{static_cast<std::uint32_t>(random64(seed, 3, k) % vertex_count),
                          static_cast<std::uint32_t>(random64(seed, 4, k) % vertex_count)};
      waits.edges.push_back(edge);
    }
    const Found found = find(waits);
    const std::vector<bool> stuck = naively_stuck(waits);
    std::vector<std::uint32_t> on_cycle;
    for (std::uint32_t v = 0; v < vertex_count; ++v) {
      const bool found_stuck = !found.choice.empty() && found.choice[v] != kNoVertex;
      ASSERT_EQ(found_stuck, stuck[v]) << "seed " << seed << " vertex " << v;
      if (stuck[v] && naively_on_cycle(waits, stuck, v)) {
        on_cycle.push_back(v);
      }
    }
    ASSERT_EQ(found.on_cycle, on_cycle) << "seed " << seed;
    with_cycles += on_cycle.empty() ? 0 : 1;
  }
  EXPECT_GT(with_cycles, 100u);
  EXPECT_LT(with_cycles, 390u);
}

INSTANTIATE_TEST_SUITE_P(Devices, WaitGraphTest, testing::Values("host", "cuda"));

}  // namespace
}  // namespace gcoord::sessions
