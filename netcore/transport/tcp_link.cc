#include "netcore/transport/tcp_link.h"

#include "netcore/channel/frame.h"
#include "netcore/transport/tls_failure.h"

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

void TcpLink::open() {
  phase_ = Phase::Open;
  queue_output();
}

// What TLS has to say goes behind what waits already.
void TcpLink::queue_output() {
  if (!is_encrypted()) {
    return;
  }
  wire_.clear();
  tls_->take_output(wire_);
  if (!wire_.empty()) {
    std::copy(wire_.begin(), wire_.end(), unsent_.push(wire_.size()).begin());
    send_unsent();
  }
}

std::size_t TcpLink::send_encrypted(std::span<const std::span<const std::byte>> messages) {
  std::size_t taken = 0;
  for (std::size_t bytes = 0; taken < messages.size() && bytes < kReadBytes; ++taken) {
    if (!tls_->send(messages[taken]).ok()) {
      break;  // The link has ended; receive() tells.
    }
    bytes += messages[taken].size();
  }
  queue_output();
  return taken;
}

std::size_t TcpLink::send(std::span<const std::span<const std::byte>> messages) {
  if (phase_ != Phase::Open || !send_unsent()) {
    return 0;
  }
  if (is_encrypted()) {
    return send_encrypted(messages);
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

std::optional<TcpLink::End> TcpLink::decrypt(std::size_t count) {
  plain_.clear();
  const Status status = tls_->receive({received_.data() + received_bytes_, count}, plain_);
  queue_output();
  received_.reserve(received_bytes_ + plain_.size(), received_bytes_);
  std::copy(plain_.begin(), plain_.end(), received_.data() + received_bytes_);
  received_bytes_ += plain_.size();
  if (status.ok()) {
    return std::nullopt;
  }
  TlsFailure failure = tls_failure_of(status);
  return End{failure.drop, std::move(failure.text)};
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
    turn_bytes += static_cast<std::size_t>(count);
    if (tls_.has_value()) {
      if (auto end = decrypt(static_cast<std::size_t>(count))) {
        return end;
      }
    } else {
      received_bytes_ += static_cast<std::size_t>(count);
    }
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
