// Outbox of a client connection: replies gather in a frame, and frames wait for the socket.
//
// Memory is kept from turn to turn, up to kKeptBytes of each buffer, as long as turns need it: what
// a burst needed beyond that is given back when the socket has taken all of it, and trim() gives
// back what no turn since the last call has used. What the socket has taken of a long queue makes
// room for what comes. One thread.
#pragma once

#include "common/assert.h"
#include "protocol/frame.h"
#include "protocol/request.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class ReplyOutbox {
 public:
  // Bytes of each buffer that are kept for the next replies. A turn that needs more has thousands
  // of replies, over which the allocation of its buffers divides.
  static constexpr std::size_t kKeptBytes = std::size_t{256} << 10;

  // trim() leaves so much alone: the replies of a few requests.
  static constexpr std::size_t kLeftBytes = 4096;

  // Whether the frame that is gathered has room for a reply with such a payload.
  bool fits(std::size_t payload_bytes) const { return builder_.fits(payload_bytes); }

  void add(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
    builder_.add(slot, payload);
  }

  // The frame that is gathered waits for the socket from now on; the next reply begins another. The
  // bytes that were copied for that.
  std::size_t finish_frame() {
    if (builder_.empty()) {
      return 0;
    }
    const std::size_t copied_bytes = builder_.finish(frames_);
    used_ = std::max(used_, frames_.size());
    if (builder_.capacity_bytes() > 2 * kKeptBytes) {
      builder_.release();
    }
    return copied_bytes;
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

  // All that waits, with its memory. Nothing of it has been taken.
  std::vector<std::byte> take_all() {
    GCOORD_ASSERT(begin_ == 0);
    return std::exchange(frames_, {});
  }

  // Memory that take_all() gave away and that is free again; kept if there is none.
  void give_back(std::vector<std::byte> buffer) {
    if (frames_.capacity() == 0 && buffer.capacity() <= kKeptBytes) {
      buffer.clear();
      frames_ = std::move(buffer);
    }
  }

  // Gives back what is kept if it is much more than was used since the last call.
  void trim() {
    if (capacity_bytes() > kLeftBytes && capacity_bytes() / 8 > used_) {
      release();
    }
    used_ = 0;
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
  std::size_t used_ = 0;  // The most that waited in frames_ since the last trim().
};

}  // namespace gcoord::server
