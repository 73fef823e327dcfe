#include "consensus/step/log_runs.h"

#include "tests/consensus/random_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

namespace gcoord::consensus {
namespace {

// A log as a vector of terms, beside the runs that stand for it.
struct Pair {
  Log log;
  LogRuns runs;
  std::vector<std::uint64_t> terms{0};  // By index; [0] is before the log.

  Term naive_at(LogIndex index) const {
    const bool known = index >= log.floor && index.value < terms.size();
    return known ? Term{terms[index.value]} : Term{};
  }

  void append(std::uint64_t count, Term term) {
    append_entries(log, runs, count, term);
    terms.insert(terms.end(), count, term.value);
  }

  void truncate(LogIndex index) {
    truncate_from(log, runs, index);
    terms.resize(index.value);
  }
};

// One random operation that the step could ask for.
void disturb(Pair& pair) {
  Log& log = pair.log;
  switch (any_from<std::uint64_t>(0, 4)) {
    case 0:
    case 1: {
      const Term term{last_term(log, pair.runs).value + any_from<std::uint64_t>(0, 2)};
      if (term.value != 0 && has_room(log, pair.runs, term)) {
        pair.append(any_from<std::uint64_t>(1, 3), term);
      }
      break;
    }
    case 2:
      if (log.last > log.commit) {
        pair.truncate(LogIndex{any_from<std::uint64_t>(log.commit.value + 1, log.last.value)});
      }
      break;
    case 3:
      log.commit = LogIndex{any_from<std::uint64_t>(log.commit.value, log.last.value)};
      log.applied = LogIndex{any_from<std::uint64_t>(log.applied.value, log.commit.value)};
      break;
    default:
      compact(log, pair.runs, LogIndex{any_from<std::uint64_t>(0, log.applied.value)});
  }
}

Pair any_pair() {
  Pair pair;
  const std::uint64_t operations = any_from<std::uint64_t>(0, 60);
  for (std::uint64_t k = 0; k < operations; ++k) {
    disturb(pair);
  }
  return pair;
}

RC_GTEST_PROP(LogRuns, KnowTheTermOfEveryIndex, ()) {
  const Pair pair = any_pair();
  RC_ASSERT(pair.log.last.value + 1 == pair.terms.size());
  for (std::uint64_t index = 0; index < pair.terms.size() + 2; ++index) {
    RC_ASSERT(term_at(pair.log, pair.runs, LogIndex{index}) == pair.naive_at(LogIndex{index}));
  }
  RC_ASSERT(last_term(pair.log, pair.runs) == pair.naive_at(pair.log.last));
}

RC_GTEST_PROP(LogRuns, NeverForgetWhatIsNotApplied, ()) {
  const Pair pair = any_pair();
  RC_ASSERT(pair.log.floor <= pair.log.applied);
  RC_ASSERT(pair.log.run_count <= kRunSlots);
  RC_ASSERT((pair.log.run_count == 0) == (pair.log.last == pair.log.floor));
}

RC_GTEST_PROP(LogRuns, FindTheFirstConflict, ()) {
  const Pair pair = any_pair();
  const LogIndex first{any_from<std::uint64_t>(1, pair.log.last.value + 2)};
  const LogIndex last{any_from<std::uint64_t>(first.value, first.value + 6)};
  const Term term{any_from<std::uint64_t>(1, 12)};
  LogIndex naive;
  for (LogIndex index = min_id(last, pair.log.last); index >= first && index > pair.log.floor;
       index = index - 1) {
    naive = pair.naive_at(index) != term ? index : naive;
  }
  RC_ASSERT(first_conflict(pair.log, pair.runs, first, last, term) == naive);
}

RC_GTEST_PROP(LogRuns, HintAtTheLastIndexThatCanAgree, ()) {
  const Pair pair = any_pair();
  const LogIndex bound{any_from<std::uint64_t>(pair.log.floor.value, pair.log.last.value + 3)};
  const Term term{any_from<std::uint64_t>(0, 12)};
  LogIndex naive = min_id(bound, pair.log.floor);
  for (LogIndex index = pair.log.floor + 1; index <= min_id(bound, pair.log.last); ++index) {
    naive = pair.naive_at(index) <= term ? index : naive;
  }
  RC_ASSERT(conflict_hint(pair.log, pair.runs, bound, term) == naive);
}

RC_GTEST_PROP(LogRuns, HaveRoomForTheLastTermAlways, ()) {
  const Pair pair = any_pair();
  RC_ASSERT(pair.log.run_count == 0 ||
            has_room(pair.log, pair.runs, last_term(pair.log, pair.runs)));
}

// Two logs of which one follows the other's hints agree after few questions, whatever they hold.
RC_GTEST_PROP(LogRuns, AgreeAfterAsManyHintsAsThereAreTerms, ()) {
  const Pair leader = any_pair();
  const Pair follower = any_pair();
  const LogIndex floor = max_id(leader.log.floor, follower.log.floor);
  LogIndex next = leader.log.last;
  std::uint32_t questions = 0;
  while (next > floor &&
         term_at(follower.log, follower.runs, next) != term_at(leader.log, leader.runs, next)) {
    const Term asked = term_at(leader.log, leader.runs, next);
    const LogIndex hint = conflict_hint(follower.log, follower.runs, next, asked);
    const Term hint_term = term_at(follower.log, follower.runs, hint);
    const LogIndex back = conflict_hint(leader.log, leader.runs, hint, hint_term);
    next = min_id(next - 1, back);
    ++questions;
  }
  RC_ASSERT(questions <= leader.log.run_count + follower.log.run_count + 1);
}

}  // namespace
}  // namespace gcoord::consensus
