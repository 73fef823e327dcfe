#include "common/device/device_calls.h"

#include <gtest/gtest.h>

namespace gcoord {
namespace {

Status make_one(DeviceCalls& calls, int& made) {
  return calls.make("a call", [&] {
    ++made;
    return Status{};
  });
}

TEST(DeviceCalls, TheCallOfThePlanIsNotMadeAndNoneAfterIt) {
  DeviceCalls calls({DeviceFaultPlan::Kind::Call, 3});
  int made = 0;
  EXPECT_TRUE(make_one(calls, made).ok());
  EXPECT_TRUE(make_one(calls, made).ok());
  const Status third = make_one(calls, made);
  EXPECT_EQ(third.detail(), kDeviceFailed);
  EXPECT_EQ(third.message(), "a call: injected at call 3");
  EXPECT_EQ(make_one(calls, made).message(), third.message());
  EXPECT_EQ(made, 2);
  EXPECT_EQ(calls.made(), 3u);
}

TEST(DeviceCalls, AFailureKeepsItsNumberAndTheFirstOneStays) {
  DeviceCalls calls;
  const Status full = calls.make("a call", [] {
    return Status{StatusCode::ResourceExhausted, "full", kDeviceMemory};
  });
  EXPECT_EQ(full.detail(), kDeviceMemory);
  EXPECT_EQ(calls.failure().message(), "full");
  EXPECT_EQ(calls.fail({StatusCode::Internal, "later"}).detail(), kDeviceFailed);
  EXPECT_EQ(calls.failure().message(), "full");
}

TEST(DeviceCalls, OneLaunchOverruns) {
  DeviceCalls calls({DeviceFaultPlan::Kind::Hang, 2});
  EXPECT_EQ(calls.begin_launch(), DeviceFaultPlan::Kind::None);
  EXPECT_EQ(calls.begin_launch(), DeviceFaultPlan::Kind::Hang);
  EXPECT_EQ(calls.begin_launch(), DeviceFaultPlan::Kind::None);
  EXPECT_EQ(calls.launches(), 3u);
}

TEST(DeviceCalls, WhatIsInjectedLaterCountsFromThen) {
  DeviceCalls calls;
  int made = 0;
  EXPECT_TRUE(make_one(calls, made).ok());
  EXPECT_EQ(calls.begin_launch(), DeviceFaultPlan::Kind::None);
  calls.inject({DeviceFaultPlan::Kind::Flip, 2});
  EXPECT_EQ(calls.begin_launch(), DeviceFaultPlan::Kind::None);
  EXPECT_EQ(calls.begin_launch(), DeviceFaultPlan::Kind::Flip);
  calls.inject({DeviceFaultPlan::Kind::Call, 2});
  EXPECT_TRUE(make_one(calls, made).ok());
  EXPECT_EQ(make_one(calls, made).detail(), kDeviceFailed);
}

TEST(DeviceCalls, APlanIsReadWholeOrNotAtAll) {
  const auto call = parse_device_fault("call:17");
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call.value().kind, DeviceFaultPlan::Kind::Call);
  EXPECT_EQ(call.value().number, 17u);
  EXPECT_EQ(parse_device_fault("hang:1").value().kind, DeviceFaultPlan::Kind::Hang);
  EXPECT_EQ(parse_device_fault("flip:9").value().kind, DeviceFaultPlan::Kind::Flip);
  EXPECT_EQ(call.value().part, DeviceFaultPlan::Part::Turn);
  const auto sweep = parse_device_fault("sweep-hang:2");
  EXPECT_EQ(sweep.value().kind, DeviceFaultPlan::Kind::Hang);
  EXPECT_EQ(sweep.value().of(DeviceFaultPlan::Part::Sweeps).number, 2u);
  EXPECT_EQ(sweep.value().of(DeviceFaultPlan::Part::Turn).kind, DeviceFaultPlan::Kind::None);
  for (const char* text : {"",
                           "sweep-flip:1",
                           "sweep-:1",
                           "call",
                           "call:",
                           "call:0",
                           "call:1x",
                           "hang:-1",
                           "stop:1",
                           ":1"}) {
    EXPECT_FALSE(parse_device_fault(text).ok()) << text;
  }
}

}  // namespace
}  // namespace gcoord
