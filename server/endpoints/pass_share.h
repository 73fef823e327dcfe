// A part of the loop's time, for work that must not hold up other work: bulk, dear requests.
//
// A pass in which such work was done is charged with all that the pass took, because a request
// costs more later in the pass, in the turn of the replicas, than where it is taken. The work then
// rests until the pass was no more than its part of the time. Pure; microseconds of one clock that
// only grows. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::server {

class PassShare {
 public:
  // One part in `parts` of the time.
  explicit PassShare(std::uint64_t parts) : parts_(parts) {}

  // Once per pass, before anything else: the pass before has ended.
  void begin_pass(std::uint64_t now_us) {
    if (used_) {
      from_us_ = now_us + (parts_ - 1) * (now_us - std::min(now_us, began_us_));
    }
    used_ = false;
    began_us_ = now_us;
  }

  // In this pass the work is done.
  void use() { used_ = true; }

  bool used() const { return used_; }

  // Whether it may be done now, beside other work.
  bool open(std::uint64_t now_us) const { return now_us >= from_us_; }

  // From when on it may be done.
  std::uint64_t from_us() const { return from_us_; }

 private:
  std::uint64_t parts_;
  std::uint64_t began_us_ = 0;
  std::uint64_t from_us_ = 0;
  bool used_ = false;
};

}  // namespace gcoord::server
