// What a witness knows of sessions: it may say too little silence, never too much.
#include "server/sessions/heard.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace gcoord::server {
namespace {

constexpr SessionId kOne{1};
constexpr SessionId kOther{2};

TEST(HeardSessions, ASessionIsSilentSinceItWasHeardAndAnyOtherSinceListeningBegan) {
  HeardSessions heard({.count_max = 100, .ttl_ticks_max = 1000});
  EXPECT_FALSE(heard.silent_ticks(kOne, Tick{500}).has_value());
  heard.listen(Tick{500});
  EXPECT_EQ(heard.silent_ticks(kOne, Tick{510}), 10u);
  heard.note(kOne, Tick{520});
  EXPECT_EQ(heard.silent_ticks(kOne, Tick{550}), 30u);
  EXPECT_EQ(heard.silent_ticks(kOther, Tick{550}), 50u);
}

TEST(HeardSessions, WhatIsOlderThanTheLongestTtlIsForgottenAndStillLongSilent) {
  HeardSessions heard({.count_max = 100, .ttl_ticks_max = 1000});
  heard.listen(Tick{0});
  heard.note(kOne, Tick{10});
  for (std::uint64_t tick = 0; tick <= 4000; tick += 100) {
    heard.listen(Tick{tick});
  }
  EXPECT_EQ(heard.count(), 0u);
  const auto silent = heard.silent_ticks(kOne, Tick{4000});
  ASSERT_TRUE(silent.has_value());
  EXPECT_GT(*silent, 1000u) << "longer than any session lives";
  EXPECT_LE(*silent, 3990u);
}

// By many more sessions than there is room for.
TEST(HeardSessions, NeverSaysMoreSilenceThanThereWas) {
  std::mt19937_64 random(7);
  HeardSessions heard({.count_max = 16, .ttl_ticks_max = 300});
  heard.listen(Tick{1000});
  std::map<std::uint64_t, std::uint64_t> last;
  for (std::uint64_t tick = 1000; tick < 6000; ++tick) {
    heard.listen(Tick{tick});
    const std::uint64_t session = random() % (tick < 3000 ? 8 : 64);
    if (random() % 3 == 0) {
      heard.note(SessionId{session}, Tick{tick});
      last[session] = tick;
    }
    ASSERT_LE(heard.count(), 16u);
    const std::uint64_t asked = random() % 64;
    const std::uint64_t truth = tick - (last.contains(asked) ? last[asked] : 1000);
    ASSERT_LE(*heard.silent_ticks(SessionId{asked}, Tick{tick}), truth) << asked;
  }
}

}  // namespace
}  // namespace gcoord::server
