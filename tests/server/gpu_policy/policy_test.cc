// The policy's text, and the classes of Xids.
#include "server/gpu_policy/policy.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

TEST(GpuPolicy, ClassesThatAreNotNamedKeepTheirDefaults) {
  const GpuPolicy usual;
  EXPECT_EQ(parse_gpu_policy("").value(), usual);
  const auto given = parse_gpu_policy("thermal=drain,xid-fatal=log");
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given.value().of(GpuFault::Thermal), GpuAction::Drain);
  EXPECT_EQ(given.value().of(GpuFault::XidFatal), GpuAction::Log);
  EXPECT_EQ(given.value().of(GpuFault::LinkError), usual.of(GpuFault::LinkError));
}

TEST(GpuPolicy, ItsTextIsWhatItIsReadFrom) {
  EXPECT_EQ(gpu_policy_text({}),
            "xid-fatal=stop,xid-program=log,ecc-uncorrected=restart-context,"
            "ecc-corrected-rate=log,link-error=drain,thermal=log,hung=drain");
  const auto given = parse_gpu_policy("hung=stop,ecc-uncorrected=ignore").value();
  EXPECT_EQ(parse_gpu_policy(gpu_policy_text(given)).value(), given);
}

TEST(GpuPolicy, InMemoryAWrongMemoryDrainsUnlessTheOperatorSaysOtherwise) {
  const auto in_memory = [](const char* text) {
    return gpu_policy_in_memory(parse_gpu_policy(text).value());
  };
  EXPECT_EQ(in_memory("").of(GpuFault::EccUncorrected), GpuAction::Drain);
  EXPECT_EQ(in_memory("thermal=stop"),
            parse_gpu_policy("thermal=stop,ecc-uncorrected=drain").value());
  EXPECT_EQ(in_memory("ecc-uncorrected=restart-context").of(GpuFault::EccUncorrected),
            GpuAction::RestartContext);
}

TEST(GpuPolicy, WhatIsNoRuleIsRefusedWithWhatIsAllowed) {
  for (const char* text : {"thermal",
                           "thermal=",
                           "=log",
                           "heat=log",
                           "thermal=reboot",
                           ",",
                           "thermal=log,,hung=log",
                           "thermal=log,thermal=drain",
                           "hung=restart-context",
                           "Thermal=log",
                           "thermal = log"}) {
    EXPECT_EQ(parse_gpu_policy(text).status().code(), StatusCode::InvalidArgument) << text;
  }
  const std::string why = parse_gpu_policy("heat=log").status().message();
  EXPECT_NE(why.find("ecc-corrected-rate"), std::string::npos) << why;
  EXPECT_NE(why.find("restart-context"), std::string::npos) << why;
}

// Those that docs/internals/faults.md, 19, names.
TEST(GpuPolicy, XidsHaveClasses) {
  EXPECT_EQ(fault_of_xid(13), GpuFault::XidProgram);
  EXPECT_EQ(fault_of_xid(31), GpuFault::XidProgram);
  EXPECT_EQ(fault_of_xid(48), GpuFault::EccUncorrected);
  EXPECT_EQ(fault_of_xid(63), GpuFault::EccCorrectedRate);
  EXPECT_EQ(fault_of_xid(64), GpuFault::EccUncorrected);
  EXPECT_EQ(fault_of_xid(74), GpuFault::LinkError);
  EXPECT_EQ(fault_of_xid(79), GpuFault::XidFatal);
  EXPECT_EQ(fault_of_xid(94), GpuFault::EccUncorrected);
  EXPECT_EQ(fault_of_xid(95), GpuFault::EccUncorrected);
  EXPECT_EQ(fault_of_xid(119), GpuFault::XidFatal);
  EXPECT_EQ(fault_of_xid(0), std::nullopt);
  EXPECT_EQ(fault_of_xid(4711), std::nullopt);
}

}  // namespace
}  // namespace gcoord::server
