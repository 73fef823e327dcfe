// The smallest prefix of a history that is still illegal: what a person has to look at.
//
// A prefix ends at a return; what was under way then is open. A prefix of a legal history is legal,
// so doubling and bisection find it. One thread.
#pragma once

#include "chaos/check/linear_search.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::chaos {

template <typename Action>
std::vector<TimedCall<Action>> prefix_of(const std::vector<TimedCall<Action>>& calls,
                                         std::uint64_t end_ns) {
  std::vector<TimedCall<Action>> prefix;
  for (TimedCall<Action> call : calls) {
    if (call.call_ns <= end_ns) {
      call.return_ns = call.return_ns <= end_ns ? call.return_ns : kOpenReturn;
      prefix.push_back(call);
    }
  }
  return prefix;
}

// The same violation, told by its smallest prefix. Prefixes on which the search gives up count as
// legal, so the one that is told is illegal for certain.
template <typename Model>
SearchResult<typename Model::State> explain_by_prefix(
    const std::vector<TimedCall<typename Model::Action>>& calls,
    SearchResult<typename Model::State> whole,
    const SearchBounds& bounds) {
  // Words for a person are not worth more work than this.
  constexpr std::uint64_t kExplainedConfigurationsMax = 20'000;
  std::vector<std::uint64_t> returns;
  for (const auto& call : calls) {
    if (call.return_ns != kOpenReturn) {
      returns.push_back(call.return_ns);
    }
  }
  std::sort(returns.begin(), returns.end());
  // In all no longer than the bound allows a search; prefixes that are not reached count as legal.
  const auto deadline = std::chrono::steady_clock::now() + bounds.time_max;
  SearchBounds left = bounds;
  const auto broken = [&](std::size_t count) {
    const auto part = prefix_of(calls, returns[count - 1]);
    left.time_max = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    return LinearSearch<Model>(part, left).run().verdict == Verdict::Violation;
  };
  // What was passed on the way to the dead end is legal, and the culprit is seldom far from there.
  std::size_t legal = whole.returns_passed;
  std::size_t illegal = returns.size();
  for (std::size_t reach = 1; legal + reach < illegal; reach *= 2) {
    if (broken(legal + reach)) {
      illegal = legal + reach;
      break;
    }
    legal += reach;
  }
  while (illegal - legal > 1) {
    const std::size_t middle = legal + (illegal - legal) / 2;
    (broken(middle) ? illegal : legal) = middle;
  }
  SearchBounds brief = bounds;
  brief.configurations_max = std::min(bounds.configurations_max, kExplainedConfigurationsMax);
  const auto part = prefix_of(calls, returns[illegal - 1]);
  auto told = LinearSearch<Model>(part, brief, Foresight::No).run();
  if (told.verdict != Verdict::Violation) {
    // Looking ahead, paths are given up before they come to the return that is to blame.
    told = LinearSearch<Model>(part, bounds).run();
    const auto last = std::find_if(part.begin(), part.end(), [&](const auto& call) {
      return call.return_ns == returns[illegal - 1];
    });
    told.failed = last->source;
    told.prefix_calls = part.size();
    told.pending.clear();
  }
  if (told.verdict != Verdict::Violation) {
    return whole;
  }
  told.configurations += whole.configurations;
  return told;
}

// The verdict on one key's calls.
template <typename Model>
SearchResult<typename Model::State> find_order(
    const std::vector<TimedCall<typename Model::Action>>& calls, const SearchBounds& bounds = {}) {
  auto result = LinearSearch<Model>(calls, bounds).run();
  if (Outlook<Model>::kLooks && result.verdict == Verdict::Violation) {
    return explain_by_prefix<Model>(calls, std::move(result), bounds);
  }
  return result;
}

}  // namespace gcoord::chaos
