// How long a pair of resident nodes waits between joins, when it gives mapping up, and how much of
// it is said.
#include "server/resident/links/retry_policy.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

TEST(LinkRetryPolicy, JoinsOfAPairLieApart) {
  LinkRetryPolicy patience;
  EXPECT_TRUE(patience.may_join(5));
  patience.on_joined(5);
  EXPECT_FALSE(patience.may_join(5 + kJoinGapMs - 1));
  EXPECT_TRUE(patience.may_join(5 + kJoinGapMs));
}

TEST(LinkRetryPolicy, AfterProxiesThatCouldNotBeMadeItWaitsLongerEachTimeUpToABound) {
  LinkRetryPolicy patience;
  std::uint64_t now_ms = 0;
  for (std::uint64_t wait_ms = kJoinRetryMs; wait_ms <= kJoinRetryMsMax; wait_ms *= 2) {
    patience.on_join_failed(now_ms);
    EXPECT_FALSE(patience.may_join(now_ms + wait_ms - 1)) << wait_ms;
    EXPECT_TRUE(patience.may_join(now_ms + wait_ms)) << wait_ms;
    now_ms += wait_ms;
  }
  for (int again = 0; again < 100; ++again) {
    patience.on_join_failed(now_ms);
    EXPECT_TRUE(patience.may_join(now_ms + kJoinRetryMsMax)) << again;
  }
  patience.on_joined(now_ms);
  patience.on_join_failed(now_ms);
  EXPECT_TRUE(patience.may_join(now_ms + kJoinRetryMs));
}

TEST(LinkRetryPolicy, MappingIsGivenUpAfterSeveralFailuresOverAWhile) {
  LinkRetryPolicy soon;
  for (std::uint32_t failure = 0; failure < 100; ++failure) {
    soon.on_mapping_failed(7);
  }
  EXPECT_FALSE(soon.gave_up_mapping()) << "all in one moment";
  LinkRetryPolicy seldom;
  for (std::uint32_t failure = 1; failure < kMappingTries; ++failure) {
    seldom.on_mapping_failed(failure * kMappingPatienceMs);
    EXPECT_FALSE(seldom.gave_up_mapping()) << failure;
  }
  seldom.on_mapping_failed(kMappingTries * kMappingPatienceMs);
  EXPECT_TRUE(seldom.gave_up_mapping());
}

TEST(LinkRetryPolicy, AMappingThatWorkedForgetsThoseThatFailed) {
  LinkRetryPolicy patience;
  for (std::uint32_t round = 0; round < 10; ++round) {
    for (std::uint32_t failure = 1; failure < kMappingTries; ++failure) {
      patience.on_mapping_failed((round * kMappingTries + failure) * kMappingPatienceMs);
    }
    patience.on_mapped();
  }
  EXPECT_FALSE(patience.gave_up_mapping());
}

TEST(LinkRetryPolicy, TwoThatLookForEachOtherAndDoNotMeetHaveFailed) {
  LinkRetryPolicy patience;
  EXPECT_FALSE(patience.should_have_met(10));
  EXPECT_FALSE(patience.should_have_met(10 + kMeetMs - 1));
  EXPECT_TRUE(patience.should_have_met(10 + kMeetMs));
  patience.on_mapping_failed(10 + kMeetMs);
  EXPECT_FALSE(patience.should_have_met(10 + kMeetMs)) << "it begins anew";
  EXPECT_TRUE(patience.should_have_met(10 + 2 * kMeetMs));
}

// A peer that was not heard for long fails once and not as often as it could have.
TEST(LinkRetryPolicy, ASilenceIsOneFailureToMeet) {
  LinkRetryPolicy patience;
  EXPECT_FALSE(patience.should_have_met(10));
  EXPECT_TRUE(patience.should_have_met(1'000'000));
  EXPECT_FALSE(patience.should_have_met(1'000'001));
}

}  // namespace
}  // namespace gcoord::server
