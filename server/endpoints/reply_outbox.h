// Outbox of a client connection: replies gather in a frame, and frames wait for the socket.
//
// Memory that a burst needed is given back when the socket has taken all of it, and what the socket
// has taken of a long queue makes room for what comes. One thread.
#pragma once

#include "protocol/frame.h"
#include "protocol/request.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gcoord::server {

class ReplyOutbox {
 public:
  // Bytes of each buffer that are kept for the next replies: those of a usual turn.
  static constexpr std::size_t kKeptBytes = 4096;

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
    builder_.finish(frames_);
    if (builder_.capacity_bytes() > 2 * kKeptBytes) {
      builder_.release();
    }
  }

  // Of whole frames that the socket has not taken.
  std::size_t bytes() const { return frames_.size() - begin_; }

  // Of memory: frames, and the one that is gathered.
  std::size_t capacity_bytes() const { return frames_.capacity() + builder_.capacity_bytes(); }

  std::span<const std::byte> waiting() const { return std::span{frames_}.subspan(begin_); }

  // The socket has taken so many of them.
  void take(std::size_t byte_count) {
    begin_ += byte_count;
    if (begin_ == frames_.size()) {
      frames_.clear();
      begin_ = 0;
      if (frames_.capacity() > kKeptBytes) {
        frames_ = std::vector<std::byte>();
      }
    } else if (begin_ >= frames_.size() / 2) {
      // No more bytes are moved than were taken.
      frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
  }

  // Gives back what is kept, if nothing waits.
  void release() {
    if (frames_.empty()) {
      frames_ = std::vector<std::byte>();
    }
    builder_.release();
  }

 private:
  protocol::FrameBuilder builder_{protocol::FrameDirection::Replies};
  std::vector<std::byte> frames_;
  std::size_t begin_ = 0;
};

}  // namespace gcoord::server
