#include "tests/client/net/tls_front.h"

#include "common/assert.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <span>
#include <utility>

namespace gcoord::client {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

// True: everything that the session has to say is out.
bool send_output(int socket, security::TlsSession& session) {
  std::vector<std::byte> wire;
  session.take_output(wire);
  return send_all(socket, wire);
}

// The other side reads the last words before it sees the end.
void end_in_order(int socket) {
  ::shutdown(socket, SHUT_WR);
  std::array<std::byte, 4096> rest{};
  while (::recv(socket, rest.data(), rest.size(), 0) > 0) {
  }
}

}  // namespace

struct TlsFront::Line {
  int client = -1;
  int node = -1;
  std::thread thread;
};

TlsFront::TlsFront(const security::TlsFiles& files,
                   const security::TlsPolicy& policy,
                   const Ends& ends)
    : context_(security::TlsContext::load(security::TlsSide::Server, files, policy).value()),
      host_(ends.host),
      behind_(
          static_cast<std::uint16_t>(std::stoi(ends.behind.substr(ends.behind.rfind(':') + 1)))),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  GCOORD_ASSERT(::inet_pton(AF_INET, host_.c_str(), &address.sin_addr) == 1);
  GCOORD_ASSERT(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  GCOORD_ASSERT(::listen(listener_, 16) == 0);
  socklen_t bytes = sizeof address;
  GCOORD_ASSERT(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { accept_all(); });
}

TlsFront::~TlsFront() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  hang_up();
  for (const auto& line : lines_) {
    line->thread.join();
    ::close(line->client);
    ::close(line->node);
  }
  ::close(listener_);
}

void TlsFront::accept_all() {
  for (;;) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (closed_ || client < 0) {
      ::close(client);
      return;
    }
    auto line = std::make_unique<Line>();
    line->client = client;
    line->node = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(behind_);
    static_cast<void>(::connect(line->node, reinterpret_cast<sockaddr*>(&address), sizeof address));
    line->thread = std::thread([this, raw = line.get()] { serve(*raw); });
    lines_.push_back(std::move(line));
  }
}

void TlsFront::serve(Line& line) {
  security::TlsSession session{context_};
  bool greeted = false;
  std::array<std::byte, 16384> bytes{};
  for (;;) {
    std::array<pollfd, 2> ready{pollfd{line.client, POLLIN, 0}, pollfd{line.node, POLLIN, 0}};
    ::poll(ready.data(), ready.size(), -1);
    const bool of_client = ready[0].revents != 0;
    const ssize_t count =
        ::recv(of_client ? line.client : line.node, bytes.data(), bytes.size(), 0);
    if (count <= 0) {
      break;
    }
    const auto came = std::span{bytes}.first(static_cast<std::size_t>(count));
    const Status status = of_client ? session.receive(came) : session.send(came);
    if (!greeted && session.open()) {
      greeted = true;
      note(session);
    }
    std::array<std::byte, 16384> plain{};
    for (std::size_t got = 0; (got = session.read(plain)) > 0;) {
      send_all(line.node, std::span{plain}.first(got));
    }
    if (!send_output(line.client, session) || !status.ok()) {
      break;
    }
  }
  ::shutdown(line.node, SHUT_RDWR);
  end_in_order(line.client);
}

void TlsFront::note(const security::TlsSession& session) {
  const std::lock_guard lock(mutex_);
  guests_.push_back({.common_name = session.peer() != nullptr ? session.peer()->common_name : "",
                     .resumed = session.resumed()});
}

std::vector<TlsFront::Guest> TlsFront::guests() const {
  const std::lock_guard lock(mutex_);
  return guests_;
}

void TlsFront::hang_up() {
  const std::lock_guard lock(mutex_);
  for (const auto& line : lines_) {
    ::shutdown(line->client, SHUT_RDWR);
    ::shutdown(line->node, SHUT_RDWR);
  }
}

}  // namespace gcoord::client
