// Pacing of connection attempts to a peer: pauses double from a minimum to a maximum, and start
// over once a channel came up. Pure arithmetic over the caller's milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::netcore {

class CallPacing {
 public:
  CallPacing(std::uint64_t pause_ms_min, std::uint64_t pause_ms_max)
      : pause_ms_min_(pause_ms_min), pause_ms_max_(pause_ms_max), pause_ms_(pause_ms_min) {}

  bool is_due(std::uint64_t now_ms) const { return now_ms >= next_ms_; }

  std::uint64_t next_ms() const { return next_ms_; }

  // An attempt failed, or a channel was lost.
  void on_failure(std::uint64_t now_ms) {
    next_ms_ = now_ms + pause_ms_;
    pause_ms_ = std::min(pause_ms_ * 2, pause_ms_max_);
  }

  // Trying soon would not help: somebody has to change something first.
  void on_refusal(std::uint64_t now_ms) {
    pause_ms_ = pause_ms_max_;
    next_ms_ = now_ms + pause_ms_;
  }

  void on_success() { pause_ms_ = pause_ms_min_; }

  // Leaves the other side a head start, so that calls seldom cross.
  void wait_at_least(std::uint64_t until_ms) { next_ms_ = std::max(next_ms_, until_ms); }

 private:
  std::uint64_t pause_ms_min_;
  std::uint64_t pause_ms_max_;
  std::uint64_t pause_ms_;
  std::uint64_t next_ms_ = 0;
};

}  // namespace gcoord::netcore
