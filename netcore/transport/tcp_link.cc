#include "netcore/transport/tcp_link.h"

#include "netcore/channel/frame.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gcoord::netcore {
namespace {

// One read's worth; with loopback's segments of 64 KiB a read fills it in one call.
constexpr std::size_t kReadBytes = 256 * 1024;

// What one link may deliver per progress call before the others have their turn.
constexpr std::size_t kTurnBytes = 4 * kFrameBytesMax;

constexpr std::size_t kGatherMax = 17;  // A full collect of the channel and the rest before it.

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

std::size_t TcpLink::message_bytes_max() const {
  return is_trusted_ ? kFrameBytesMax : kStrangerBytesMax;
}

bool TcpLink::send_unsent() {
  while (!unsent_.empty()) {
    const std::span<const std::byte> rest = unsent_.waiting();
    const ssize_t written = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (written < 0) {
      if (!would_block(errno)) {
        unsent_.clear();  // The socket is dead; receive() tells.
      }
      return unsent_.empty();
    }
    unsent_.pop(static_cast<std::size_t>(written));
  }
  return true;
}

std::size_t TcpLink::send(std::span<const std::span<const std::byte>> messages) {
  if (phase_ != Phase::Open || !send_unsent()) {
    return 0;
  }
  messages = messages.first(std::min(messages.size(), kGatherMax));
  std::array<iovec, kGatherMax> parts{};
  std::transform(messages.begin(), messages.end(), parts.begin(), [](auto message) {
    return iovec{const_cast<std::byte*>(message.data()), message.size()};
  });
  msghdr gather{};
  gather.msg_iov = parts.data();
  gather.msg_iovlen = messages.size();
  const ssize_t written = ::sendmsg(fd_.get(), &gather, MSG_NOSIGNAL);
  if (written < 0) {
    return 0;
  }
  auto left = static_cast<std::size_t>(written);
  std::size_t taken = 0;
  while (taken < messages.size() && left >= messages[taken].size()) {
    left -= messages[taken++].size();
  }
  if (left > 0) {
    const std::span<const std::byte> rest = messages[taken++].subspan(left);
    std::copy(rest.begin(), rest.end(), unsent_.push(rest.size()).begin());
  }
  return taken;
}

TcpLink::Cut TcpLink::cut_messages(MessageSink deliver) {
  std::size_t front = 0;
  Cut result = Cut::NeedMore;
  wanted_bytes_ = 0;
  while (received_bytes_ - front >= kFrameHeaderBytes) {
    const std::span<const std::byte> rest{received_.data() + front, received_bytes_ - front};
    FrameHeader header;
    broken_ = decode_header(rest.first<kFrameHeaderBytes>(), header);
    const std::size_t bytes = kFrameHeaderBytes + header.body_bytes;
    if (broken_ == DropReason::None && bytes > message_bytes_max()) {
      broken_ = DropReason::BadLength;
    }
    if (broken_ != DropReason::None) {
      return Cut::Broken;
    }
    if (rest.size() < bytes) {
      wanted_bytes_ = bytes;
      break;
    }
    front += bytes;
    if (!deliver(rest.first(bytes))) {
      result = Cut::Stopped;
      break;
    }
  }
  received_bytes_ -= front;
  if (front != 0 && received_bytes_ != 0) {
    std::memmove(received_.data(), received_.data() + front, received_bytes_);
  }
  return result;
}

std::optional<TcpLink::End> TcpLink::receive(MessageSink deliver) {
  for (std::size_t turn_bytes = 0; turn_bytes < kTurnBytes;) {
    const std::size_t room = is_trusted_ ? kReadBytes : kStrangerBytesMax;
    received_.reserve(std::max(wanted_bytes_, room), received_bytes_);
    const std::size_t asked = received_.capacity() - received_bytes_;
    const ssize_t count = ::recv(fd_.get(), received_.data() + received_bytes_, asked, 0);
    if (count == 0) {
      return End{DropReason::None, "the peer closed the connection"};
    }
    if (count < 0) {
      if (would_block(errno)) {
        return std::nullopt;
      }
      return End{DropReason::None, std::strerror(errno)};
    }
    received_bytes_ += static_cast<std::size_t>(count);
    turn_bytes += static_cast<std::size_t>(count);
    switch (cut_messages(deliver)) {
      case Cut::Stopped:
        return std::nullopt;
      case Cut::Broken:
        return End{broken_,
                   "the peer broke the frame protocol: " + std::string{drop_reason_name(broken_)}};
      case Cut::NeedMore:
        break;
    }
    if (static_cast<std::size_t>(count) < asked) {
      return std::nullopt;  // The socket was emptied; epoll tells when there is more.
    }
  }
  return std::nullopt;
}

}  // namespace gcoord::netcore
