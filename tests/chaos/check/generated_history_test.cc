// Random histories that are right are accepted; what a mutation breaks is rejected, and only that.
#include "chaos/check/generated_history.h"

#include "chaos/check/checks.h"
#include "chaos/check/fencing.h"
#include "common/random.h"
#include "tests/chaos/check/brute_force.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

constexpr ModelKind kModels[] = {
    ModelKind::Lock, ModelKind::Register, ModelKind::Counter, ModelKind::Guarded};

std::string all_findings(const std::vector<Operation>& history) {
  std::string text;
  for (const CheckReport& report : check_history(history)) {
    for (const Finding& finding : report.findings) {
      text += finding.invariant + " " + finding.what + "\n";
      for (const std::string& line : finding.evidence) {
        text += "    " + line + "\n";
      }
    }
    text += report.undecided_reason;
  }
  return text;
}

TEST(GeneratedHistory, IsAcceptedWhateverTheSeed) {
  for (const ModelKind model : kModels) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const GeneratedHistoryOptions options{
          .model = model,
          .seed = seed,
          .operations = 600,
          .keys = 2,
          .clients = static_cast<std::uint32_t>(2 + seed % 15),
          .unknown_thousandths = static_cast<std::uint32_t>(seed % 4 * 20),
          .values = static_cast<std::uint32_t>(seed % 3 * 4)};
      const auto history = generate_history(options);
      ASSERT_GE(history.size(), 600u);
      ASSERT_EQ(all_findings(history), "")
          << "seed " << seed << ", model " << static_cast<int>(model);
    }
  }
}

TEST(GeneratedHistory, HasEverythingThatItIsMeantToHave) {
  const auto history = generate_history({.model = ModelKind::Lock,
                                         .operations = 20'000,
                                         .keys = 4,
                                         .clients = 8,
                                         .unknown_thousandths = 20});
  const auto count = [&](auto&& wanted) {
    return std::count_if(history.begin(), history.end(), wanted);
  };
  EXPECT_GT(count([](const Operation& o) { return o.reason == Reason::Busy; }), 100);
  EXPECT_GT(count([](const Operation& o) { return o.op == Op::Abandon; }), 20);
  EXPECT_GT(count([](const Operation& o) { return o.outcome == Outcome::Unknown; }), 200);
  EXPECT_GT(count([](const Operation& o) { return o.verdict == TokenState::Valid; }), 100);
}

// The oracle's verdict on a history of one key.
bool legal(const std::vector<Operation>& history, ModelKind model) {
  std::vector<const Operation*> operations;
  for (const Operation& operation : history) {
    if (operation.op != Op::Abandon) {
      operations.push_back(&operation);
    }
  }
  ValueNames names;
  std::uint64_t not_numbers = 0;
  switch (model) {
    case ModelKind::Register:
      return BruteForce<RegisterModel>(register_calls(operations, names)).legal();
    case ModelKind::Counter:
      return BruteForce<CounterModel>(counter_calls(operations, not_numbers)).legal();
    case ModelKind::Guarded:
      return BruteForce<GuardedModel>(guarded_calls(operations, names)).legal();
    default:
      return BruteForce<LockModel>(lock_calls(operations, HoldEnds(history), model)).legal();
  }
}

// Breaks something about one operation: a token, a result, a time, a value.
void mutate(std::vector<Operation>& history, std::uint64_t word) {
  const auto size = static_cast<std::uint32_t>(history.size());
  Operation& one = history[random_below(mix64(word), size)];
  Operation& other = history[random_below(mix64(word + 1), size)];
  switch (word % 5) {
    case 0:
      std::swap(one.token, other.token);
      return;
    case 1:
      std::swap(one.value, other.value);
      return;
    case 2:
      std::swap(one.call_ns, other.call_ns);
      std::swap(one.return_ns, other.return_ns);
      return;
    case 3:
      one.outcome = one.outcome == Outcome::Ok ? Outcome::Fail : Outcome::Ok;
      return;
    default:
      one.verdict = one.verdict == TokenState::Valid ? TokenState::Past : TokenState::Valid;
      one.delta += 1;
      return;
  }
}

TEST(GeneratedHistory, AMutationIsRejectedUnlessEveryOrderWasTriedAndOneIsLegal) {
  for (const ModelKind model : kModels) {
    int rejected = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      auto history = generate_history({.model = model,
                                       .seed = seed,
                                       .operations = 6,
                                       .clients = 3,
                                       .unknown_thousandths = 100,
                                       .values = 3});
      ASSERT_TRUE(legal(history, model)) << seed;
      mutate(history, seed * 7 + seed % 5);
      const Verdict verdict = check_linearizability(history, {.model = model}).verdict;
      ASSERT_EQ(verdict == Verdict::Violation, !legal(history, model))
          << "seed " << seed << ", model " << static_cast<int>(model);
      rejected += verdict == Verdict::Violation ? 1 : 0;
    }
    EXPECT_GT(rejected, 40) << static_cast<int>(model);
  }
}

// What no history can explain, planted deep in a long one.
TEST(GeneratedHistory, AFaultInALongHistoryIsFoundWhereItIs) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto history = generate_history({.model = ModelKind::Register,
                                     .seed = seed,
                                     .operations = 5000,
                                     .clients = 12,
                                     .unknown_thousandths = 10,
                                     .values = 0});
    const auto read = std::find_if(history.begin() + 3000, history.end(), [](const auto& o) {
      return o.op == Op::Read && o.outcome == Outcome::Ok;
    });
    read->value = "nobody wrote this";
    const CheckReport report = check_linearizability(history);
    ASSERT_EQ(report.verdict, Verdict::Violation) << report.undecided_reason;
    EXPECT_NE(report.findings[0].evidence[0].find("nobody wrote this"), std::string::npos)
        << report.findings[0].evidence[0];
  }
}

TEST(GeneratedHistory, TwoSwappedTokensInALongHistoryAreFound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto history = generate_history(
        {.model = ModelKind::Lock, .seed = seed, .operations = 5000, .clients = 12});
    std::vector<Operation*> grants;
    for (Operation& operation : history) {
      if (operation.op == Op::Acquire && operation.outcome == Outcome::Ok) {
        grants.push_back(&operation);
      }
    }
    std::swap(grants[100]->token, grants[200]->token);
    EXPECT_EQ(check_linearizability(history).verdict, Verdict::Violation);
    EXPECT_EQ(check_tokens(history).verdict, Verdict::Violation);
  }
}

}  // namespace
}  // namespace gcoord::chaos
