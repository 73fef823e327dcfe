#include "chaos/demo/device_pick.h"

#include <gmock/gmock.h>

namespace gcoord::chaos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const DevicesHere kNone{.obstacle = "the CUDA driver sees no device"};
const DevicesHere kOne{.products = {"A"}};
const DevicesHere kFour{.products = {"A", "A", "A", "A"}};

TEST(DevicePick, WithoutAGpuEveryNodeIsOnTheCpuAndTheReasonIsSaid) {
  const DevicePick pick = pick_devices("auto", 3, kNone).value();
  EXPECT_THAT(pick.device_of_node, ElementsAre("cpu", "cpu", "cpu"));
  EXPECT_THAT(pick.why, HasSubstr("the CUDA driver sees no device"));
}

TEST(DevicePick, OneGpuIsSharedByAllNodes) {
  const DevicePick pick = pick_devices("auto", 3, kOne).value();
  EXPECT_THAT(pick.device_of_node, ElementsAre("cuda:0", "cuda:0", "cuda:0"));
  EXPECT_THAT(pick.why, HasSubstr("one GPU for all 3 nodes: cuda:0 (A)"));
}

TEST(DevicePick, TwoGpusAreSharedInTurn) {
  const DevicePick pick = pick_devices("auto", 3, {.products = {"A", "A"}}).value();
  EXPECT_THAT(pick.device_of_node, ElementsAre("cuda:0", "cuda:1", "cuda:0"));
  EXPECT_THAT(pick.why, HasSubstr("2 GPUs (A) for 3 nodes"));
}

TEST(DevicePick, WithEnoughGpusEachNodeHasItsOwn) {
  const DevicePick pick = pick_devices("auto", 3, kFour).value();
  EXPECT_THAT(pick.device_of_node, ElementsAre("cuda:0", "cuda:1", "cuda:2"));
}

TEST(DevicePick, WhatIsAskedForByNameIsTakenEvenWhereItIsNot) {
  EXPECT_THAT(pick_devices("cpu", 2, kFour).value().device_of_node, ElementsAre("cpu", "cpu"));
  EXPECT_THAT(pick_devices("cuda:7", 2, kNone).value().device_of_node,
              ElementsAre("cuda:7", "cuda:7"));
  EXPECT_EQ(pick_devices("gpu", 2, kOne).status().code(), StatusCode::InvalidArgument);
}

}  // namespace
}  // namespace gcoord::chaos
