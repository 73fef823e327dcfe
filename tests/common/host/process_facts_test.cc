#include "common/host/process_facts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace gcoord {
namespace {

// Fields 3 to 24 of proc(5).
constexpr const char* kRest =
    " S 1 2 3 0 -1 4194304 10 11 12 13 114 115 116 117 20 0 21 0 122 123000 124 "
    "18446744073709551615";

TEST(ProcessFacts, FieldsAreCountedBehindTheName) {
  for (const char* name : {"gcoordd", "a b", "x) S 9 (y", ")"}) {
    const auto stat = parse_process_stat("7 (" + std::string{name} + ")" + kRest);
    ASSERT_TRUE(stat.ok()) << name;
    EXPECT_EQ(stat.value().user_ticks, 114u);
    EXPECT_EQ(stat.value().system_ticks, 115u);
    EXPECT_EQ(stat.value().threads, 21u);
    EXPECT_EQ(stat.value().start_ticks, 122u);
    EXPECT_EQ(stat.value().virtual_bytes, 123000u);
    EXPECT_EQ(stat.value().resident_pages, 124u);
  }
}

TEST(ProcessFacts, WhatIsCutOffIsRefused) {
  const std::string whole = std::string{"7 (gcoordd)"} + kRest;
  const std::size_t needed = whole.rfind(" 18446744073709551615");
  EXPECT_TRUE(parse_process_stat(whole.substr(0, needed)).ok());
  EXPECT_FALSE(parse_process_stat(whole.substr(0, needed - 4)).ok());
  EXPECT_FALSE(parse_process_stat("").ok());
  EXPECT_FALSE(parse_process_stat("7 gcoordd S 1").ok());
}

TEST(ProcessFacts, ThisProcessIsMeasured) {
  const auto before = read_process_facts();
  ASSERT_TRUE(before.ok()) << before.status().to_string();
  EXPECT_GT(before.value().resident_bytes, 100'000u);
  EXPECT_GE(before.value().virtual_bytes, before.value().resident_bytes);
  EXPECT_GT(before.value().descriptors_max, 0u);
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const double now = std::chrono::duration<double>(since).count();
  EXPECT_GT(before.value().start_unix_seconds, now - 86400);
  EXPECT_LT(before.value().start_unix_seconds, now + 1);
  const int descriptor = ::open("/dev/null", O_RDONLY);
  // Until the kernel has counted a tick, which is 10 ms of work.
  auto after = read_process_facts();
  while (after.value().cpu_seconds == before.value().cpu_seconds) {
    after = read_process_facts();
  }
  EXPECT_EQ(after.value().descriptors_open, before.value().descriptors_open + 1);
  EXPECT_GT(after.value().cpu_seconds, before.value().cpu_seconds);
  ::close(descriptor);
  std::thread other(
      [&] { EXPECT_EQ(read_process_facts().value().threads, before.value().threads + 1); });
  other.join();
}

}  // namespace
}  // namespace gcoord
