// The search against an oracle that tries every order, and the promises that it makes itself.
#include "chaos/check/linear_search.h"

#include "chaos/check/linear_prefix.h"
#include "chaos/check/lock_model.h"
#include "chaos/check/value_models.h"
#include "common/random.h"
#include "tests/chaos/check/brute_force.h"

#include <gtest/gtest.h>

namespace gcoord::chaos {
namespace {

template <typename Model>
using Calls = std::vector<TimedCall<typename Model::Action>>;

// An action, and whether its outcome is known.
template <typename Action>
struct Letter {
  Action action;
  bool open = false;
};

// Every way in which `count` operations can overlap: at each of 2 * count moments one is called or
// one returns. Operations are numbered by their calls.
class Overlaps {
 public:
  struct Span {
    std::uint64_t call = 0;
    std::uint64_t back = 0;
  };

  explicit Overlaps(std::size_t count) : spans_(count) { extend(0, 0, 0); }

  const std::vector<std::vector<Span>>& all() const { return all_; }

 private:
  void extend(std::uint64_t moment, std::size_t called, std::size_t returned) {
    if (returned == spans_.size()) {
      all_.push_back(spans_);
      return;
    }
    if (called < spans_.size()) {
      spans_[called] = {moment, 0};
      extend(moment + 1, called + 1, returned);
    }
    for (std::size_t index = 0; index < called; ++index) {
      if (spans_[index].back == 0) {
        spans_[index].back = moment;
        extend(moment + 1, called, returned + 1);
        spans_[index].back = 0;
      }
    }
  }

  std::vector<Span> spans_;
  std::vector<std::vector<Span>> all_;
};

// Whether the order that the search found obeys the model and the times.
template <typename Model>
void expect_witness(const Calls<Model>& calls, const std::vector<std::uint32_t>& order) {
  typename Model::State state{};
  std::vector<bool> placed(calls.size(), false);
  std::uint64_t now_ns = 0;
  for (const std::uint32_t source : order) {
    if constexpr (requires(typename Model::State & s) { Model::lapse(s); }) {
      if (source == kLapsed) {
        now_ns = std::max(now_ns, Model::lapse_ns(state));
        Model::lapse(state);
        continue;
      }
    }
    ASSERT_FALSE(placed[source]);
    placed[source] = true;
    now_ns = std::max(now_ns, calls[source].call_ns);
    ASSERT_LE(now_ns, calls[source].return_ns);
    ASSERT_TRUE(Model::apply(state, calls[source].action));
  }
  for (std::size_t index = 0; index < calls.size(); ++index) {
    ASSERT_TRUE(placed[index] || calls[index].return_ns == kOpenReturn);
  }
}

// What was called until `until`; what had not returned by then is open.
template <typename Model>
Calls<Model> prefix(const Calls<Model>& calls, std::uint64_t until) {
  Calls<Model> cut;
  for (auto call : calls) {
    if (call.call_ns <= until) {
      call.return_ns = call.return_ns <= until ? call.return_ns : kOpenReturn;
      cut.push_back(call);
    }
  }
  return cut;
}

template <typename Model>
void expect_smallest_prefix(const Calls<Model>& calls,
                            const SearchResult<typename Model::State>& result) {
  const std::uint64_t end = calls[result.failed].return_ns;
  ASSERT_EQ(prefix<Model>(calls, end).size(), result.prefix_calls);
  ASSERT_FALSE(BruteForce<Model>(prefix<Model>(calls, end)).legal());
  ASSERT_TRUE(BruteForce<Model>(prefix<Model>(calls, end - 1)).legal());
}

template <typename Model>
void compare(const Calls<Model>& calls, std::uint64_t& legal_count) {
  const auto result = find_order<Model>(calls);
  const bool legal = BruteForce<Model>(calls).legal();
  ASSERT_EQ(result.verdict, legal ? Verdict::Ok : Verdict::Violation);
  if (legal) {
    ++legal_count;
    expect_witness<Model>(calls, result.order);
  } else {
    expect_smallest_prefix<Model>(calls, result);
  }
}

template <typename Model>
Calls<Model> calls_of(const std::vector<Overlaps::Span>& spans,
                      const std::vector<Letter<typename Model::Action>>& letters,
                      std::uint64_t word) {
  Calls<Model> calls;
  for (const auto& span : spans) {
    const auto& letter = letters[word % letters.size()];
    word /= letters.size();
    calls.push_back({letter.action,
                     span.call,
                     letter.open ? kOpenReturn : span.back,
                     static_cast<std::uint32_t>(calls.size())});
  }
  return calls;
}

// All histories of `count` operations over these letters, or every `stride`-th.
template <typename Model>
void compare_all(std::size_t count,
                 const std::vector<Letter<typename Model::Action>>& letters,
                 std::uint64_t stride = 1) {
  std::uint64_t words = 1;
  for (std::size_t index = 0; index < count; ++index) {
    words *= letters.size();
  }
  const Overlaps overlaps(count);
  std::uint64_t total = 0;
  std::uint64_t legal = 0;
  for (std::uint64_t number = 0; number < words * overlaps.all().size(); number += stride) {
    // Neighbours differ in the overlap and in the words, so that a stride meets all of both.
    const std::uint64_t drawn = stride == 1 ? number : number + mix64(number) % stride;
    const auto& spans = overlaps.all()[drawn % overlaps.all().size()];
    compare<Model>(calls_of<Model>(spans, letters, drawn / overlaps.all().size()), legal);
    ++total;
    if (testing::Test::HasFatalFailure()) {
      FAIL() << "history " << drawn << " of " << count << " operations";
    }
  }
  EXPECT_GT(legal, 0u);
  EXPECT_LT(legal, total);
}

using R = RegisterModel;
using L = LockModel;
using C = CounterModel;
using G = GuardedModel;

const std::vector<Letter<R::Action>> kRegisterLetters = {{{R::Read, 0, 0}},
                                                         {{R::Read, 1, 0}},
                                                         {{R::Read, 2, 0}},
                                                         {{R::Write, 1, 0}},
                                                         {{R::Write, 2, 0}, true},
                                                         {{R::Cas, 2, 1}},
                                                         {{R::Cas, 1, 2}, true},
                                                         {{R::Mismatch, 0, 1}}};

const std::vector<Letter<L::Action>> kLockLetters = {{{L::Grant, 1, 1, 0, kNever}},
                                                     {{L::Grant, 2, 3, 1, 4}},
                                                     {{L::GrantAgain, 1, 1, 0, kNever}},
                                                     {{L::GrantAgain, 3, 3, 1, 4}},
                                                     {{L::Ghost, 3, 0, 0, 0}, true},
                                                     {{L::Release, 1, 1, 0, 0}},
                                                     {{L::Release, 1, 1, 0, 0}, true},
                                                     {{L::Busy, 0, 0, 0, 0}},
                                                     {{L::IsPast, 0, 1, 0, 0}},
                                                     {{L::Renew, 2, 3, 0, 6}}};

TEST(LinearSearch, AgreesWithTheOracleOnAllRegisterHistoriesOfUpToFour) {
  for (std::size_t count = 1; count <= 4; ++count) {
    compare_all<R>(count, kRegisterLetters);
  }
}

TEST(LinearSearch, AgreesWithTheOracleOnRegisterHistoriesOfFiveAndSixOverFewerLetters) {
  const std::vector<Letter<R::Action>> letters = {
      {{R::Read, 1, 0}}, {{R::Write, 1, 0}}, {{R::Cas, 2, 1}}, {{R::Write, 2, 0}, true}};
  compare_all<R>(5, letters, 3);
  compare_all<R>(6, letters, 401);
}

TEST(LinearSearch, AgreesWithTheOracleOnAllLockHistoriesOfUpToFour) {
  for (std::size_t count = 1; count <= 4; ++count) {
    compare_all<L>(count, kLockLetters);
  }
}

TEST(LinearSearch, AgreesWithTheOracleOnLockHistoriesOfFiveAndSix) {
  compare_all<L>(5, kLockLetters, 997);
  compare_all<L>(6, kLockLetters, 100'003);
}

TEST(LinearSearch, AgreesWithTheOracleOnCounters) {
  const std::vector<Letter<C::Action>> letters = {{{C::Add, 1, 0}},
                                                  {{C::Add, 1, 0}, true},
                                                  {{C::Add, 2, 0}, true},
                                                  {{C::AddTold, 1, 2}},
                                                  {{C::Read, 0, 1}},
                                                  {{C::Read, 0, 3}}};
  compare_all<C>(4, letters, 3);
  compare_all<C>(5, letters, 211);
  compare_all<C>(6, letters, 20'011);
}

TEST(LinearSearch, AgreesWithTheOracleOnGuardedStores) {
  const std::vector<Letter<G::Action>> letters = {{{G::Write, 1, 1}},
                                                  {{G::Write, 2, 2}},
                                                  {{G::Write, 3, 2}, true},
                                                  {{G::Stale, 0, 1}},
                                                  {{G::Read, 1, 0}},
                                                  {{G::Read, 3, 0}}};
  compare_all<G>(4, letters, 3);
  compare_all<G>(5, letters, 211);
  compare_all<G>(6, letters, 20'011);
}

// Many operations at once, and a wrong one at the end: there is much to look at before it is sure.
Calls<R> wide_history(std::uint32_t width) {
  Calls<R> calls;
  for (std::uint32_t number = 0; number < width; ++number) {
    calls.push_back({{R::Cas, number + 1, number}, 0, kOpenReturn, number});
  }
  for (std::uint32_t number = 0; number < width; ++number) {
    calls.push_back({{R::Write, number + 1, 0}, 1, 1000 + number, width + number});
  }
  calls.push_back({{R::Read, 12'345, 0}, 500, 900, 2 * width});
  return calls;
}

TEST(LinearSearch, ABoundThatWasReachedIsUndecidedNeverOk) {
  SearchBounds few;
  few.configurations_max = 100;
  EXPECT_EQ(find_order<R>(wide_history(16), few).verdict, Verdict::Undecided);
  SearchBounds small;
  small.memory_bytes_max = 1 << 14;
  EXPECT_EQ(find_order<R>(wide_history(16), small).verdict, Verdict::Undecided);
  SearchBounds brief;
  brief.time_max = std::chrono::milliseconds{0};
  const auto result = find_order<R>(wide_history(20), brief);
  EXPECT_EQ(result.verdict, Verdict::Undecided);
  EXPECT_NE(result.reason, "");
}

TEST(LinearSearch, AnEmptyHistoryIsLegal) {
  EXPECT_EQ(find_order<R>({}).verdict, Verdict::Ok);
}

TEST(LinearSearch, OperationsThatTouchAtOneMomentAreConcurrent) {
  EXPECT_EQ(find_order<R>({{{R::Read, 1, 0}, 0, 10, 0}, {{R::Write, 1, 0}, 10, 20, 1}}).verdict,
            Verdict::Ok);
  EXPECT_EQ(find_order<R>({{{R::Read, 1, 0}, 0, 10, 0}, {{R::Write, 1, 0}, 11, 20, 1}}).verdict,
            Verdict::Violation);
}

TEST(LinearSearch, MoreThanSixtyFourAtOnceNeedMoreThanOneWord) {
  Calls<R> calls;
  for (std::uint32_t number = 0; number < 200; ++number) {
    calls.push_back({{R::Cas, number + 1, number}, 0, 1000 - number, number});
  }
  EXPECT_EQ(find_order<R>(calls).verdict, Verdict::Ok);
  calls[100].action.from = 777;
  EXPECT_EQ(find_order<R>(calls).verdict, Verdict::Violation);
}

TEST(LinearSearch, OnlyTheSessionThatHoldsMayReleaseOrRenew) {
  const auto verdict_of = [](L::Kind kind, std::uint64_t session) {
    const Calls<L> calls = {{{L::Grant, 1, 1, 0, kNever}, 0, 10, 0},
                            {{kind, session, 1, 0, kNever}, 20, 30, 1}};
    return find_order<L>(calls).verdict;
  };
  for (const L::Kind kind : {L::Release, L::Renew}) {
    EXPECT_EQ(verdict_of(kind, 1), Verdict::Ok);
    EXPECT_EQ(verdict_of(kind, 2), Verdict::Violation);
  }
  EXPECT_EQ(verdict_of(L::NotHeld, 1), Verdict::Violation);
  EXPECT_EQ(verdict_of(L::NotHeld, 2), Verdict::Ok);
}

TEST(LinearSearch, AHoldLapsesNoSoonerThanItMay) {
  const Calls<L> calls = {{{L::Grant, 1, 1, 0, 50}, 0, 10, 0},
                          {{L::Grant, 2, 2, 1, kNever}, 5, 50, 1}};
  EXPECT_EQ(find_order<L>(calls).verdict, Verdict::Ok);
  Calls<L> early = calls;
  early[1].return_ns = 49;
  EXPECT_EQ(find_order<L>(early).verdict, Verdict::Violation);
}

}  // namespace
}  // namespace gcoord::chaos
