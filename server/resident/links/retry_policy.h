// Retry policy of a pair of resident nodes for joining their devices: when to try again, and when
// to fall back from mapping to a proxy.
//
// A join rests the turn, with which the node serves its other peer, and what a peer says decides
// when one is due. So joins of a pair lie apart whatever the peer says, and after those that this
// node could not make it waits longer each time. A mapping that fails is tried for a while, since a
// peer that was stopped for a moment fails one, too, and then no more in this life of the peer.
// Pure; times in milliseconds of one clock that only grows. One owner per object.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::server {

// Of two joins of a pair at least; far below an election timeout, and a kernel that rests so often
// turns for most of the time.
inline constexpr std::uint64_t kJoinGapMs = 100;
// After a proxy that could not be made: doubles from the one to the other.
inline constexpr std::uint64_t kJoinRetryMs = 1000;
inline constexpr std::uint64_t kJoinRetryMsMax = 16'000;

// A mapping is given up after so many failures in a row, over so long a time.
inline constexpr std::uint32_t kMappingTries = 5;
inline constexpr std::uint64_t kMappingPatienceMs = 5000;
// Two nodes that look for each other, and hear each other say so, meet in less.
inline constexpr std::uint64_t kMeetMs = 1000;

// One that was just made holds nothing against the peer: for every life of it another one.
class LinkRetryPolicy {
 public:
  // Whether another join may begin.
  bool may_join(std::uint64_t now_ms) const { return now_ms >= next_join_ms_; }

  void on_joined(std::uint64_t now_ms) {
    failures_ = 0;
    next_join_ms_ = now_ms + kJoinGapMs;
  }

  // A proxy could not be made.
  void on_join_failed(std::uint64_t now_ms) {
    const std::uint64_t wait_ms = std::min(kJoinRetryMs << failures_, kJoinRetryMsMax);
    failures_ += wait_ms < kJoinRetryMsMax ? 1 : 0;
    next_join_ms_ = now_ms + wait_ms;
  }

  // Memory was mapped, whatever comes of it at the other end.
  void on_mapped() {
    mapping_failures_ = 0;
    sought_ms_ = 0;
  }

  void on_mapping_failed(std::uint64_t now_ms) {
    first_failed_ms_ = mapping_failures_ == 0 ? now_ms : first_failed_ms_;
    ++mapping_failures_;
    gave_up_ = gave_up_ || (mapping_failures_ >= kMappingTries &&
                            now_ms >= first_failed_ms_ + kMappingPatienceMs);
    sought_ms_ = 0;
  }

  // The peer is looked for, and has just said that it looks for this node. True: they should have
  // met by now, so this is a failure; it begins anew then.
  bool should_have_met(std::uint64_t now_ms) {
    const bool late = sought_ms_ != 0 && now_ms >= sought_ms_ + kMeetMs;
    sought_ms_ = sought_ms_ == 0 || late ? now_ms : sought_ms_;
    return late;
  }

  // Mapping is not tried any more.
  bool gave_up_mapping() const { return gave_up_; }

 private:
  std::uint64_t next_join_ms_ = 0;
  std::uint64_t failures_ = 0;  // Of joins, in a row.
  std::uint64_t first_failed_ms_ = 0;
  std::uint32_t mapping_failures_ = 0;  // In a row.
  bool gave_up_ = false;
  std::uint64_t sought_ms_ = 0;  // 0: it is not looked for.
};

}  // namespace gcoord::server
