// Local health of a node (Lifeguard: Dadgar, Phillips, Currey, DSN-W 2018, section 4): whether it
// can trust what it hears of others.
//
// A node whose own loop was late, or whose relays do not answer it at all, doubts itself first: it
// waits for longer before it suspects anybody. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::membership {

class LocalHealth {
 public:
  static constexpr std::uint32_t kScoreMax = 8;  // As Lifeguard has it.

  // A probe was answered.
  void on_answer() { score_ -= score_ > 0 ? 1 : 0; }

  // The own loop was late, or nobody of those who were asked to relay a probe said a word.
  void on_own_fault() { score_ = std::min(score_ + 1, kScoreMax); }

  // 0: healthy.
  std::uint32_t score() const { return score_; }

  // A time, made longer by the own doubt.
  std::uint64_t stretched(std::uint64_t ms) const { return ms * (1 + score_); }

 private:
  std::uint32_t score_ = 0;
};

}  // namespace gcoord::membership
