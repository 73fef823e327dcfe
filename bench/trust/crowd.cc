#include "bench/trust/crowd.h"

#include "security/tls/session.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace gcoord::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Heard = CrowdScript::Heard;

constexpr int kEventsOfTurn = 256;
constexpr int kTurnMs = 20;
constexpr std::size_t kReadBytes = std::size_t{32} << 10;

// Begun in one turn, so that those that have begun are served meanwhile.
constexpr std::uint32_t kBegunOfTurn = 64;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

sockaddr_in address_of(const std::string& endpoint) {
  sockaddr_in address{};
  const std::size_t colon = endpoint.rfind(':');
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(endpoint.substr(colon + 1))));
  ::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr);
  return address;
}

// Tickets are kept by this, so that no handshake finds one.
std::string unlike_all_others() {
  static std::atomic<std::uint64_t> count = 0;
  return std::to_string(++count);
}

// One connection; what it is for is said by what is done with it.
class Talk {
 public:
  enum class State : std::uint8_t { Under, Served, Failed };

  Talk(const CrowdOptions& options, std::size_t endpoint)
      : options_(options), session_(options.tls, "127.0.0.1", unlike_all_others()) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const sockaddr_in to = address_of(options.endpoints[endpoint]);
    const int done = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (fd_ < 0 || (done != 0 && errno != EINPROGRESS)) {
      fail(std::strerror(errno));
    }
  }

  ~Talk() { ::close(fd_); }

  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  int fd() const { return fd_; }

  State state() const { return state_; }

  const std::string& failure() const { return failure_; }

  Clock::time_point began() const { return began_; }

  // The socket can be written or read, or has ended.
  void advance() {
    send();
    std::array<std::byte, kReadBytes> room;
    while (state_ != State::Failed) {
      const ssize_t count = ::recv(fd_, room.data(), room.size(), 0);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        break;
      }
      if (count <= 0) {
        return fail(count == 0 ? "the server closed the connection" : std::strerror(errno));
      }
      const Status taken =
          session_.receive(std::span{room}.first(static_cast<std::size_t>(count)), heard_);
      if (!taken.ok()) {
        return fail(taken.message());
      }
      listen();
      if (static_cast<std::size_t>(count) < room.size()) {
        break;  // That was all; what comes later is another event.
      }
    }
    send();
  }

 private:
  void fail(const std::string& why) {
    state_ = State::Failed;
    failure_ = why;
  }

  void listen() {
    if (state_ != State::Under || heard_.empty()) {
      heard_.clear();
      return;
    }
    switch (options_.script.hear(heard_)) {
      case Heard::Part:
        return;
      case Heard::Wrong:
        return fail("another answer than expected");
      case Heard::Whole:
        heard_.clear();
        state_ = ++answered_ == options_.script.parts.size() ? State::Served : State::Under;
    }
  }

  // The next part, once there is nobody to wait for; then what TLS has for the wire.
  void send() {
    if (state_ == State::Under && session_.open() && said_ == answered_) {
      static_cast<void>(session_.send(options_.script.parts[said_++]).ok());
    }
    session_.take_output(wire_);
    while (begun_ < wire_.size()) {
      const ssize_t count = ::send(fd_, wire_.data() + begun_, wire_.size() - begun_, MSG_NOSIGNAL);
      if (count < 0) {
        if (errno != EAGAIN && errno != ENOTCONN && errno != EINTR) {
          fail(std::strerror(errno));
        }
        return;  // The next event says that there is room.
      }
      begun_ += static_cast<std::size_t>(count);
    }
    wire_.clear();
    begun_ = 0;
  }

  const CrowdOptions& options_;
  const Clock::time_point began_ = Clock::now();
  int fd_ = -1;
  State state_ = State::Under;
  std::size_t said_ = 0;      // Parts.
  std::size_t answered_ = 0;  // The same.
  std::string failure_;
  security::TlsSession session_;
  std::vector<std::byte> heard_;
  std::vector<std::byte> wire_;
  std::size_t begun_ = 0;  // Of `wire_`, what was sent.
};

class Epoll {
 public:
  Epoll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}

  ~Epoll() { ::close(fd_); }

  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  void add(const Talk& talk, std::uint64_t place) const {
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.u64 = place}};
    ::epoll_ctl(fd_, EPOLL_CTL_ADD, talk.fd(), &event);
  }

  // The places where something has happened; waits a little for that.
  std::span<const epoll_event> wait() {
    const int count = ::epoll_wait(fd_, events_.data(), kEventsOfTurn, kTurnMs);
    return std::span{events_}.first(static_cast<std::size_t>(std::max(count, 0)));
  }

 private:
  int fd_;
  std::array<epoll_event, kEventsOfTurn> events_{};
};

}  // namespace

namespace {

// Connections of one thread, of which each begins again as soon as it was served.
struct Turning {
  CrowdRate rate;
  std::vector<double> times_ms;

  void run(const CrowdOptions& options, std::size_t begun, std::chrono::milliseconds measured);
};

void Turning::run(const CrowdOptions& options,
                  std::size_t begun,
                  std::chrono::milliseconds measured) {
  Epoll epoll;
  std::vector<std::optional<Talk>> talks(options.connections);
  const auto begin = [&](std::size_t place) {
    talks[place].reset();
    talks[place].emplace(options, begun++ % options.endpoints.size());
    epoll.add(*talks[place], place);
  };
  for (std::size_t place = 0; place < talks.size(); ++place) {
    begin(place);
  }
  const auto from = Clock::now() + std::chrono::seconds{1};
  const auto until = from + measured;
  for (auto now = Clock::now(); now < until; now = Clock::now()) {
    for (const epoll_event& event : epoll.wait()) {
      Talk& talk = *talks[event.data.u64];
      talk.advance();
      if (talk.state() == Talk::State::Under) {
        continue;
      }
      const auto ended = Clock::now();
      if (talk.state() == Talk::State::Failed) {
        rate.first_failure = rate.failed++ == 0 ? talk.failure() : rate.first_failure;
        begin(event.data.u64);
        continue;
      }
      ++rate.served_in_all;
      if (ended >= from && ended < until) {
        ++rate.served;
        times_ms.push_back(ms_between(talk.began(), ended));
      }
      begin(event.data.u64);
    }
  }
}

// The share of each thread; together all connections.
std::vector<CrowdOptions> shares_of(const CrowdOptions& options) {
  const std::uint32_t threads =
      std::clamp(std::thread::hardware_concurrency(), 1U, options.connections);
  std::vector<CrowdOptions> shares(threads, options);
  for (std::uint32_t k = 0; k < threads; ++k) {
    shares[k].connections =
        options.connections * (k + 1) / threads - options.connections * k / threads;
  }
  return shares;
}

}  // namespace

CrowdRate run_crowd(const CrowdOptions& options, std::chrono::milliseconds measured) {
  const std::vector<CrowdOptions> shares = shares_of(options);
  std::vector<Turning> parts(shares.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    threads.emplace_back([&, k] { parts[k].run(shares[k], k, measured); });
  }
  CrowdRate rate;
  std::vector<double> times_ms;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    threads[k].join();
    const CrowdRate& part = parts[k].rate;
    rate.served += part.served;
    rate.served_in_all += part.served_in_all;
    rate.first_failure = rate.failed == 0 ? part.first_failure : rate.first_failure;
    rate.failed += part.failed;
    times_ms.insert(times_ms.end(), parts[k].times_ms.begin(), parts[k].times_ms.end());
  }
  rate.seconds = std::chrono::duration<double>(measured).count();
  std::ranges::sort(times_ms);
  if (!times_ms.empty()) {
    rate.p50_ms = times_ms[times_ms.size() / 2];
    rate.p99_ms = times_ms[times_ms.size() * 99 / 100];
  }
  return rate;
}

namespace {

// Connections that stay; those that end begin again at another server.
class StandingCrowd {
 public:
  explicit StandingCrowd(const CrowdOptions& options)
      : options_(options), talks_(options.connections), served_(options.connections, false) {
    for (std::size_t place = 0; place < talks_.size(); ++place) {
      waiting_.push_back(place);
    }
  }

  // Until all are served, by server 0 or by the others; how long it took.
  Result<double> serve_all(bool by_first, std::chrono::milliseconds patience) {
    const auto began = Clock::now();
    while (served_count_ < talks_.size()) {
      if (Clock::now() - began > patience) {
        return Status{StatusCode::DeadlineExceeded,
                      std::to_string(served_count_) + " of " + std::to_string(talks_.size()) +
                          " connections are served; " + failure_};
      }
      begin_some(by_first);
      for (const epoll_event& event : epoll_.wait()) {
        advance(event.data.u64);
      }
    }
    return ms_between(began, Clock::now());
  }

  // Nobody counts as served any more.
  void forget() {
    served_.assign(served_.size(), false);
    served_count_ = 0;
  }

  std::uint64_t failed_tries() const { return failed_tries_; }

 private:
  void begin_some(bool by_first) {
    for (std::uint32_t k = 0; k < kBegunOfTurn && !waiting_.empty(); ++k) {
      const std::size_t place = waiting_.back();
      waiting_.pop_back();
      const std::size_t others = options_.endpoints.size() - 1;
      talks_[place].reset();
      talks_[place].emplace(options_, by_first ? 0 : 1 + next_++ % others);
      epoll_.add(*talks_[place], place);
    }
  }

  void advance(std::size_t place) {
    if (!talks_[place].has_value()) {
      return;
    }
    Talk& talk = *talks_[place];
    talk.advance();
    if (talk.state() == Talk::State::Served && !served_[place]) {
      served_[place] = true;
      ++served_count_;
    } else if (talk.state() == Talk::State::Failed) {
      failure_ = talk.failure();
      ++failed_tries_;
      if (served_[place]) {
        served_[place] = false;
        --served_count_;
      }
      talks_[place].reset();
      waiting_.push_back(place);
    }
  }

  const CrowdOptions& options_;
  Epoll epoll_;
  std::vector<std::optional<Talk>> talks_;
  std::vector<bool> served_;
  std::vector<std::size_t> waiting_;  // To begin.
  std::size_t served_count_ = 0;
  std::size_t next_ = 0;
  std::uint64_t failed_tries_ = 0;
  std::string failure_;
};

// The crowd of each thread.
class StandingCrowds {
 public:
  explicit StandingCrowds(const CrowdOptions& options) : shares_(shares_of(options)) {
    for (const CrowdOptions& share : shares_) {
      crowds_.push_back(std::make_unique<StandingCrowd>(share));
    }
  }

  Result<double> serve_all(bool by_first, std::chrono::milliseconds patience) {
    const auto began = Clock::now();
    std::vector<Result<double>> results(crowds_.size(), 0.0);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < crowds_.size(); ++k) {
      threads.emplace_back([&, k] { results[k] = crowds_[k]->serve_all(by_first, patience); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const Result<double>& result : results) {
      GCOORD_TRY_STATUS(result.status());
    }
    return ms_between(began, Clock::now());
  }

  void forget() {
    for (const auto& crowd : crowds_) {
      crowd->forget();
    }
  }

  std::uint64_t failed_tries() const {
    std::uint64_t sum = 0;
    for (const auto& crowd : crowds_) {
      sum += crowd->failed_tries();
    }
    return sum;
  }

 private:
  std::vector<CrowdOptions> shares_;
  std::vector<std::unique_ptr<StandingCrowd>> crowds_;
};

}  // namespace

Status serve_one(const CrowdOptions& options, std::chrono::milliseconds patience) {
  CrowdOptions one = options;
  one.connections = 1;
  StandingCrowd crowd{one};
  return crowd.serve_all(true, patience).status();
}

Result<CrowdReturn> return_crowd(const CrowdOptions& options,
                                 const std::function<void()>& lose,
                                 std::chrono::milliseconds patience) {
  StandingCrowds crowd{options};
  CrowdReturn result;
  GCOORD_TRY(result.all_served_first_ms, crowd.serve_all(true, patience));
  const std::uint64_t tries = crowd.failed_tries();
  crowd.forget();
  const auto lost = Clock::now();
  lose();
  GCOORD_TRY(result.all_served_again_ms, crowd.serve_all(false, patience));
  result.all_served_again_ms = ms_between(lost, Clock::now());
  result.lost = options.connections;
  result.failed_tries = crowd.failed_tries() - tries - options.connections;
  return result;
}

}  // namespace gcoord::bench
