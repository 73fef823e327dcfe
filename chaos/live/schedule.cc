#include "chaos/live/schedule.h"

#include <algorithm>

namespace gcoord::chaos {

namespace {

// Streams of random numbers that no strike has.
constexpr std::uint64_t kDeals = std::uint64_t{1} << 40;

// One strike in so many takes a companion.
constexpr std::uint32_t kTogetherOneIn = 4;

}  // namespace

Schedule::Schedule(const std::vector<FaultClass>& classes, std::uint64_t seed)
    : classes_(classes), seed_(seed) {
  GCOORD_ASSERT(std::any_of(
      classes.begin(), classes.end(), [](const FaultClass& each) { return each.make != nullptr; }));
}

void Schedule::deal() {
  Draw draw{seed_, kDeals + round_++};
  for (std::size_t index = 0; index < classes_.size(); ++index) {
    if (classes_[index].make != nullptr) {
      deck_.push_back(index);
    }
  }
  for (std::size_t i = deck_.size(); i > 1; --i) {
    std::swap(deck_[i - 1], deck_[draw.below(static_cast<std::uint32_t>(i))]);
  }
}

std::vector<std::size_t> Schedule::next() {
  if (deck_.empty()) {
    deal();
  }
  std::vector<std::size_t> struck = {deck_.back()};
  deck_.pop_back();
  Draw draw{seed_, kDeals * 2 + round_ * 1000 + deck_.size()};
  const FaultClass& first = classes_[struck.front()];
  const auto companion = std::find_if(deck_.rbegin(), deck_.rend(), [&](std::size_t index) {
    return first.in_company ? !classes_[index].forgets : classes_[index].combines;
  });
  const bool together = draw.one_in(kTogetherOneIn) || first.in_company;
  // Not in the first round: first each class shows what it does alone.
  if (round_ > 1 && companion != deck_.rend() && together) {
    struck.push_back(*companion);
    deck_.erase(std::next(companion).base());
  }
  return struck;
}

}  // namespace gcoord::chaos
