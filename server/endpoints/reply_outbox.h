// Outbox of a client connection: replies gather in a frame, and frames wait for the socket.
//
// One thread.
#pragma once

#include "protocol/frame.h"
#include "protocol/request.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gcoord::server {

class ReplyOutbox {
 public:
  // Whether the frame that is gathered has room for a reply with such a payload.
  bool fits(std::size_t payload_bytes) const { return builder_.fits(payload_bytes); }

  void add(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
    builder_.add(slot, payload);
  }

  // The frame that is gathered waits for the socket from now on; the next reply begins another.
  void finish_frame() {
    if (builder_.empty()) {
      return;
    }
    if (begin_ == frames_.size()) {
      frames_.clear();
      begin_ = 0;
    }
    builder_.finish(frames_);
  }

  // Of whole frames that the socket has not taken.
  std::size_t bytes() const { return frames_.size() - begin_; }

  std::span<const std::byte> waiting() const { return std::span{frames_}.subspan(begin_); }

  // The socket has taken so many of them.
  void take(std::size_t byte_count) { begin_ += byte_count; }

 private:
  protocol::FrameBuilder builder_{protocol::FrameDirection::Replies};
  std::vector<std::byte> frames_;
  std::size_t begin_ = 0;
};

}  // namespace gcoord::server
