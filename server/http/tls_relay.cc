#include "server/http/tls_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

// One record's plain text: an answer of a page is a few of them.
constexpr std::size_t kReadBytes = std::size_t{16} << 10;

constexpr std::string_view kPlainRefused =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    "Content-Length: 28\r\n\r\nthis port speaks HTTPS only\n";

bool is_later() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

void close_if_open(int& socket) {
  if (socket >= 0) {
    ::close(std::exchange(socket, -1));
  }
}

}  // namespace

TlsRelay::TlsRelay(HttpArrival client, PortTls::Rule rule, std::uint64_t now_ms)
    : client_(client), since_ms_(now_ms), mode_(rule.mode), tls_(std::move(rule)) {}

TlsRelay::~TlsRelay() {
  close_if_open(client_.socket);
  close_if_open(plain_);
  close_if_open(served_);
}

std::array<pollfd, 2> TlsRelay::wanted() const {
  pollfd wire{client_.socket, 0, 0};
  pollfd plain{plain_, 0, 0};
  if (!to_wire_.empty()) {
    wire.events |= POLLOUT;
  } else if (state_ == State::Relaying && !ending_) {
    plain.events |= POLLIN;
  }
  if (!to_plain_.empty()) {
    plain.events |= POLLOUT;
  } else if (!ending_ && !end_told_) {
    wire.events |= POLLIN;
  }
  // An end that nobody wants to hear of now, or that is known, would wake the thread again and
  // again.
  wire.fd = wire.events == 0 ? -1 : wire.fd;
  plain.fd = plain.events == 0 && ending_since_ms_ ? -1 : plain.fd;
  return {wire, plain};
}

void TlsRelay::advance(const std::array<pollfd, 2>& ready, std::uint64_t now_ms) {
  move(ready);
  const bool library_ended = state_ == State::Relaying && (ready[1].revents & POLLHUP) != 0;
  if ((ending_ || library_ended) && !ending_since_ms_) {
    ending_since_ms_ = now_ms;
  }
}

void TlsRelay::cut() {
  const linger none{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(client_.socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  state_ = State::Over;
}

void TlsRelay::move(const std::array<pollfd, 2>& ready) {
  if (ready[0].revents != 0) {
    if (!to_wire_.empty() && !flush(client_.socket, to_wire_)) {
      state_ = State::Over;
      return;
    }
    if (to_plain_.empty() && !ending_ && !end_told_) {
      read_wire();
    }
  }
  if (ready[1].revents != 0 && state_ == State::Relaying) {
    if (!to_plain_.empty() && !flush(plain_, to_plain_)) {
      end();
    }
    if (to_wire_.empty() && !ending_) {
      read_plain();
    }
  }
  if (end_told_ && to_plain_.empty()) {
    ::shutdown(plain_, SHUT_WR);
  }
  if (ending_ && to_wire_.empty() && to_plain_.empty()) {
    state_ = State::Over;
  }
}

// False: the other end is gone.
bool TlsRelay::flush(int socket, std::vector<std::byte>& bytes) {
  const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) {
    if (is_later()) {
      return true;
    }
    bytes.clear();
    return false;
  }
  bytes.erase(bytes.begin(), bytes.begin() + count);
  return true;
}

// The first byte stays in the socket, for whoever is to read it.
void TlsRelay::begin() {
  std::byte first{};
  const ssize_t count = ::recv(client_.socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  begun_ = count > 0;
  if (count <= 0 || first == security::kTlsFirstByte) {
    return;
  }
  news_.state = mode_ == TlsMode::Permissive ? TlsState::Plain : TlsState::Forbidden;
  if (news_.state == TlsState::Plain) {
    served_ = std::exchange(client_.socket, -1);
    state_ = State::Ready;
    return;
  }
  const auto* text = reinterpret_cast<const std::byte*>(kPlainRefused.data());
  to_wire_.assign(text, text + kPlainRefused.size());
  end();
}

void TlsRelay::read_wire() {
  if (!begun_) {
    begin();
    if (news_.state != TlsState::Begins) {
      return;
    }
  }
  std::array<std::byte, kReadBytes> bytes;
  const ssize_t count = ::recv(client_.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && is_later()) {
    return;
  }
  if (count == 0 && client_ended_) {
    end_told_ = true;
    return;
  }
  if (count <= 0 || client_ended_) {
    end();
    return;
  }
  tls_.receive(std::span{bytes}.first(static_cast<std::size_t>(count)), to_plain_);
  owed_ = owed_ || !to_plain_.empty();
  tls_.take_output(to_wire_);
  flush(client_.socket, to_wire_);
  if (tls_.state() != news_.state) {
    news_ = tls_.news();
    std::array<int, 2> ends{-1, -1};
    if (news_.state == TlsState::Open &&
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0) {
      plain_ = ends[0];
      served_ = ends[1];
      state_ = State::Ready;
    } else {
      end();
    }
  }
  if (!to_plain_.empty() && plain_ >= 0 && !flush(plain_, to_plain_)) {
    end();
  }
  if (tls_.ended()) {
    on_client_end();
  }
}

// In order, by close_notify, or by a failure.
void TlsRelay::on_client_end() {
  if (owed_ && plain_ >= 0 && tls_.news().failure.ok()) {
    client_ended_ = true;
  } else {
    end();
  }
}

void TlsRelay::read_plain() {
  std::array<std::byte, kReadBytes> bytes;
  const ssize_t count = ::recv(plain_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && is_later()) {
    return;
  }
  if (count <= 0 || !tls_.send(std::span{bytes}.first(static_cast<std::size_t>(count)))) {
    end();
    return;
  }
  owed_ = false;
  end_told_ = end_told_ || client_ended_;
  tls_.take_output(to_wire_);
  if (!flush(client_.socket, to_wire_)) {
    end();
  }
}

// Either side has ended: what is here goes out, and the other side hears of the end.
void TlsRelay::end() {
  if (std::exchange(ending_, true)) {
    return;
  }
  tls_.shut();
  tls_.take_output(to_wire_);
  if (client_.socket >= 0 && !to_wire_.empty()) {
    flush(client_.socket, to_wire_);
  }
}

HttpArrival TlsRelay::take() {
  HttpArrival served = client_;
  served.socket = std::exchange(served_, -1);
  if (news_.state == TlsState::Open && news_.peer) {
    served.peer = std::make_shared<const security::TlsPeer>(*news_.peer);
  }
  state_ = client_.socket < 0 ? State::Over : State::Relaying;
  return served;
}

}  // namespace gcoord::server
