#include "server/client_io/epoll_backend.h"

#include "common/assert.h"
#include "server/client_io/client_socket.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace gcoord::server {

Result<std::unique_ptr<IoBackend>> EpollBackend::open() {
  const auto refused = [](int error) {
    return Status{StatusCode::ResourceExhausted, std::string("epoll: ") + std::strerror(error)};
  };
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) {
    return refused(errno);
  }
  const int bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int bell_error = errno;
  std::unique_ptr<IoBackend> backend(new EpollBackend(epoll, bell));
  if (bell < 0) {
    return refused(bell_error);
  }
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event) != 0) {
    return refused(errno);
  }
  return backend;
}

EpollBackend::EpollBackend(int epoll, int bell)
    : epoll_(epoll), bell_(bell), scratch_(kSocketReadBytes) {}

EpollBackend::~EpollBackend() {
  for (const int fd : {epoll_, bell_}) {
    if (fd >= 0) {
      ::close(fd);
    }
  }
}

bool EpollBackend::add(IoSocket& socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &socket;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket.fd, &event) == 0;
}

void EpollBackend::queue(IoSocket& socket) {
  const bool ready =
      (socket.receiving && socket.readable) || (!socket.sending.empty() && socket.writable);
  if (ready && !socket.queued) {
    socket.queued = true;
    queue_.push_back(&socket);
  }
}

void EpollBackend::receive(IoSocket& socket) {
  GCOORD_ASSERT(!socket.receiving);
  socket.receiving = true;
  queue(socket);
}

void EpollBackend::send(IoSocket& socket, std::span<const std::byte> bytes) {
  GCOORD_ASSERT(socket.sending.empty() && !bytes.empty());
  socket.sending = bytes;
  queue(socket);
}

void EpollBackend::remove(std::unique_ptr<IoSocket> socket) {
  std::erase(queue_, socket.get());
  GCOORD_ASSERT(std::ranges::find(trying_, socket.get()) == trying_.end());
  // A descriptor that was copied to a child of this process outlives its close() here.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket->fd, nullptr);
  ::shutdown(socket->fd, SHUT_RDWR);
  ::close(socket->fd);
}

void EpollBackend::advance(Sink& sink, int timeout_ms) {
  if (!take_events(queue_.empty() ? timeout_ms : 0) && queue_.empty()) {
    return;
  }
  trying_.swap(queue_);
  for (IoSocket* const socket : trying_) {
    socket->queued = false;
    if (socket->receiving && socket->readable) {
      try_receive(*socket, sink);
    }
    if (!socket->sending.empty() && socket->writable) {
      try_send(*socket, sink);
    }
  }
  trying_.clear();
}

// Whether anything has come.
bool EpollBackend::take_events(int timeout_ms) {
  tally().add(IoCall::Wait);
  const int count =
      ::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), timeout_ms);
  for (int k = 0; k < count; ++k) {
    const epoll_event& event = events_[static_cast<std::size_t>(k)];
    if (event.data.ptr == nullptr) {
      std::uint64_t rung = 0;
      tally().add(IoCall::Wake);
      [[maybe_unused]] const ssize_t read = ::read(bell_, &rung, sizeof rung);
      continue;
    }
    IoSocket& socket = *static_cast<IoSocket*>(event.data.ptr);
    socket.ended = socket.ended || (event.events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0;
    socket.readable = socket.readable || socket.ended || (event.events & EPOLLIN) != 0;
    socket.writable = socket.writable || (event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0;
    queue(socket);
  }
  return count > 0;
}

// Of so many bytes the first go to the socket's room. A read that does not fill both has emptied
// the socket: what comes after it is a new edge, but for an end that has been seen.
void EpollBackend::try_receive(IoSocket& socket, Sink& sink) {
  tally().add(IoCall::Receive);
  const std::size_t room_bytes = std::min(socket.room.size(), scratch_.size());
  const std::size_t beyond_bytes = scratch_.size() - room_bytes;
  std::array<iovec, 2> parts{{{socket.room.data(), room_bytes}, {scratch_.data(), beyond_bytes}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t count = ::recvmsg(socket.fd, &message, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    socket.readable = errno == EINTR;
    queue(socket);
    return;
  }
  socket.receiving = false;
  if (count <= 0) {
    sink.on_gone(socket);
    return;
  }
  const auto byte_count = static_cast<std::size_t>(count);
  const std::size_t placed_bytes = std::min(byte_count, room_bytes);
  const bool more = byte_count == scratch_.size();
  socket.readable = more || socket.ended;
  sink.on_received(
      socket,
      {placed_bytes, std::span<const std::byte>{scratch_}.first(byte_count - placed_bytes), more});
}

void EpollBackend::try_send(IoSocket& socket, Sink& sink) {
  tally().add(IoCall::Send);
  const ssize_t count =
      ::send(socket.fd, socket.sending.data(), socket.sending.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && errno == EINTR) {
    queue(socket);
  } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    socket.writable = false;
    sink.on_blocked(socket);
  } else if (count <= 0) {
    socket.sending = {};
    sink.on_gone(socket);
  } else {
    socket.sending = {};
    sink.on_sent(socket, static_cast<std::size_t>(count));
  }
}

void EpollBackend::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_, &one, sizeof one);
}

}  // namespace gcoord::server
