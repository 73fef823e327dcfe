// gcoord-elector: the candidates of `./gcoord bench elections` in a process of their own, so that
// it can be killed.
//
//   gcoord-elector ENDPOINTS FILE PART NAMES SESSIONS TTL_MS
//
// It leads the names whose number is PART modulo 3 and says "led". At the next SIGUSR1 it stands in
// line for those of the part before it and says "standing" when all of that is sent, and "elected"
// when it has won them all; FILE-elected then holds the time of each grant, as nanoseconds of the
// monotonic clock in eight bytes each. At every SIGUSR1 after that it asks the nodes once about
// each of kSample of its own names whether its token is good, says "asked" when all is sent, and
// "answered" when the last answer has come, with their times in FILE-answered. It ends with
// SIGTERM.
#include "gcoord/client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::bench {
namespace {

using client::Grant;
using client::Result;

constexpr std::uint32_t kParts = 3;
constexpr std::uint32_t kUnderWay =
    4096;  // Acquires that are not answered at a time, while leading.
constexpr std::uint32_t kSample = 20'000;

struct Arguments {
  std::string endpoints;
  std::string file;
  std::uint32_t part = 0;
  std::uint32_t names = 0;
  std::uint32_t sessions = 0;
  std::uint32_t ttl_ms = 0;
};

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void say(const char* line) {
  std::printf("%s\n", line);
  std::fflush(stdout);
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "gcoord-elector: %s\n", why.c_str());
  std::_Exit(1);
}

// The times of so many answers, whoever they come to; the last one writes them down.
class Times {
 public:
  void expect(std::size_t count) {
    const std::lock_guard lock{mutex_};
    times_.clear();
    expected_ = count;
  }

  void add() {
    const std::lock_guard lock{mutex_};
    times_.push_back(now_ns());
    if (times_.size() == expected_) {
      arrived_.notify_all();
    }
  }

  // How many are still to come, at most `left`.
  void wait_for_all_but(std::size_t left) {
    std::unique_lock lock{mutex_};
    arrived_.wait(lock, [&] { return times_.size() + left >= expected_; });
  }

  void write(const std::string& path) {
    const std::lock_guard lock{mutex_};
    std::ofstream out{path, std::ios::binary};
    out.write(reinterpret_cast<const char*>(times_.data()),
              static_cast<std::streamsize>(times_.size() * sizeof(std::uint64_t)));
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::uint64_t> times_;
  std::size_t expected_ = 0;
};

class Elector {
 public:
  explicit Elector(Arguments arguments) : arguments_(std::move(arguments)) {}

  void open() {
    client::ClientOptions options;
    for (std::size_t first = 0; first < arguments_.endpoints.size();) {
      const std::size_t end =
          std::min(arguments_.endpoints.find(',', first), arguments_.endpoints.size());
      options.endpoints.push_back(arguments_.endpoints.substr(first, end - first));
      first = end + 1;
    }
    options.client_name = "gcoord-elector";
    options.request_timeout = std::chrono::minutes{10};
    options.wait_for_cluster = true;
    auto connected = client::Client::connect(options);
    if (!connected.ok()) {
      give_up(connected.status().to_string());
    }
    client_.push_back(std::move(connected).value());
    for (std::uint32_t i = 0; i < arguments_.sessions; ++i) {
      auto session =
          client_[0].open_session({.ttl = std::chrono::milliseconds{arguments_.ttl_ms},
                                   .on_event = [](client::SessionEvent event) {
                                     if (event == client::SessionEvent::Expired) {
                                       give_up("a session expired, so nothing was measured");
                                     }
                                   }});
      if (!session.ok()) {
        give_up(session.status().to_string());
      }
      sessions_.push_back(std::move(session).value());
    }
  }

  void lead() {
    tokens_.resize(arguments_.names);
    std::atomic<std::uint32_t> under_way{0};
    for_part(arguments_.part, [&](std::uint32_t number) {
      while (under_way.load(std::memory_order_acquire) >= kUnderWay) {
        under_way.wait(kUnderWay, std::memory_order_acquire);
      }
      under_way.fetch_add(1, std::memory_order_acq_rel);
      campaign(number, [&, number](const Result<Grant>& grant) {
        if (!grant.ok()) {
          give_up(grant.status().to_string());
        }
        tokens_[number] = grant.value().token;
        under_way.fetch_sub(1, std::memory_order_acq_rel);
        under_way.notify_one();
      });
    });
    for (std::uint32_t left = under_way; left != 0; left = under_way) {
      under_way.wait(left, std::memory_order_acquire);
    }
  }

  void stand() {
    const std::uint32_t part = (arguments_.part + kParts - 1) % kParts;
    std::size_t count = 0;
    for_part(part, [&](std::uint32_t) { ++count; });
    elected_.expect(count);
    std::uint32_t sent = 0;
    for_part(part, [&](std::uint32_t number) {
      if (++sent % kUnderWay == 0) {
        hear_nodes(part, number);
      }
      campaign(number, [this, count](const Result<Grant>& grant) {
        if (!grant.ok()) {
          return;  // The program ends.
        }
        elected_.add();
        if (++won_ == count) {
          elected_.write(arguments_.file + "-elected");
          say("elected");
        }
      });
    });
  }

  void ask() {
    std::vector<std::uint32_t> sample;
    const std::uint32_t stride = std::max(1u, arguments_.names / kParts / kSample) * kParts;
    for (std::uint32_t n = arguments_.part; n < arguments_.names; n += stride) {
      sample.push_back(n);
    }
    answered_.expect(sample.size());
    for (const std::uint32_t number : sample) {
      client_[0].check_async(
          name_of(number), tokens_[number], [this](const Result<client::Verdict>& verdict) {
            if (!verdict.ok() || verdict.value() != client::Verdict::Valid) {
              give_up("a candidate lost its leadership: " + verdict.status().to_string());
            }
            answered_.add();
          });
    }
    say("asked");
    answered_.wait_for_all_but(0);
    answered_.write(arguments_.file + "-answered");
    say("answered");
  }

 private:
  static std::string name_of(std::uint32_t number) { return "elections/" + std::to_string(number); }

  // A wait is not answered before it ends. Reads on the same connections are, once what was sent
  // before them is taken in: a million waits sent at once would only be refused, and sent again.
  void hear_nodes(std::uint32_t part, std::uint32_t newest) {
    constexpr std::uint32_t kReads = 32;
    for (std::uint32_t k = 0, number = newest; k < kReads && number >= part + kParts; ++k) {
      number -= kParts;
      unheard_.fetch_add(1);
      client_[0].check_async(name_of(number), 1, [this](const Result<client::Verdict>&) {
        unheard_.fetch_sub(1);
        unheard_.notify_one();
      });
    }
    for (std::uint32_t left = unheard_; left != 0; left = unheard_) {
      unheard_.wait(left);
    }
  }

  template <typename Visit>
  void for_part(std::uint32_t part, const Visit& visit) const {
    for (std::uint32_t number = part; number < arguments_.names; number += kParts) {
      visit(number);
    }
  }

  // The cheap form of Election::campaign: an election is the lock of its name.
  template <typename Callback>
  void campaign(std::uint32_t number, const Callback& callback) {
    sessions_[number / kParts % sessions_.size()].acquire_async(name_of(number), {}, callback);
  }

  Arguments arguments_;
  std::vector<client::Client> client_;  // One; it outlives the sessions.
  std::vector<client::Session> sessions_;
  std::vector<std::uint64_t> tokens_;
  Times elected_;
  Times answered_;
  std::atomic<std::uint32_t> unheard_{0};  // Reads of hear_nodes().
  std::atomic<std::size_t> won_{0};
};

int main_of(const Arguments& arguments) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Elector elector{arguments};
  elector.open();
  elector.lead();
  say("led");
  for (int round = 0;; ++round) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGTERM) {
      // A million answers are not waited for.
      std::_Exit(0);
    }
    if (round == 0) {
      elector.stand();
      say("standing");
    } else {
      elector.ask();
    }
  }
}

}  // namespace
}  // namespace gcoord::bench

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "gcoord-elector: a part of ./gcoord bench elections\n");
    return 2;
  }
  const auto number = [&](int at) {
    return static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10));
  };
  return gcoord::bench::main_of({.endpoints = argv[1],
                                 .file = argv[2],
                                 .part = number(3) % 3,
                                 .names = number(4),
                                 .sessions = std::max(1u, number(5)),
                                 .ttl_ms = number(6)});
}
