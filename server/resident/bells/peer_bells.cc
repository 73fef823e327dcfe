#include "server/resident/bells/peer_bells.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace gcoord::server {
namespace {

// More than a cluster has peers.
constexpr int kEventsMax = 16;
// Rings of one peer that are taken in a pass. What is left rings on.
constexpr int kRingsMax = 32;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// False: the other end is gone.
bool silence(int socket) {
  std::array<std::byte, 64> bytes;
  for (int k = 0; k < kRingsMax; ++k) {
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count <= 0) {
      return count < 0 && would_block();
    }
  }
  return true;
}

}  // namespace

PeerBells::PeerBells() : events_(::epoll_create1(EPOLL_CLOEXEC)) {}

void PeerBells::keep(NodeId peer, netcore::OwnedFd socket) {
  forget(peer);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket.get();
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0) {
    bells_.push_back({peer, std::move(socket)});
  }
}

void PeerBells::forget(NodeId peer) {
  std::erase_if(bells_, [peer](const Bell& bell) { return bell.peer == peer; });
}

void PeerBells::ring(NodeId peer) {
  const auto bell = std::ranges::find(bells_, peer, &Bell::peer);
  if (bell == bells_.end()) {
    return;
  }
  constexpr std::byte kRing{1};
  if (::send(bell->socket.get(), &kRing, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && !would_block()) {
    bells_.erase(bell);
  }
}

std::size_t PeerBells::take() {
  if (bells_.empty()) {
    return 0;  // Of a GPU there never are any, and its loop spares the call.
  }
  std::array<epoll_event, kEventsMax> events;
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsMax, 0);
  for (int k = 0; k < count; ++k) {
    if (!silence(events[static_cast<std::size_t>(k)].data.fd)) {
      drop(events[static_cast<std::size_t>(k)].data.fd);
    }
  }
  return static_cast<std::size_t>(std::max(count, 0));
}

// Closing it takes it out of the epoll.
void PeerBells::drop(int socket) {
  std::erase_if(bells_, [socket](const Bell& bell) { return bell.socket.get() == socket; });
}

}  // namespace gcoord::server
