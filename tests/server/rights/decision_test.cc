// The decision: each cell of kind, case, right and nesting, and the ways round a right.
#include "server/rights/decision.h"

#include "tests/server/rights/rights_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace gcoord::server {
namespace {

using protocol::RequestFlag;
using protocol::RequestKind;
using security::Grant;
using security::Right;
using security::RightsOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

security::RightMask mask(std::initializer_list<Right> rights) {
  security::RightMask all = 0;
  for (const Right right : rights) {
    all |= bit_of(right);
  }
  return all;
}

bool may(const Sample& sample, const std::vector<Grant>& grants) {
  return judge_rightly(sample, RightsOf{grants, 1});
}

std::vector<Grant> below(std::string prefix, std::initializer_list<Right> rights) {
  return {{.prefix = std::move(prefix), .exact = false, .rights = mask(rights)}};
}

// The rights and scopes that a request demands.
std::set<std::pair<int, int>> demanded(const RequestDemands& demands) {
  std::set<std::pair<int, int>> rights;
  for (const DemandRow& row : demands.rows) {
    if (demands.applies(row)) {
      rights.emplace(static_cast<int>(row.scope), static_cast<int>(row.right));
    }
  }
  return rights;
}

TEST(DecisionTest, EachCellOfKindRightAndNestingIsDecidedAsTheTableSays) {
  EXPECT_THAT(breaches_of(judge_rightly), IsEmpty());
}

TEST(DecisionTest, EachRowOfTheTableIsTriedByASample) {
  std::set<const DemandRow*> tried;
  for (const Sample& sample : samples_of({"a", "b"})) {
    const RequestDemands demands = sample.demands();
    EXPECT_FALSE(demands.malformed) << sample.label();
    for (const DemandRow& row : demands.rows) {
      if (demands.applies(row)) {
        tried.insert(&row);
      }
    }
  }
  for (const DemandRow& row : demand_table()) {
    EXPECT_TRUE(tried.contains(&row))
        << protocol::request_kind_name(row.kind) << ", " << demand_case_text(row.when);
  }
}

TEST(DecisionTest, AJudgeOfOnlyTheFirstNameOfAListIsFound) {
  const auto first_only = [](const Sample& sample, const RightsOf& rights) {
    RequestDemands demands = sample.demands();
    demands.names.resize(std::min<std::size_t>(demands.names.size(), 1));
    return !missing_right(demands, rights, true).has_value();
  };
  EXPECT_THAT(breaches_of(first_only), Not(IsEmpty()));
}

TEST(DecisionTest, AJudgeThatTakesATokenForAProofOfTheSessionIsFound) {
  const auto trusting = [](const Sample& sample, const RightsOf& rights) {
    return !missing_right(
                demands_of(sample.slot, sample.payload, SessionStanding::Own), rights, true)
                .has_value();
  };
  EXPECT_THAT(breaches_of(trusting), Not(IsEmpty()));
}

TEST(DecisionTest, AJudgeThatLetsUnreadableRequestsPassIsFound) {
  const auto lax = [](const Sample& sample, const RightsOf& rights) {
    const RequestDemands demands = sample.demands();
    return demands.malformed || !missing_right(demands, rights, true).has_value();
  };
  EXPECT_THAT(breaches_of(lax), Not(IsEmpty()));
}

TEST(DecisionTest, AJudgeThatTakesTheGrantOfANameForOneOfAPrefixIsFound) {
  const auto narrow = [](const Sample& sample, const RightsOf& rights) {
    const RequestDemands demands = sample.demands();
    return std::ranges::all_of(demands.rows, [&](const DemandRow& row) {
      return !demands.applies(row) || rights.allows(row.right, demands.subject());
    });
  };
  EXPECT_THAT(breaches_of(narrow), Not(IsEmpty()));
}

// Flags may demand more, and never less.
TEST(DecisionTest, NoFlagTakesADemandAway) {
  for (const Sample& sample : samples_of({"jobs/1", "jobs/2"})) {
    const auto plain = demanded(sample.demands());
    for (unsigned bit = 0; bit < 16; ++bit) {
      Sample flagged = sample;
      flagged.slot.flags = static_cast<std::uint16_t>(flagged.slot.flags | 1u << bit);
      const auto more = demanded(flagged.demands());
      EXPECT_TRUE(std::ranges::includes(more, plain)) << sample.label() << ", flag " << bit;
    }
  }
}

TEST(DecisionTest, TheShardThatAClientNamesChangesNothing) {
  for (const Sample& sample : samples_of({"payroll/1", "payroll/1"})) {
    Sample moved = with_flag(sample, RequestFlag::Moved, sample.what);
    for (const std::uint32_t shard : {0u, 3u, 0xffff'ffffu}) {
      moved.slot.shard = shard;
      EXPECT_EQ(demanded(moved.demands()), demanded(sample.demands())) << sample.label();
      EXPECT_EQ(moved.demands().subject(), sample.demands().subject()) << sample.label();
    }
  }
}

TEST(DecisionTest, AWatchThatBeginsAboveTheGrantIsRefused) {
  const auto grants = below("jobs/train/", {Right::Watch, Right::WatchDetails});
  using enum protocol::WatchTarget;
  EXPECT_TRUE(may(watch_of(Prefix, "jobs/train/", ""), grants));
  EXPECT_TRUE(may(watch_of(Prefix, "jobs/train/x", ""), grants));
  EXPECT_FALSE(may(watch_of(Prefix, "jobs/train", ""), grants));
  EXPECT_FALSE(may(watch_of(Prefix, "jobs/", ""), grants));
  EXPECT_FALSE(may(watch_of(Prefix, "", ""), grants));
  EXPECT_FALSE(may(watch_of(Name, "jobs/train", ""), grants));
  const std::vector<Grant> one{{.prefix = "jobs/", .exact = true, .rights = mask({Right::Watch})}};
  EXPECT_TRUE(may(watch_of(Name, "jobs/", ""), one));
  EXPECT_FALSE(may(watch_of(Prefix, "jobs/", ""), one));
}

// Its kinds say whether it is told of who waits, whatever its flag says.
TEST(DecisionTest, AWatchOfQueuesByItsKindsTakesTheRightOfDetails) {
  protocol::WatchQuery query;
  query.text = "jobs/1";
  for (const auto kind : {protocol::WatchEventKind::Waiting, protocol::WatchEventKind::Left}) {
    query.kinds = protocol::watch_kind_bit(kind);
    const Sample watch{slot_of(RequestKind::WatchOpen), protocol::encode_watch_query(query)};
    EXPECT_FALSE(may(watch, below("jobs/", {Right::Watch})));
    EXPECT_TRUE(may(watch, below("jobs/", {Right::Watch, Right::WatchDetails})));
  }
}

TEST(DecisionTest, SessionsOfOthersTakeTheirOwnRight) {
  const auto own = below("", {Right::SessionRead, Right::SessionOwn, Right::Watch});
  for (const RequestKind kind : {RequestKind::SessionShow, RequestKind::SessionLosses}) {
    EXPECT_TRUE(may(plain(kind), own));
    EXPECT_FALSE(may(of_others(plain(kind), ""), own));
  }
  const Sample watch = watch_of(protocol::WatchTarget::Session, "", "");
  EXPECT_TRUE(may(watch, own));
  EXPECT_FALSE(may(of_others(watch, ""), own));
}

TEST(DecisionTest, VerdictsOfAReadTakeTheRightOfChecks) {
  const std::vector<std::string> names{"jobs/1"};
  const Sample verdicts = read_of(names, protocol::ReadQuestion::Verdict);
  EXPECT_FALSE(may(verdicts, below("jobs/", {Right::LockRead})));
  EXPECT_TRUE(may(verdicts, below("jobs/", {Right::LockCheck})));
}

TEST(DecisionTest, RightsOfTheClusterAreNotGrantedBelowAPrefix) {
  const std::vector<Grant> team{
      {.prefix = "team/", .exact = false, .rights = security::kAllRights}};
  for (const RequestKind kind : {RequestKind::NodeStatus,
                                 RequestKind::LedgerPrune,
                                 RequestKind::SnapshotOpen,
                                 RequestKind::SnapshotRead,
                                 RequestKind::MemberChange,
                                 RequestKind::LockDeadlocks}) {
    EXPECT_FALSE(may(plain(kind), team)) << protocol::request_kind_name(kind);
  }
}

TEST(DecisionTest, AListWithoutNamesTakesSomeGrant) {
  const Sample batch{slot_of(RequestKind::LockCheckBatch), protocol::encode_check_batch({})};
  EXPECT_FALSE(may(batch, {}));
}

TEST(DecisionTest, NobodyGetsTheWayToTheClusterAndAJoiningNodeNeedsNoName) {
  const RightsOf none;
  EXPECT_TRUE(missing_right(plain(RequestKind::LeaderMap).demands(), none, false));
  EXPECT_FALSE(missing_right(plain(RequestKind::LeaderMap).demands(), none, true));
  EXPECT_FALSE(missing_right(plain(RequestKind::MemberJoin).demands(), none, false));
}

TEST(DecisionTest, ARefusalNamesTheRightAndWhatWasAskedForAlone) {
  const RightsOf none;
  const Sample acquire = plain(RequestKind::LockAcquire, "jobs/1");
  const RequestDemands demands = acquire.demands();
  const auto missing = missing_right(demands, none, true);
  ASSERT_TRUE(missing);
  EXPECT_EQ(refusal_text("user ann", *missing),
            "user ann has no right lock.acquire over \"jobs/1\"");
  const Sample watch = watch_of(protocol::WatchTarget::Prefix, "jobs/", "");
  const RequestDemands of_watch = watch.demands();
  EXPECT_THAT(refusal_text("user ann", *missing_right(of_watch, none, true)),
              HasSubstr("watch over all names below \"jobs/\""));
  const RequestDemands map = plain(RequestKind::LeaderMap).demands();
  EXPECT_EQ(refusal_text("anonymous", *missing_right(map, none, false)),
            "the client has not said who it is");
}

TEST(DecisionTest, WhatGivesBackIsNoChange) {
  for (const RequestKind kind : {RequestKind::LockRelease,
                                 RequestKind::LockCancel,
                                 RequestKind::KeepAlive,
                                 RequestKind::CloseSession,
                                 RequestKind::GroupLeave,
                                 RequestKind::LockGet}) {
    const Sample sample = plain(kind, "a");
    EXPECT_FALSE(begins_change(sample.demands(), sample.slot)) << sample.label();
  }
  for (const Sample& sample : samples_of({"a"})) {
    if (sample.what == "by token" || sample.what == "changes") {
      EXPECT_TRUE(begins_change(sample.demands(), sample.slot)) << sample.label();
    }
  }
  const Sample acquire = plain(RequestKind::LockAcquire, "a");
  EXPECT_TRUE(begins_change(acquire.demands(), acquire.slot));
}

// Issue 26: one decision p99 below 1 us. Of 1,000 grants, since a real role has a handful.
TEST(DecisionTest, OneDecisionTakesLessThanAMicrosecond) {
  std::vector<Grant> grants;
  for (int team = 0; team < 1'000; ++team) {
    grants.push_back({.prefix = "team" + std::to_string(team) + "/",
                      .exact = false,
                      .rights = mask({Right::LockAcquire, Right::LockRead})});
  }
  const RightsOf rights{grants, 1};
  const Sample acquire = plain(RequestKind::LockAcquire, "team517/builds/main/42");
  std::vector<std::uint64_t> times_ns(20'000);
  for (std::uint64_t& time : times_ns) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_FALSE(missing_right(acquire.demands(), rights, true));
    time = static_cast<std::uint64_t>(
        std::chrono::nanoseconds{std::chrono::steady_clock::now() - begin}.count());
  }
  std::ranges::sort(times_ns);
  const std::uint64_t p99_ns = times_ns[times_ns.size() / 100 * 99];
  RecordProperty("p50_ns", static_cast<int>(times_ns[times_ns.size() / 2]));
  RecordProperty("p99_ns", static_cast<int>(p99_ns));
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(p99_ns, 1'000u);
#endif
}

}  // namespace
}  // namespace gcoord::server
