#include "chaos/check/fencing.h"

#include "chaos/check/checks.h"

#include <gtest/gtest.h>

namespace gcoord::chaos {
namespace {

// What the four checkers say of one history.
struct Verdicts {
  std::uint64_t acknowledged = 0;  // Violations of I8.
  std::uint64_t tokens = 0;        // I10.
  std::uint64_t exclusion = 0;     // I11.
  std::uint64_t once = 0;          // I18.
  std::string first_fault;

  bool hold() const { return acknowledged + tokens + exclusion + once == 0; }
};

Verdicts judge(const std::vector<Operation>& operations) {
  Verdicts verdicts;
  for (const CheckReport& report : check_history(operations)) {
    const auto counted = [&](const char* invariant, std::uint64_t& count) {
      if (report.invariants == invariant) {
        count = report.violations;
        if (verdicts.first_fault.empty() && !report.findings.empty()) {
          verdicts.first_fault = report.findings.front().what;
        }
      }
    };
    counted("I8", verdicts.acknowledged);
    counted("I10", verdicts.tokens);
    counted("I11", verdicts.exclusion);
    counted("I18", verdicts.once);
  }
  return verdicts;
}

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

// By the session of the token's number, unless another one is named.
Operation release(std::uint64_t token, Span span, std::uint64_t session = 0) {
  return {.op = Op::Release,
          .key = "a",
          .session = session == 0 ? token : session,
          .token = token,
          .call_ns = span.call,
          .return_ns = span.told};
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

TEST(Fencing, HoldsOneAfterAnotherAreFine) {
  const Verdicts verdicts = judge({grant(1, {0, 10}),
                                   release(1, {20, 30}),
                                   grant(2, {5, 25}, 2),
                                   release(2, {40, 50}),
                                   grant(3, {60, 70}, 3)});
  EXPECT_TRUE(verdicts.hold()) << verdicts.first_fault;
}

TEST(Fencing, TwoHoldsAtOnceAreADoubleGrant) {
  const Verdicts verdicts = judge({grant(1, {0, 10}), grant(2, {15, 20}, 2), release(1, {30, 40})});
  EXPECT_EQ(verdicts.exclusion, 1u);
  EXPECT_NE(verdicts.first_fault.find("two held it at once"), std::string::npos);
}

TEST(Fencing, ALongHoldBehindAShortOneIsStillSeenToOverlap) {
  const Verdicts verdicts = judge({grant(1, {0, 10}),
                                   release(1, {100, 101}),
                                   grant(2, {11, 12}, 2),
                                   release(2, {13, 14}),
                                   grant(3, {50, 60}, 3),
                                   release(3, {70, 71})});
  EXPECT_EQ(verdicts.exclusion, 2u);
}

TEST(Fencing, AReleaseByAnotherSessionEndsNoHold) {
  Operation refused = release(1, {20, 30}, 2);
  refused.outcome = Outcome::Fail;
  refused.reason = Reason::NotHeld;
  EXPECT_EQ(judge({grant(1, {0, 10}), refused, grant(2, {35, 40}, 2)}).exclusion, 1u);
}

TEST(Fencing, AReleaseOfUnknownOutcomeEndsTheHoldAllTheSame) {
  Operation unknown = release(1, {20, 5000});
  unknown.outcome = Outcome::Unknown;
  EXPECT_TRUE(judge({grant(1, {0, 10}), unknown, grant(2, {15, 25}, 2)}).hold());
}

TEST(Fencing, AnAbandonedLockIsHeldUntilItsClientsLeaseEnded) {
  Operation abandoned = release(1, {20, 1000});
  abandoned.op = Op::Abandon;
  EXPECT_TRUE(judge({grant(1, {0, 10}), abandoned, grant(2, {15, 1000}, 2)}).hold());
  EXPECT_EQ(judge({grant(1, {0, 10}), abandoned, grant(2, {15, 999}, 2)}).exclusion, 1u);
}

TEST(Fencing, ALostSessionHoldsNothingAnyMore) {
  Operation lost{.op = Op::SessionLost, .session = 1, .call_ns = 50, .return_ns = 50};
  EXPECT_TRUE(judge({grant(1, {0, 10}), lost, grant(2, {40, 60}, 2)}).hold());
  EXPECT_EQ(judge({grant(1, {0, 10}), lost, grant(2, {30, 40}, 2)}).exclusion, 1u);
}

TEST(Fencing, ATokenIsGrantedOnce) {
  const Verdicts verdicts = judge({grant(1, {0, 10}), release(1, {20, 30}), grant(1, {40, 50}, 2)});
  EXPECT_EQ(verdicts.once, 1u);
  Operation again = grant(1, {40, 50});
  again.already_held = true;
  EXPECT_TRUE(judge({grant(1, {0, 10}), again, release(1, {60, 70})}).hold());
}

TEST(Fencing, ALowerTokenForALaterGrantMeansThatTheFirstWasForgotten) {
  const Verdicts verdicts = judge(
      {grant(9, {0, 10}), release(9, {11, 12}, 1), grant(4, {20, 30}), release(4, {31, 32}, 1)});
  EXPECT_EQ(verdicts.tokens, 1u);
}

TEST(Fencing, GrantsThatWereAskedForAtOnceMayBeToldInAnyOrder) {
  EXPECT_TRUE(
      judge({grant(1, {0, 50}), release(1, {51, 52}), grant(2, {10, 60}, 2), release(2, {61, 62})})
          .hold());
}

TEST(Fencing, WhatAnAcknowledgementPromisedIsChecked) {
  const auto lost = [](TokenState expected, TokenState verdict) {
    return judge({grant(1, {0, 10}), check(1, expected, verdict)}).acknowledged;
  };
  EXPECT_EQ(lost(TokenState::Valid, TokenState::Valid), 0u);
  EXPECT_EQ(lost(TokenState::Past, TokenState::Past), 0u);
  EXPECT_EQ(lost(TokenState::Valid, TokenState::Past), 1u);
  EXPECT_EQ(lost(TokenState::Past, TokenState::Valid), 1u);
  EXPECT_EQ(lost(TokenState::None, TokenState::Past), 0u);
}

TEST(Fencing, ALostSessionExcusesATokenThatIsNotValidAnyMore) {
  const Operation lost{.op = Op::SessionLost, .session = 1, .call_ns = 90, .return_ns = 90};
  EXPECT_TRUE(
      judge({grant(1, {0, 10}), lost, check(1, TokenState::Valid, TokenState::Past)}).hold());
}

TEST(Fencing, AWriteUnderAStaleTokenThatWasAcceptedIsAViolation) {
  const auto write = [](std::uint64_t token, Span span) {
    return Operation{.op = Op::Write,
                     .key = "store",
                     .token = token,
                     .call_ns = span.call,
                     .return_ns = span.told};
  };
  EXPECT_TRUE(judge({write(1, {0, 10}), write(2, {20, 30}), write(2, {40, 50})}).hold());
  EXPECT_TRUE(judge({write(2, {0, 10}), write(1, {5, 30})}).hold()) << "they were concurrent";
  EXPECT_EQ(judge({write(2, {0, 10}), write(2, {11, 12}), write(1, {20, 30})}).exclusion, 1u);
}

TEST(Fencing, ARequestThatIsAnsweredTwiceIsAnsweredAlike) {
  Operation first = grant(1, {0, 10});
  first.sequence = 7;
  Operation again = first;
  EXPECT_EQ(judge({first, again}).once, 0u);
  again.outcome = Outcome::Unknown;
  EXPECT_EQ(judge({first, again}).once, 0u);
  again = first;
  again.op = Op::Release;
  EXPECT_EQ(judge({first, again}).once, 1u);
  again = first;
  again.token = 2;
  EXPECT_EQ(judge({first, again}).once, 1u);
  again.shard = 1;
  EXPECT_EQ(judge({first, again}).once, 0u) << "sequences are counted in each shard";
}

TEST(Fencing, NamesDoNotMix) {
  Operation other = grant(1, {5, 10}, 2);
  other.key = "b";
  EXPECT_TRUE(judge({grant(1, {0, 10}), other}).hold());
}

}  // namespace
}  // namespace gcoord::chaos
