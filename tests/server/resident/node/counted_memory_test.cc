#include "server/resident/node/counted_memory.h"

#include "server/resident/node/node.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

ResidentNodeOptions small_node() {
  ResidentNodeOptions options;
  options.shape = {.shard_count = 8, .stripe_count = 2, .log_slots = 128, .wide_count = 8};
  options.ring_slots = 256;
  return options;
}

Result<std::unique_ptr<ResidentNode>> make_node(DeviceCalls& calls) {
  return ResidentNode::make(small_node(),
                            std::make_unique<CountedMemory>(netcore::make_host_memory(), calls));
}

TEST(CountedMemory, EveryCallOfANodesStartCanFail) {
  DeviceCalls counted;
  ASSERT_TRUE(make_node(counted).ok());
  ASSERT_GT(counted.made(), 4u);
  for (std::uint64_t number = 1; number <= counted.made(); ++number) {
    DeviceCalls calls({DeviceFaultPlan::Kind::Call, number});
    const auto made = make_node(calls);
    ASSERT_FALSE(made.ok()) << number;
    EXPECT_EQ(made.status().detail(), kDeviceFailed) << number;
    EXPECT_EQ(calls.made(), number);
  }
}

TEST(CountedMemory, AWordThatIsNotStoredIsTheLastCall) {
  DeviceCalls calls;
  const auto node = make_node(calls);
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node.value()->tell_alive().ok());
  calls.inject({DeviceFaultPlan::Kind::Call, 1});
  EXPECT_EQ(node.value()->tell_alive().detail(), kDeviceFailed);
  const std::uint64_t made = calls.made();
  EXPECT_EQ(node.value()->abort().detail(), kDeviceFailed);
  EXPECT_EQ(node.value()->abort_word().status().detail(), kDeviceFailed);
  EXPECT_EQ(calls.made(), made);
}

TEST(CountedMemory, WhatAPeerSentEndsNoNode) {
  DeviceCalls calls;
  CountedMemory memory(netcore::make_host_memory(), calls);
  EXPECT_FALSE(memory.import(-1, 4096).ok());
  EXPECT_TRUE(calls.failure().ok());
  calls.inject({DeviceFaultPlan::Kind::Call, 1});
  EXPECT_EQ(memory.import(-1, 4096).status().detail(), kDeviceFailed);
}

}  // namespace
}  // namespace gcoord::server
