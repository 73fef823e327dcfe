// A node whose clock goes back, by the shim that live chaos preloads.
#include "chaos/live/shim_page.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace gcoord::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::int64_t boot_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

// From now on the node's clock shows what it showed a second ago.
void put_back(chaos::ShimControl& control) {
  control.clock_sequence.fetch_add(1);
  control.real_base_ns.store(boot_ns());
  control.shown_base_ns.store(boot_ns() - kSecondNs);
  control.rate_millionths.store(1'000'000);
  control.clock_sequence.fetch_add(1);
}

TEST(ClockProcess, ANodeWhoseClockGoesBackSaysSoAndStops) {
  const ScratchFolder directory;
  auto page = chaos::ShimPage::make(directory.path(), "disk");
  ASSERT_TRUE(page.ok()) << page.status().to_string();
  ChildOptions options = program("gcoordd",
                                 {"dev",
                                  "--listen-client",
                                  "127.0.0.1:0",
                                  "--shards",
                                  "16",
                                  "--data-dir",
                                  directory.path("disk")});
  options.environment =
      page.value()->environment(chaos::program_beside("../lib/libgcoord_chaos_shim.so"));
  options.error_file = directory.path("log");
  auto node = ChildProcess::start(options);
  ASSERT_TRUE(node.ok()) << node.status().to_string();
  ASSERT_TRUE(node.value().read_line(kPatience).has_value()) << file_text(directory.path("log"));
  put_back(page.value()->control());
  EXPECT_EQ(node.value().wait_for(kPatience), 5);
  const std::string log = file_text(directory.path("log"));
  EXPECT_THAT(log, testing::HasSubstr("GC5010"));
  EXPECT_THAT(log, testing::HasSubstr("went back"));
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("assert")));
}

}  // namespace
}  // namespace gcoord::cli
