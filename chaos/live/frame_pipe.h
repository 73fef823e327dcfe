// One direction of one proxied connection: bytes come in, are cut into frames
// (netcore/channel/frame.h), and leave late, twice, never, broken or out of order, as its LinkFault
// says.
//
// What is not a frame passes as it is: judging it is the receiver's part. One thread.
#pragma once

#include "chaos/live/link_faults.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gcoord::chaos {

class FramePipe {
 public:
  using Clock = std::chrono::steady_clock;

  FramePipe(int from_fd, int to_fd, std::uint64_t seed)
      : from_fd_(from_fd), to_fd_(to_fd), seed_(seed) {}

  // Reads what is there, unless the link is stalled or too much is on its way.
  void read(const LinkFault& fault, LinkCounts& counts, Clock::time_point now);

  // Writes what is due.
  void write(const LinkFault& fault, LinkCounts& counts, Clock::time_point now);

  bool wants_read(const LinkFault& fault) const;

  // Bytes were due and the receiver took no more of them.
  bool wants_write() const { return !leaving_.empty(); }

  // When write() will have something to do; empty: not before more is read or the fault ends.
  std::optional<Clock::time_point> next_due(const LinkFault& fault) const;

  // The sender is gone and everything that it sent has left, or the receiver is gone.
  bool ended(const LinkFault& fault) const;

 private:
  void cut_frames(const LinkFault& fault, LinkCounts& counts, Clock::time_point now);
  void take(std::string frame, const LinkFault& fault, LinkCounts& counts, Clock::time_point now);
  void queue(std::string frame, Clock::time_point due);
  bool drawn(std::uint32_t thousandths);

  int from_fd_;
  int to_fd_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::string incoming_;
  std::multimap<Clock::time_point, std::string> queue_;
  std::size_t queued_bytes_ = 0;
  Clock::time_point last_due_;
  std::string leaving_;
  bool opaque_ = false;  // The sender does not speak in frames.
  bool sender_gone_ = false;
  bool receiver_gone_ = false;
  bool held_ = false;
};

}  // namespace gcoord::chaos
