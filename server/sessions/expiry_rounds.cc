#include "server/sessions/expiry_rounds.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

// More rounds than a tick can have.
constexpr std::uint64_t kRoundsPerTick = std::uint64_t{1} << 20;

}  // namespace

std::uint64_t ExpiryRounds::add(Tick now, std::vector<ExpiryRound::Case> cases) {
  number_last_ = std::max(number_last_ + 1, now.value * kRoundsPerTick);
  const std::size_t count = cases.size();
  rounds_.push_back({number_last_, now, std::move(cases), count, false});
  return number_last_;
}

ExpiryRound* ExpiryRounds::find(std::uint64_t number) {
  const auto found = std::ranges::lower_bound(rounds_, number, {}, &ExpiryRound::number);
  return found == rounds_.end() || found->number != number ? nullptr : &*found;
}

void ExpiryRounds::forget(Tick asked) {
  std::erase_if(rounds_, [asked](const ExpiryRound& round) {
    return round.open_count == 0 || round.asked < asked;
  });
}

std::size_t ExpiryRounds::unanswered(Tick asked) const {
  std::size_t count = 0;
  for (const ExpiryRound& round : rounds_) {
    count += round.answered || round.asked < asked ? 0 : round.cases.size();
  }
  return count;
}

}  // namespace gcoord::server
