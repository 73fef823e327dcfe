#include "common/host/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <optional>
#include <thread>

namespace gcoord {
namespace {

TEST(Processors, AQuotaIsRoundedUpToWholeProcessors) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2u);
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 2u);
  EXPECT_EQ(parse_cpu_max("10000 100000\n"), 1u);
  EXPECT_EQ(parse_cpu_max("100000 100000"), 1u);
}

TEST(Processors, WhatIsNoQuotaLimitsNothing) {
  for (const char* text : {"max 100000\n",
                           "",
                           "200000",
                           "0 100000",
                           "200000 0",
                           "-1 100000",
                           "2e5 100000",
                           "99999999999999999999 1"}) {
    EXPECT_EQ(parse_cpu_max(text), std::nullopt) << text;
  }
}

TEST(Processors, TheGroupIsThatOfTheSecondVersion) {
  EXPECT_EQ(parse_cgroup_path("0::/\n"), "");
  EXPECT_EQ(parse_cgroup_path("4:cpu,cpuacct:/old\n0::/system.slice/gcoordd.service\n"),
            "/system.slice/gcoordd.service");
  EXPECT_EQ(parse_cgroup_path("4:cpu,cpuacct:/old\n"), std::nullopt);
  EXPECT_EQ(parse_cgroup_path(""), std::nullopt);
}

TEST(Processors, AThreadThatIsBoundToOneHasOne) {
  std::thread([] {
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_GE(usable_processors(), 1u);
    EXPECT_LE(usable_processors(), static_cast<std::uint32_t>(CPU_COUNT(&all)));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
      }
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_processors(), 1u);
  }).join();
}

}  // namespace
}  // namespace gcoord
