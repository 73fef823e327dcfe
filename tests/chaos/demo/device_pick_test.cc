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

std::vector<std::string> names(const std::vector<DemoWay>& ways) {
  std::vector<std::string> names;
  for (const DemoWay& way : ways) {
    names.push_back(way.name);
  }
  return names;
}

TEST(DemoWays, OnlyOneIsLeftWhereNothingIsToBeMeasured) {
  const auto cpu_only = pick_ways({"auto", "auto"}, 3, kNone).value();
  ASSERT_EQ(cpu_only.size(), 1u);
  EXPECT_EQ(cpu_only.front().turn, "host");
  EXPECT_THAT(cpu_only.front().devices.why, HasSubstr("the CUDA driver sees no device"));
  EXPECT_EQ(pick_ways({"auto", "cpu"}, 3, kFour).value().size(), 1u);
  const auto asked = pick_ways({"resident", "auto"}, 3, kOne).value();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked.front().turn, "resident");
  EXPECT_THAT(asked.front().devices.device_of_node, ElementsAre("cuda:0", "cuda:0", "cuda:0"));
  EXPECT_EQ(pick_ways({"auto", "gpu"}, 3, kOne).status().code(), StatusCode::InvalidArgument);
}

TEST(DemoWays, HostAndResidentWayAreMeasuredWhereThereIsAGpu) {
  const auto ways = pick_ways({"auto", "auto"}, 3, kOne).value();
  EXPECT_THAT(names(ways),
              ElementsAre("the host's turn on CPUs",
                          "the host's turn with steps on GPUs",
                          "the resident turn on GPUs"));
  EXPECT_THAT(ways[0].devices.device_of_node, ElementsAre("cpu", "cpu", "cpu"));
  EXPECT_EQ(ways[2].turn, "resident");
  EXPECT_THAT(names(pick_ways({"auto", "cuda:1"}, 3, kFour).value()),
              ElementsAre("the host's turn with steps on GPUs", "the resident turn on GPUs"))
      << "a device that was asked for by name is not replaced";
}

TEST(DemoWays, UnderMpsACrashOfOneNodeIsNotOneOfOthers) {
  DevicesHere served = kFour;
  served.mps = true;
  const auto ways = pick_ways({"auto", "auto"}, 3, served).value();
  ASSERT_EQ(ways.size(), 1u);
  EXPECT_THAT(ways.front().devices.device_of_node, ElementsAre("cpu", "cpu", "cpu"));
  EXPECT_THAT(ways.front().devices.why, HasSubstr("MPS"));
  EXPECT_EQ(pick_ways({"resident", "auto"}, 3, served).value().front().turn, "resident");
}

}  // namespace
}  // namespace gcoord::chaos
