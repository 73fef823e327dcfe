// The window against replays: which numbers of a sequence were seen (RFC 4303 section 3.4.3).
//
// The newest number and a bit for each of the 63 before it. What is older than the window may have
// been seen, so it is refused. A number is judged first and noted only once its bearer has proven
// to be genuine, else a forged one would shut out those before it. Whoever has numbers that rise
// takes it: records of a transport (opener.h), and requests or tokens with numbers. A value; one
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::security {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kNumbers = 64;

  enum class Verdict : std::uint8_t {
    Fresh,
    Seen,
    TooOld,  // Behind the window: seen, perhaps.
  };

  Verdict judge(std::uint64_t number) const {
    if (!any_ || number > newest_) {
      return Verdict::Fresh;
    }
    const std::uint64_t age = newest_ - number;
    if (age >= kNumbers) {
      return Verdict::TooOld;
    }
    return (seen_ >> age & 1) == 0 ? Verdict::Fresh : Verdict::Seen;
  }

  // The number is Fresh, and its bearer genuine.
  void note(std::uint64_t number) {
    if (any_ && number <= newest_) {
      seen_ |= std::uint64_t{1} << (newest_ - number);
      return;
    }
    const std::uint64_t step = any_ ? number - newest_ : kNumbers;
    seen_ = step >= kNumbers ? 1 : seen_ << step | 1;
    newest_ = number;
    any_ = true;
  }

  // The oldest number that may still be Fresh.
  std::uint64_t oldest() const { return any_ ? newest_ - std::min(newest_, kNumbers - 1) : 0; }

 private:
  std::uint64_t newest_ = 0;
  std::uint64_t seen_ = 0;  // Bit k: newest_ - k.
  bool any_ = false;
};

}  // namespace gcoord::security
