// Elections with ticks of a millisecond: a node that leads many shards dies, its last heartbeats
// reached the others some milliseconds apart, and the one that finds out first has the longer logs.
#include "consensus/scenario/script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::consensus::scenario {
namespace {

constexpr std::uint32_t kShards = 60;  // Node 1 leads each third one.
constexpr std::uint32_t kLed = kShards / 3;
constexpr std::uint32_t kTicksApart = 7;

struct Failover {
  std::uint32_t ticks = 0;      // From the first campaign until all shards are led again.
  std::uint32_t campaigns = 0;  // That asked for pre-votes.
};

std::vector<std::string> run(Script& script, const std::string& line) {
  const Status status = script.run(line);
  EXPECT_TRUE(status.ok()) << line << ": " << status.to_string();
  std::vector<std::string> output = script.take_output();
  for (const std::string& text : output) {
    EXPECT_FALSE(text.starts_with("VIOLATION")) << text;
  }
  return output;
}

std::uint32_t count(const std::vector<std::string>& lines, std::string_view what) {
  std::uint32_t found = 0;
  for (const std::string& line : lines) {
    found += line.find(what) != std::string::npos ? 1 : 0;
  }
  return found;
}

Failover fail_over(std::uint32_t stagger, std::uint32_t retry) {
  Script script;
  run(script,
      fmt::format("cluster replicas=3 shards={} election=1000 resend=100 margin=100 stagger={} "
                  "retry={}",
                  kShards,
                  stagger,
                  retry));
  run(script, "quiet tick 200");
  // 2 gets none of the last entries, and hears of 1 for longer than 3 does.
  run(script, "hold 1 2");
  for (std::uint32_t shard = 0; shard < kShards; shard += 3) {
    run(script, fmt::format("propose 1 a shard={}", shard));
  }
  run(script, "mute 1 3");
  run(script, fmt::format("quiet tick {}", kTicksApart));
  run(script, "stop 1");
  run(script, "quiet tick 980");
  Failover result;
  std::uint32_t elected = 0;
  for (std::uint32_t tick = 0; elected < kLed && tick < 5000; ++tick) {
    const auto lines = run(script, "tick 1");
    result.campaigns += count(lines, "-> pre-candidate");
    elected += count(lines, "(elected)");
    result.ticks += result.campaigns == 0 ? 0 : 1;
  }
  EXPECT_EQ(elected, kLed);
  return result;
}

// As a node with --tick-ms 1 sets them (server/node/node_parts.cc: timing_of).
TEST(ShortTicks, ARefusedCampaignIsFollowedByAnotherAtOnce) {
  const Failover failover = fail_over(20, 10);
  EXPECT_LE(failover.ticks, 150u) << "longer than four pauses";
  // No storm: five campaigns of either voter at most, and most shards need fewer.
  EXPECT_LE(failover.campaigns, 5 * kLed);
}

// What it was before, and what shows that the world above is one in which pre-votes are refused.
TEST(ShortTicks, WithoutThatSomeShardsWaitForHalfAnElectionTimeout) {
  EXPECT_GE(fail_over(2, 0).ticks, 500u);
}

}  // namespace
}  // namespace gcoord::consensus::scenario
