#include "chaos/live/frame_pipe.h"

#include "common/random.h"
#include "netcore/channel/frame.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

namespace gcoord::chaos {

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

// More than TCP would keep for a receiver that is cut off; then the sender feels it.
constexpr std::size_t kQueuedBytesMax = std::size_t{4} << 20;

// How late a frame comes that is overtaken by others.
constexpr std::chrono::milliseconds kOvertaken{5};

}  // namespace

bool FramePipe::drawn(std::uint32_t thousandths) {
  return thousandths != 0 && random_below(random64(seed_, 1, ++drawn_), 1000) < thousandths;
}

bool FramePipe::wants_read(const LinkFault& fault) const {
  return !sender_gone_ && !fault.stalled && queued_bytes_ < kQueuedBytesMax;
}

void FramePipe::read(const LinkFault& fault, LinkCounts& counts, Clock::time_point now) {
  counts.stalls += fault.stalled && !sender_gone_ ? 1u : 0u;
  if (!wants_read(fault)) {
    return;
  }
  char bytes[kReadBytes];
  const ssize_t count = ::recv(from_fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (count > 0) {
    incoming_.append(bytes, static_cast<std::size_t>(count));
    cut_frames(fault, counts, now);
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    sender_gone_ = true;
  }
}

void FramePipe::cut_frames(const LinkFault& fault, LinkCounts& counts, Clock::time_point now) {
  std::size_t front = 0;
  while (!opaque_ && incoming_.size() - front >= netcore::kFrameHeaderBytes) {
    const auto rest = std::as_bytes(std::span{incoming_}.subspan(front));
    netcore::FrameHeader header;
    const auto judged = netcore::decode_header(rest.first<netcore::kFrameHeaderBytes>(), header);
    if (judged != netcore::DropReason::None) {
      opaque_ = true;
      break;
    }
    const std::size_t bytes = netcore::kFrameHeaderBytes + header.body_bytes;
    if (rest.size() < bytes) {
      break;
    }
    take(incoming_.substr(front, bytes), fault, counts, now);
    front += bytes;
  }
  incoming_.erase(0, front);
  if (opaque_ && !incoming_.empty()) {
    queue(std::exchange(incoming_, {}), std::max(now, last_due_));
  }
}

void FramePipe::take(std::string frame,
                     const LinkFault& fault,
                     LinkCounts& counts,
                     Clock::time_point now) {
  if (drawn(fault.drop)) {
    ++counts.dropped;
    return;
  }
  if (drawn(fault.corrupt)) {
    const std::uint64_t word = random64(seed_, 2, ++drawn_);
    const auto at = random_below(word, static_cast<std::uint32_t>(frame.size()));
    frame[at] = static_cast<char>(static_cast<unsigned char>(frame[at]) ^ (1u << (word & 7u)));
    ++counts.corrupted;
  }
  auto due = now + std::chrono::microseconds{fault.delay_us};
  if (fault.jitter_us != 0) {
    due += std::chrono::microseconds{random_below(random64(seed_, 3, ++drawn_), fault.jitter_us)};
  }
  counts.delayed += due > now ? 1u : 0u;
  if (drawn(fault.reorder)) {
    ++counts.reordered;
    queue(std::move(frame), due + kOvertaken);
    return;
  }
  last_due_ = due = std::max(due, last_due_);
  if (drawn(fault.duplicate)) {
    ++counts.duplicated;
    queue(frame, due);
  }
  queue(std::move(frame), due);
}

void FramePipe::queue(std::string frame, Clock::time_point due) {
  queued_bytes_ += frame.size();
  queue_.emplace(due, std::move(frame));
}

void FramePipe::write(const LinkFault& fault, LinkCounts& counts, Clock::time_point now) {
  if (fault.cut) {
    counts.held += !held_ && !queue_.empty() ? 1u : 0u;
    held_ = !queue_.empty();
    return;
  }
  held_ = false;
  while (!queue_.empty() && queue_.begin()->first <= now && leaving_.size() < kReadBytes) {
    leaving_ += queue_.begin()->second;
    queued_bytes_ -= queue_.begin()->second.size();
    queue_.erase(queue_.begin());
    ++counts.passed;
  }
  if (leaving_.empty() || receiver_gone_) {
    return;
  }
  const ssize_t count =
      ::send(to_fd_, leaving_.data(), leaving_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count > 0) {
    leaving_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {
    receiver_gone_ = true;
  }
}

std::optional<FramePipe::Clock::time_point> FramePipe::next_due(const LinkFault& fault) const {
  if (fault.cut || queue_.empty() || !leaving_.empty()) {
    return std::nullopt;
  }
  return queue_.begin()->first;
}

bool FramePipe::ended(const LinkFault& fault) const {
  return receiver_gone_ || (sender_gone_ && !fault.cut && queue_.empty() && leaving_.empty());
}

}  // namespace gcoord::chaos
