#include "chaos/live/link_proxies.h"

#include "chaos/live/frame_pipe.h"
#include "common/assert.h"
#include "common/random.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

namespace gcoord::chaos {

namespace {

using Clock = FramePipe::Clock;

// So that a fault that ended is noticed although nothing else happens.
constexpr std::chrono::milliseconds kPollMax{50};
constexpr std::size_t kNodesMax = 16;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A stopped node accepts nobody; the proxy has others to serve.
void bound_connect(int fd) {
  const timeval bound{0, 100'000};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
}

void no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

struct Listener {
  int fd = -1;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint16_t port = 0;
};

Result<Listener> listen_for(std::uint32_t from, std::uint32_t to) {
  Listener listener{.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                    .from = from,
                    .to = to};
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener.fd < 0 || ::bind(listener.fd, generic, sizeof(address)) != 0 ||
      ::listen(listener.fd, 16) != 0 || ::getsockname(listener.fd, generic, &bytes) != 0) {
    return Status{StatusCode::Unavailable,
                  std::string{"no port for a proxy: "} + std::strerror(errno)};
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

struct Connection {
  Connection(int near, int far, const Listener& listener, std::uint64_t seed)
      : near_fd(near),
        far_fd(far),
        from(listener.from),
        to(listener.to),
        forth(near, far, mix64(seed)),
        back(far, near, mix64(seed + 1)) {}

  ~Connection() {
    ::close(near_fd);
    ::close(far_fd);
  }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int near_fd;
  int far_fd;
  std::uint32_t from;  // Who called.
  std::uint32_t to;
  FramePipe forth;
  FramePipe back;
};

}  // namespace

class LinkProxies::Core {
 public:
  Core(const std::vector<std::uint16_t>& peer_ports, std::uint64_t seed)
      : peer_ports_(peer_ports), seed_(seed), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    GCOORD_ASSERT(peer_ports.size() < kNodesMax);
  }

  ~Core() {
    if (thread_.joinable()) {
      {
        const std::lock_guard lock{mutex_};
        ended_ = true;
      }
      wake();
      thread_.join();
    }
    for (const Listener& listener : listeners_) {
      ::close(listener.fd);
    }
    ::close(wake_fd_);
  }

  Status open() {
    const auto count = static_cast<std::uint32_t>(peer_ports_.size());
    for (std::uint32_t from = 1; from <= count; ++from) {
      for (std::uint32_t to = 1; to <= count; ++to) {
        if (from != to) {
          GCOORD_TRY(const Listener listener, listen_for(from, to));
          listeners_.push_back(listener);
        }
      }
    }
    thread_ = std::thread{[this] { run(); }};
    return Status{};
  }

  std::uint16_t port(std::uint32_t from, std::uint32_t to) const {
    const auto found =
        std::find_if(listeners_.begin(), listeners_.end(), [&](const Listener& each) {
          return each.from == from && each.to == to;
        });
    GCOORD_ASSERT(found != listeners_.end());
    return found->port;
  }

  void set(std::uint32_t from, std::uint32_t to, const LinkFault& fault) {
    {
      const std::lock_guard lock{mutex_};
      faults_[from][to] = fault;
    }
    wake();
  }

  void heal_all() {
    {
      const std::lock_guard lock{mutex_};
      std::fill(&faults_[0][0], &faults_[0][0] + kNodesMax * kNodesMax, LinkFault{});
    }
    wake();
  }

  LinkCounts counts() const {
    const std::lock_guard lock{mutex_};
    return counts_;
  }

 private:
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof(one));
  }

  void run() {
    for (;;) {
      wait();
      const std::lock_guard lock{mutex_};
      if (ended_) {
        connections_.clear();
        return;
      }
      accept_all();
      const auto now = Clock::now();
      connections_.remove_if([&](Connection& connection) {
        const LinkFault& forth = faults_[connection.from][connection.to];
        const LinkFault& back = faults_[connection.to][connection.from];
        connection.forth.read(forth, counts_, now);
        connection.back.read(back, counts_, now);
        connection.forth.write(forth, counts_, now);
        connection.back.write(back, counts_, now);
        return connection.forth.ended(forth) || connection.back.ended(back);
      });
    }
  }

  // Until a socket, a frame that is due, or somebody with another fault.
  void wait() {
    waited_.clear();
    auto until = Clock::now() + kPollMax;
    {
      const std::lock_guard lock{mutex_};
      waited_.push_back({wake_fd_, POLLIN, 0});
      for (const Listener& listener : listeners_) {
        waited_.push_back({listener.fd, POLLIN, 0});
      }
      for (const Connection& connection : connections_) {
        const LinkFault& forth = faults_[connection.from][connection.to];
        const LinkFault& back = faults_[connection.to][connection.from];
        watch(
            connection.near_fd, connection.forth.wants_read(forth), connection.back.wants_write());
        watch(connection.far_fd, connection.back.wants_read(back), connection.forth.wants_write());
        until = std::min({until,
                          connection.forth.next_due(forth).value_or(until),
                          connection.back.next_due(back).value_or(until)});
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(waited_.data(), waited_.size(), static_cast<int>(std::max<long long>(left, 0)));
    std::uint64_t ignored = 0;
    [[maybe_unused]] const auto read = ::read(wake_fd_, &ignored, sizeof(ignored));
  }

  void watch(int fd, bool reads, bool writes) {
    const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
    if (events != 0) {
      waited_.push_back({fd, static_cast<short>(events), 0});
    }
  }

  void accept_all() {
    for (const Listener& listener : listeners_) {
      for (;;) {
        const int near = ::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (near < 0) {
          break;
        }
        connect_far(near, listener);
      }
    }
  }

  // On loopback a connect succeeds or fails at once.
  void connect_far(int near, const Listener& listener) {
    const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(peer_ports_[listener.to - 1]);
    bound_connect(far);
    if (far < 0 ||
        ::connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      ::close(near);
      if (far >= 0) {
        ::close(far);
      }
      return;
    }
    no_delay(near);
    no_delay(far);
    connections_.emplace_back(near, far, listener, random64(seed_, 4, ++connection_count_));
  }

  const std::vector<std::uint16_t> peer_ports_;
  const std::uint64_t seed_;
  const int wake_fd_;
  std::vector<Listener> listeners_;
  mutable std::mutex mutex_;  // Of all below but waited_.
  LinkFault faults_[kNodesMax][kNodesMax] = {};
  LinkCounts counts_;
  std::list<Connection> connections_;
  std::uint64_t connection_count_ = 0;
  bool ended_ = false;
  std::vector<pollfd> waited_;  // Of the thread.
  std::thread thread_;
};

LinkProxies::LinkProxies(std::unique_ptr<Core> core) : core_(std::move(core)) {}

LinkProxies::~LinkProxies() = default;

Result<std::unique_ptr<LinkProxies>> LinkProxies::start(
    const std::vector<std::uint16_t>& peer_ports, std::uint64_t seed) {
  auto core = std::make_unique<Core>(peer_ports, seed);
  GCOORD_TRY_STATUS(core->open());
  return std::unique_ptr<LinkProxies>{new LinkProxies{std::move(core)}};
}

std::uint16_t LinkProxies::port(std::uint32_t from, std::uint32_t to) const {
  return core_->port(from, to);
}

void LinkProxies::set(std::uint32_t from, std::uint32_t to, const LinkFault& fault) {
  core_->set(from, to, fault);
}

void LinkProxies::heal_all() {
  core_->heal_all();
}

LinkCounts LinkProxies::counts() const {
  return core_->counts();
}

}  // namespace gcoord::chaos
