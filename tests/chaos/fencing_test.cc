#include "chaos/demo/history_checker.h"

#include <gtest/gtest.h>

namespace gcoord::chaos {
namespace {

struct Span {
  std::uint64_t call = 0;
  std::uint64_t told = 0;
};

Operation grant(std::uint64_t token, Span span, std::uint64_t session = 1) {
  return {.op = Op::Acquire,
          .key = "a",
          .session = session,
          .token = token,
          .call_ns = span.call,
          .return_ns = span.told};
}

Operation release(std::uint64_t token, Span span) {
  return {
      .op = Op::Release, .key = "a", .token = token, .call_ns = span.call, .return_ns = span.told};
}

Operation check(std::uint64_t token, TokenState expected, TokenState verdict) {
  return {.op = Op::Check,
          .verdict = verdict,
          .expected = expected,
          .key = "a",
          .session = 1,
          .token = token,
          .call_ns = 100,
          .return_ns = 110};
}

TEST(DemoHistoryChecker, HoldsOneAfterAnotherAreFine) {
  const Verdicts verdicts = check_history({grant(1, {0, 10}),
                                           release(1, {20, 30}),
                                           grant(2, {5, 25}, 2),
                                           release(2, {40, 50}),
                                           grant(3, {60, 70}, 3)});
  EXPECT_TRUE(verdicts.hold()) << verdicts.first_fault;
  EXPECT_EQ(verdicts.grants, 3u);
}

TEST(DemoHistoryChecker, TwoHoldsAtOnceAreADoubleGrant) {
  const Verdicts verdicts =
      check_history({grant(1, {0, 10}), grant(2, {15, 20}, 2), release(1, {30, 40})});
  EXPECT_EQ(verdicts.double_grants, 1u);
  EXPECT_NE(verdicts.first_fault.find("two held it at once"), std::string::npos);
}

TEST(DemoHistoryChecker, ALongHoldBehindAShortOneIsStillSeenToOverlap) {
  const Verdicts verdicts = check_history({grant(1, {0, 10}),
                                           release(1, {100, 101}),
                                           grant(2, {11, 12}, 2),
                                           release(2, {13, 14}),
                                           grant(3, {50, 60}, 3),
                                           release(3, {70, 71})});
  EXPECT_EQ(verdicts.double_grants, 2u);
}

TEST(DemoHistoryChecker, AReleaseOfUnknownOutcomeEndsTheHoldAllTheSame) {
  Operation unknown = release(1, {20, 5000});
  unknown.outcome = Outcome::Unknown;
  EXPECT_TRUE(check_history({grant(1, {0, 10}), unknown, grant(2, {15, 25}, 2)}).hold());
}

TEST(DemoHistoryChecker, AnAbandonedLockIsHeldUntilItsClientsLeaseEnded) {
  Operation abandoned = release(1, {20, 1000});
  abandoned.op = Op::Abandon;
  EXPECT_TRUE(check_history({grant(1, {0, 10}), abandoned, grant(2, {15, 1000}, 2)}).hold());
  EXPECT_EQ(check_history({grant(1, {0, 10}), abandoned, grant(2, {15, 999}, 2)}).double_grants,
            1u);
}

TEST(DemoHistoryChecker, ALostSessionHoldsNothingAnyMore) {
  Operation lost{.op = Op::SessionLost, .session = 1, .call_ns = 50, .return_ns = 50};
  EXPECT_TRUE(check_history({grant(1, {0, 10}), lost, grant(2, {40, 60}, 2)}).hold());
  EXPECT_EQ(check_history({grant(1, {0, 10}), lost, grant(2, {30, 40}, 2)}).double_grants, 1u);
}

TEST(DemoHistoryChecker, ATokenIsGrantedOnce) {
  const Verdicts verdicts =
      check_history({grant(1, {0, 10}), release(1, {20, 30}), grant(1, {40, 50}, 2)});
  EXPECT_GE(verdicts.double_grants, 1u);
  Operation again = grant(1, {40, 50});
  again.already_held = true;
  EXPECT_TRUE(check_history({grant(1, {0, 10}), again, release(1, {60, 70})}).hold());
}

TEST(DemoHistoryChecker, ALowerTokenForALaterGrantMeansThatTheFirstWasForgotten) {
  const Verdicts verdicts = check_history(
      {grant(9, {0, 10}), release(9, {11, 12}), grant(4, {20, 30}), release(4, {31, 32})});
  EXPECT_EQ(verdicts.lost_acks, 1u);
}

TEST(DemoHistoryChecker, GrantsThatWereAskedForAtOnceMayBeToldInAnyOrder) {
  EXPECT_TRUE(
      check_history(
          {grant(1, {0, 50}), release(1, {51, 52}), grant(2, {10, 60}, 2), release(2, {61, 62})})
          .hold());
}

TEST(DemoHistoryChecker, WhatAnAcknowledgementPromisedIsChecked) {
  const auto lost = [](TokenState expected, TokenState verdict) {
    return check_history({grant(1, {0, 10}), check(1, expected, verdict)}).lost_acks;
  };
  EXPECT_EQ(lost(TokenState::Valid, TokenState::Valid), 0u);
  EXPECT_EQ(lost(TokenState::Past, TokenState::Past), 0u);
  EXPECT_EQ(lost(TokenState::Valid, TokenState::Past), 1u);
  EXPECT_EQ(lost(TokenState::Past, TokenState::Valid), 1u);
  EXPECT_EQ(lost(TokenState::None, TokenState::Past), 0u);
}

TEST(DemoHistoryChecker, ALostSessionExcusesATokenThatIsNotValidAnyMore) {
  const Operation lost{.op = Op::SessionLost, .session = 1, .call_ns = 90, .return_ns = 90};
  EXPECT_TRUE(
      check_history({grant(1, {0, 10}), lost, check(1, TokenState::Valid, TokenState::Past)})
          .hold());
}

TEST(DemoHistoryChecker, NamesDoNotMix) {
  Operation other = grant(1, {5, 10}, 2);
  other.key = "b";
  EXPECT_TRUE(check_history({grant(1, {0, 10}), other}).hold());
}

}  // namespace
}  // namespace gcoord::chaos
