// Requests of one client that have come and are not taken: bytes on one side, checked frames on the
// other.
//
// It belongs to one thread at a time. An I/O thread appends what it has read, which checks every
// frame that is whole and prepares its requests; then the loop's thread takes the frames, and gives
// it back for the next read. Its memory grows with what comes (protocol/frame.h,
// prepared_requests.h). Not thread-safe.
#pragma once

#include "common/assert.h"
#include "protocol/frame.h"
#include "server/ingress/prepared_requests.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class CheckedInput {
 public:
  // By what requests are prepared; none: not at all.
  explicit CheckedInput(const std::optional<IngressRules>& rules = std::nullopt)
      : prepared_(rules) {}

  // Memory that the next bytes may be read into, perhaps none. All frames that were here have been
  // taken; their views end.
  std::span<std::byte> spare() {
    GCOORD_ASSERT(taken());
    return decoder_.spare();
  }

  // All frames that were here have been taken; their views end.
  void append(std::span<const std::byte> bytes) { take(0, bytes); }

  // Bytes that were read into spare(), and those behind them.
  void take(std::size_t spare_bytes, std::span<const std::byte> bytes) {
    GCOORD_ASSERT(taken());
    frames_.clear();
    next_ = 0;
    prepared_.clear();
    if (spare_bytes > 0) {
      decoder_.written(spare_bytes);
    }
    if (!bytes.empty()) {
      decoder_.append(bytes);
    }
    protocol::FrameView frame;
    while (decoder_.next(frame) == protocol::DecodeStep::Frame) {
      frames_.push_back(frame);
      prepared_.add(frame);
    }
    prepared_.seal();
  }

  // Frames in their order; then Bad if the stream is, else NeedMore.
  protocol::DecodeStep next(protocol::FrameView& frame) {
    if (!taken()) {
      frame = frames_[next_];
      ++next_;
      prepared_.next_frame();
      return protocol::DecodeStep::Frame;
    }
    return bad() == protocol::BadFrame::None ? protocol::DecodeStep::NeedMore
                                             : protocol::DecodeStep::Bad;
  }

  // Of a slot of the frame that next() gave last, which has not been taken; nullptr: nothing.
  const PreparedRequest* prepared(std::size_t slot) const { return prepared_.at(slot); }

  protocol::BadFrame bad() const { return decoder_.bad(); }

  // Whether next() has given all frames.
  bool taken() const { return next_ == frames_.size(); }

  bool begun() const { return decoder_.begun(); }

  // Of the last whole frame that came.
  std::uint64_t last_sequence() const { return decoder_.last_sequence(); }

  std::size_t memory_bytes() const {
    return decoder_.capacity_bytes() + frames_.capacity() * sizeof(protocol::FrameView) +
           prepared_.memory_bytes();
  }

  // Gives back what the frames of a large read took beside their bytes, once they have been taken.
  // Views end.
  void forget_frames() {
    if (taken() && frames_.capacity() > kKeptFrames) {
      frames_ = std::vector<protocol::FrameView>();
      next_ = 0;
    }
    if (taken()) {
      prepared_.shrink();
    }
  }

  // Gives memory back if nothing waits in it. Views end.
  void release() {
    if (taken()) {
      decoder_.release();
      frames_ = std::vector<protocol::FrameView>();
      next_ = 0;
      prepared_.release();
    }
  }

 private:
  // Of a read by a client that sends a few requests at a time.
  static constexpr std::size_t kKeptFrames = 16;

  protocol::FrameDecoder decoder_{protocol::FrameDirection::Requests};
  std::vector<protocol::FrameView> frames_;  // Into the decoder's buffer.
  std::size_t next_ = 0;
  PreparedRequests prepared_;  // Of those frames.
};

}  // namespace gcoord::server
