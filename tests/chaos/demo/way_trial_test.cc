#include "chaos/demo/way_trial.h"

#include "chaos/process/own_path.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>

namespace gcoord::chaos {
namespace {

using testing::HasSubstr;

DemoWay way(const std::string& name, const std::string& turn = "host") {
  return {name, turn, {.device_of_node = {"cpu", "cpu", "cpu"}, .why = "by itself"}};
}

TEST(WayTrial, OneWayAloneIsTakenWithoutATrial) {
  const auto taken = fastest_way({way("a")}, [](const DemoWay&) -> Result<double> {
    return Status{StatusCode::Internal, "tried"};
  });
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value().devices.why, "by itself");
}

TEST(WayTrial, TheFastestIsTakenAndAllFiguresAreSaid) {
  const std::map<std::string, double> speed = {{"a", 100.4}, {"b", 300}, {"c", 200}};
  const auto taken =
      fastest_way({way("a"), way("b"), way("c")},
                  [&](const DemoWay& each) -> Result<double> { return speed.at(each.name); });
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value().name, "b");
  EXPECT_EQ(taken.value().devices.why,
            "b: the fastest here of a 100 commits/s, b 300 commits/s, c 200 commits/s");
}

TEST(WayTrial, WhatCannotBeTriedIsLeftOutWithItsReason) {
  const auto only_b = [](const DemoWay& each) -> Result<double> {
    return each.name == "b" ? Result<double>{5.0}
                            : Status{StatusCode::Unavailable, "no " + each.name};
  };
  const auto taken = fastest_way({way("a"), way("b")}, only_b);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value().name, "b");
  EXPECT_THAT(taken.value().devices.why, HasSubstr("a cannot be tried (no a)"));
  EXPECT_EQ(fastest_way({way("a"), way("c")}, only_b).status().message(), "no a");
}

// Both turns for real, the resident one by its twin.
TEST(WayTrial, ServesTheDemosLoadInEachWay) {
  DemoOptions options;
  options.gcoordd = program_beside("gcoordd");
  options.self = program_beside("gcoord-demo");
  options.shards = 16;
  options.clients = 1;
  options.lanes = 4;
  std::map<std::string, double> speed;
  const auto taken = fastest_way({way("host"), way("twin", "resident")}, [&](const DemoWay& each) {
    auto tried = try_way(options, each, testing::TempDir());
    speed[each.turn] = tried.ok() ? tried.value() : 0;
    return tried;
  });
  ASSERT_TRUE(taken.ok()) << taken.status().to_string();
  EXPECT_GT(speed["host"], 0);
  EXPECT_GT(speed["resident"], 0) << taken.value().devices.why;
}

}  // namespace
}  // namespace gcoord::chaos
