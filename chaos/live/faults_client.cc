// Storms of clients, clients that stop, strangers at the ports, and intruders in shared memory.
#include "chaos/check/operation.h"
#include "chaos/demo/lane.h"
#include "chaos/demo/recorded_session.h"
#include "chaos/live/fault.h"
#include "chaos/rings/attackers.h"
#include "chaos/rings/client_way.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace gcoord::chaos {

namespace {

// Names and process numbers that no client under load uses.
constexpr std::uint32_t kProcess = 900;
constexpr std::chrono::milliseconds kShortTtl{1000};

std::uint64_t names_drawn = 0;  // One nemesis per process.

std::string fresh_name(const std::string& kind) {
  return "storm/" + kind + "/" + std::to_string(++names_drawn);
}

client::Result<client::Session> open(LiveWorld& world, std::chrono::milliseconds ttl) {
  return open_recorded_session(world.client, world.history, {.process = kProcess, .ttl = ttl});
}

// Answers of requests under way, recorded as they come.
class Answers {
 public:
  Answers(HistoryWriter& history, std::size_t expected) : history_(history), missing_(expected) {
    if (missing_ == 0) {
      all_.set_value();
    }
  }

  void told(Operation operation, const client::Status& status) {
    operation.return_ns = history_now_ns();
    operation.outcome = outcome_of(status);
    operation.reason = reason_of(status);
    history_.write(operation);
    const std::lock_guard lock{mutex_};
    granted_ += operation.op == Op::Acquire && status.ok() ? 1u : 0u;
    if (--missing_ == 0) {
      all_.set_value();
    }
  }

  bool wait(std::chrono::milliseconds timeout) {
    return all_.get_future().wait_for(timeout) == std::future_status::ready;
  }

  std::uint64_t granted() const {
    const std::lock_guard lock{mutex_};
    return granted_;
  }

 private:
  HistoryWriter& history_;
  mutable std::mutex mutex_;
  std::size_t missing_;
  std::uint64_t granted_ = 0;
  std::promise<void> all_;
};

Operation acquire_of(const client::Session& session, const std::string& name, AcquireKind kind) {
  return {.process = kProcess,
          .op = Op::Acquire,
          .kind = kind,
          .key = name,
          .session = session.id(),
          .call_ns = history_now_ns()};
}

// Stops keeping the session alive, and says until when its locks are certainly held.
void abandon(HistoryWriter& history, client::Session& session, Operation held) {
  held.op = Op::Abandon;
  held.kind = AcquireKind::None;
  held.outcome = Outcome::Ok;
  held.call_ns = history_now_ns();
  const auto certain = std::chrono::duration_cast<std::chrono::nanoseconds>(session.remaining());
  held.return_ns = held.call_ns + static_cast<std::uint64_t>(certain.count());
  session.detach();
  history.write(held);
}

// Many sessions wait in line for one lock whose holder dies. Each must get it, one after another.
class Herd final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const std::string name = fresh_name("herd");
    auto holder = open(world, kShortTtl);
    if (!holder.ok()) {
      return std::string{"no session for the holder"};
    }
    Operation held = acquire_of(holder.value(), name, AcquireKind::Lock);
    auto lock = holder.value().acquire(name, {.wait = std::chrono::seconds{2}});
    held.token = lock.ok() ? lock.value().fence() : 0;
    held.outcome = outcome_of(lock.status());
    held.return_ns = history_now_ns();
    world.history.write(held);
    if (lock.ok()) {
      lock.value().detach();
    }
    const std::uint32_t wanted = draw.between(100, 400);
    for (std::uint32_t number = 0; number < wanted; ++number) {
      auto waiter = open(world, world.session_ttl);
      if (waiter.ok()) {
        waiters_.push_back(std::move(waiter).value());
      }
    }
    ask_all(world, name);
    abandon(world.history, holder.value(), held);
    return std::to_string(waiters_.size()) + " waiters for a lock whose holder dies";
  }

  std::chrono::milliseconds hold(Draw&) override { return std::chrono::milliseconds{0}; }

  Result<std::string> heal(LiveWorld&) override {
    const bool all = answers_ == nullptr || answers_->wait(std::chrono::seconds{40});
    waiters_.clear();
    if (!all) {
      return Status{StatusCode::DeadlineExceeded, "waiters in line were never answered"};
    }
    return std::to_string(felt()) + " granted, one after another";
  }

  std::uint64_t felt() const override { return answers_ == nullptr ? 0 : answers_->granted(); }

 private:
  void ask_all(LiveWorld& world, const std::string& name) {
    answers_ = std::make_shared<Answers>(world.history, waiters_.size() * 2);
    for (client::Session& waiter : waiters_) {
      const Operation asked = acquire_of(waiter, name, AcquireKind::Wait);
      auto& session = waiter;
      waiter.acquire_async(
          name,
          {.wait = std::chrono::seconds{20}},
          [answers = answers_, asked, &session](auto grant) {
            Operation told = asked;
            told.token = grant.ok() ? grant.value().token : 0;
            answers->told(told, grant.status());
            told.op = Op::Release;
            told.kind = AcquireKind::None;
            told.call_ns = history_now_ns();
            if (!grant.ok()) {
              answers->told(told, client::Status{client::StatusCode::Aborted, "nothing was held"});
              return;
            }
            session.release_async(told.key, told.token, [answers, told](client::Status status) {
              answers->told(told, status);
            });
          });
    }
  }

  std::vector<client::Session> waiters_;
  std::shared_ptr<Answers> answers_;  // nullptr: nothing was asked.
};

// Very many short sessions with a lock each are opened at once and forgotten together.
class Storm final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const std::uint32_t wanted = draw.between(200, 800);
    std::vector<client::Session> sessions;
    for (std::uint32_t number = 0; number < wanted; ++number) {
      auto session = open(world, kShortTtl);
      if (session.ok()) {
        sessions.push_back(std::move(session).value());
      }
    }
    auto answers = std::make_shared<Answers>(world.history, sessions.size());
    std::vector<Operation> asked;
    auto tokens = std::make_shared<std::vector<std::uint64_t>>(sessions.size());
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      asked.push_back(acquire_of(sessions[i], fresh_name("session"), AcquireKind::Try));
      sessions[i].acquire_async(asked[i].key,
                                {.wait = std::chrono::milliseconds{0}},
                                [answers, tokens, i, operation = asked[i]](auto grant) mutable {
                                  operation.token = grant.ok() ? grant.value().token : 0;
                                  (*tokens)[i] = operation.token;
                                  answers->told(operation, grant.status());
                                });
    }
    if (!answers->wait(std::chrono::seconds{20})) {
      return Status{StatusCode::DeadlineExceeded, "requests of a storm were never answered"};
    }
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      asked[i].token = (*tokens)[i];
      if (asked[i].token == 0) {
        sessions[i].detach();
      } else {
        abandon(world.history, sessions[i], asked[i]);
      }
    }
    felt_ = answers->granted();
    return std::to_string(felt_) + " sessions with a lock each forgotten at once";
  }

  std::chrono::milliseconds hold(Draw&) override { return 2 * kShortTtl; }

  Result<std::string> heal(LiveWorld&) override { return std::string{}; }

  std::uint64_t felt() const override { return felt_; }

 private:
  std::uint64_t felt_ = 0;
};

// A client process stands still for longer than its sessions live, with locks in its hands.
class StoppedClient final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    which_ = draw.below(static_cast<std::uint32_t>(world.clients.size()));
    world.clients[which_].signal(SIGSTOP);
    hold_ = world.session_ttl + draw.milliseconds(1000, 3000);
    return "client process " + std::to_string(which_ + 1) +
           " stopped beyond the TTL of its sessions";
  }

  std::chrono::milliseconds hold(Draw&) override { return hold_; }

  Result<std::string> heal(LiveWorld& world) override {
    world.clients[which_].signal(SIGCONT);
    return std::string{};
  }

  std::uint64_t felt() const override { return 1; }

 private:
  std::uint32_t which_ = 0;
  std::chrono::milliseconds hold_{0};
};

// Bytes that are no protocol, and connections that say half a thing and no more, at every port.
class Strangers final : public Fault {
 public:
  ~Strangers() override { close_all(); }

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    for (std::uint32_t node = 1; node <= world.node_count(); ++node) {
      if (!world.alive(node)) {
        continue;  // Another fault has it.
      }
      met_.push_back(node);
      const std::string endpoint = world.cluster.endpoints()[node - 1];
      const auto client =
          static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
      for (const std::uint16_t port :
           {client, world.cluster.peer_port(node), world.cluster.metrics_port(node)}) {
        for (std::uint32_t count = draw.between(5, 20); count > 0; --count) {
          speak_to(port, draw);
        }
      }
    }
    return std::to_string(felt_) + " strangers at the ports of all nodes";
  }

  Result<std::string> heal(LiveWorld& world) override {
    close_all();
    for (const std::uint32_t node : met_) {
      const auto& others = world.may_end;
      const bool judged = std::find(others.begin(), others.end(), node) == others.end();
      if (judged && !world.alive(node)) {
        return Status{StatusCode::Internal, name_nodes({node}) + " fell to a stranger"};
      }
    }
    return std::string{};
  }

  std::uint64_t felt() const override { return felt_; }

 private:
  void speak_to(std::uint16_t port, Draw& draw) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0) {
      return;
    }
    fds_.push_back(fd);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return;
    }
    // The right magic half of the time, so that more than the first check is met.
    std::string bytes = draw.one_in(2) ? "" : draw.one_in(2) ? "GCRP\x01" : "GCFN\x01";
    for (std::uint32_t count = draw.between(0, 300); count > 0; --count) {
      bytes.push_back(static_cast<char>(draw.below(256)));
    }
    felt_ += ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 1u : 0u;
  }

  void close_all() {
    for (const int fd : fds_) {
      ::close(fd);
    }
    fds_.clear();
  }

  std::vector<std::uint32_t> met_;
  std::vector<int> fds_;
  std::uint64_t felt_ = 0;
};

// Processes that misuse the memory that nodes share with them. Each node loses the connections of
// these and nothing else, counts what cannot be, and gives their memory back.
class Intruders final : public Fault {
 public:
  explicit Intruders(RingAttack attack) : attack_(attack) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    length_ = draw.milliseconds(1500, 4000);
    attackers_.emplace(world.attacker_command);
    for (std::uint32_t node = 1; node <= world.node_count(); ++node) {
      const auto& others = world.claimed;
      const auto metrics = world.alive(node)
                               ? read_ring_metrics(world.cluster.metrics_port(node))
                               : Result<RingMetrics>{Status{StatusCode::Unavailable, "down"}};
      if (!metrics.ok() || std::find(others.begin(), others.end(), node) != others.end()) {
        continue;  // Another fault has it.
      }
      met_.emplace(node, Met{world.cluster.pid(node), metrics.value()});
      GCOORD_TRY_STATUS(attackers_->start({.path = ring_path(world.cluster, node).string(),
                                           .attack = attack_,
                                           .seed = draw.word(),
                                           .length = length_}));
    }
    return std::string{ring_attack_name(attack_)} + " in the shared memory of " +
           std::to_string(met_.size()) + " nodes";
  }

  std::chrono::milliseconds hold(Draw&) override { return length_; }

  Result<std::string> heal(LiveWorld& world) override {
    GCOORD_TRY(counts_, attackers_->await_ends(kEndTimeout));
    std::uint64_t refused = 0;
    for (const auto& [node, met] : met_) {
      const auto& others = world.may_end;
      if (std::find(others.begin(), others.end(), node) != others.end()) {
        continue;
      }
      if (!world.alive(node) || world.cluster.pid(node) != met.pid) {
        return Status{StatusCode::Internal, name_nodes({node}) + " fell to a client"};
      }
      GCOORD_TRY(const RingMetrics metrics, await_leave(world, node));
      refused += metrics.refused() - met.metrics.refused();
    }
    if (attack_ == RingAttack::Scribble && counts_.ended > 0 && refused == 0) {
      return Status{StatusCode::Internal, "connections that were ended were not counted"};
    }
    return fmt::format("{} connections, {} ended by nodes, {} held back, {} refusals counted",
                       counts_.rings,
                       counts_.ended,
                       counts_.held_back,
                       refused);
  }

  std::uint64_t felt() const override { return counts_.rings; }

 private:
  struct Met {
    pid_t pid = -1;
    RingMetrics metrics;
  };

  static constexpr std::chrono::seconds kEndTimeout{30};

  // Until no more clients have rings than client processes run.
  static Result<RingMetrics> await_leave(LiveWorld& world, std::uint32_t node) {
    const auto until = std::chrono::steady_clock::now() + kEndTimeout;
    for (;;) {
      GCOORD_TRY(const RingMetrics metrics, read_ring_metrics(world.cluster.metrics_port(node)));
      if (metrics.clients <= world.clients.size()) {
        return metrics;
      }
      if (std::chrono::steady_clock::now() > until) {
        return Status{StatusCode::Internal,
                      name_nodes({node}) + " keeps the rings of clients that have gone"};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

  RingAttack attack_;
  std::chrono::milliseconds length_{0};
  std::map<std::uint32_t, Met> met_;
  std::optional<RingAttackers> attackers_;
  RingAttackCounts counts_;
};

FaultClass intruders(std::string_view name, std::string_view table, RingAttack attack) {
  return {name, table, false, [attack] { return std::make_unique<Intruders>(attack); }, {}};
}

}  // namespace

std::vector<FaultClass> client_faults() {
  return {{"waiter-herd", "31", false, [] { return std::make_unique<Herd>(); }, {}},
          {"session-storm", "32", false, [] { return std::make_unique<Storm>(); }, {}},
          {"stopped-client", "16", true, [] { return std::make_unique<StoppedClient>(); }, {}},
          {"strangers", "28, 30", true, [] { return std::make_unique<Strangers>(); }, {}},
          intruders("ring-scribble", "41", RingAttack::Scribble),
          intruders("ring-death", "42", RingAttack::DieInWrite),
          intruders("ring-unread", "30", RingAttack::NeverRead)};
}

}  // namespace gcoord::chaos
