#include "chaos/demo/worker.h"

#include "chaos/demo/lane.h"
#include "chaos/demo/recorded_session.h"
#include "chaos/process/cluster_watch.h"
#include "common/random.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kForgottenNames = 4;
constexpr std::chrono::milliseconds kForgottenTtl{1000};
constexpr std::chrono::milliseconds kForgottenWait{4000};
constexpr std::chrono::milliseconds kForgottenHold{100};

// A lease is renewed so often, each time after a part of its TTL.
constexpr std::uint32_t kLeaseRenewals = 3;

constexpr std::chrono::seconds kKeeperTtl{10};

// Before a session is opened again.
constexpr std::chrono::milliseconds kErrorPause{50};

// Beyond every deadline of a request that a lane may have under way.
constexpr std::chrono::seconds kLanesEnd{30};

// Lanes that asked to be called later, and a thread that calls them.
class Alarm {
 public:
  explicit Alarm(void (Lane::*ring)()) : ring_(ring), thread_([this] { run(); }) {}

  ~Alarm() {
    {
      const std::lock_guard lock{mutex_};
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void call(Lane& lane, std::chrono::milliseconds delay) {
    {
      const std::lock_guard lock{mutex_};
      due_.push_back({Clock::now() + delay, &lane});
      std::push_heap(due_.begin(), due_.end(), later);
    }
    changed_.notify_all();
  }

 private:
  struct Due {
    Clock::time_point at;
    Lane* lane;
  };

  static bool later(const Due& a, const Due& b) { return a.at > b.at; }

  void run() {
    std::unique_lock lock{mutex_};
    while (!ended_) {
      if (due_.empty()) {
        changed_.wait(lock);
      } else if (due_.front().at > Clock::now()) {
        changed_.wait_until(lock, due_.front().at);
      } else {
        std::pop_heap(due_.begin(), due_.end(), later);
        Lane* lane = due_.back().lane;
        due_.pop_back();
        lock.unlock();
        (lane->*ring_)();
        lock.lock();
      }
    }
  }

  void (Lane::*ring_)();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Due> due_;  // A heap, the earliest in front.
  bool ended_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

class Worker {
 public:
  Worker(const WorkerOptions& options,
         client::Client client,
         HistoryWriter& history,
         const LanePlan& plan)
      : options_(options),
        plan_(plan),
        client_(std::move(client)),
        history_(history),
        around_{.client = client_,
                .history = history,
                .process = options.number,
                .seed = options.seed,
                .stopping = stopping_,
                .plan = plan_,
                .call_later = [this](Lane& lane,
                                     std::chrono::milliseconds delay) { alarm_.call(lane, delay); },
                .reopen_later = [this](Lane& lane) { reopener_.call(lane, kErrorPause); },
                .ended = [this] { on_lane_ended(); }} {}

  Status run() {
    GCOORD_TRY_STATUS(open());
    std::cout << "ready" << std::endl;
    const auto until = Clock::now() + options_.length;
    running_ = static_cast<std::uint32_t>(lanes_.size());
    for (const auto& lane : lanes_) {
      lane->resume();
    }
    forget_locks(until);
    stopping_.store(true, std::memory_order_relaxed);
    wait_for_lanes();
    check_keeper();
    for (const auto& lane : lanes_) {
      lane->close();
    }
    std::cout << "done" << std::endl;
    return Status{};
  }

 private:
  Status open() {
    if (const auto all = client_.wait_for_all_nodes(std::chrono::seconds{10}); !all.ok()) {
      return from_client(all);
    }
    for (std::uint32_t number = 0; number < options_.lanes; ++number) {
      lanes_.push_back(std::make_unique<Lane>(around_, number));
      if (const auto opened = lanes_.back()->open(); !opened.ok()) {
        return from_client(opened);
      }
    }
    keeper_certain_ = std::make_shared<std::atomic<std::uint64_t>>(0);
    auto session = open_recorded_session(client_,
                                         history_,
                                         {.process = options_.number,
                                          .ttl = kKeeperTtl,
                                          .lost = nullptr,
                                          .certain_until_ns = keeper_certain_});
    if (!session.ok()) {
      return from_client(session.status());
    }
    keeper_session_.push_back(std::move(session).value());
    return take_keeper();
  }

  Status take_keeper() {
    keeper_ = {.process = options_.number,
               .op = Op::Acquire,
               .kind = AcquireKind::Lock,
               .key = plan_.prefix + "/keeper/" + std::to_string(options_.number),
               .session = keeper_session_.front().id(),
               .call_ns = history_now_ns()};
    auto lock = keeper_session_.front().acquire(keeper_.key);
    if (!lock.ok()) {
      return from_client(lock.status());
    }
    lock.value().detach();
    keeper_.token = lock.value().fence();
    keeper_.return_ns = history_now_ns();
    history_.write(keeper_);
    return Status{};
  }

  void wait_for_lanes() {
    std::unique_lock lock{mutex_};
    if (!all_ended_.wait_for(lock, kLanesEnd, [this] { return running_ == 0; })) {
      std::cerr << "gcoord-demo worker: an operation got no answer" << std::endl;
      std::_Exit(1);  // Its answer may still come, so nothing that it uses may be taken down.
    }
  }

  // The keeper was held through everything; its grant must still stand.
  void check_keeper() {
    keeper_.op = Op::Check;
    keeper_.kind = AcquireKind::None;
    keeper_.expected = keeper_session_.front().alive() ? TokenState::Valid : TokenState::None;
    keeper_.call_ns = history_now_ns();
    const auto verdict = client_.check(keeper_.key, keeper_.token);
    keeper_.return_ns = history_now_ns();
    keeper_.outcome = outcome_of(verdict.status());
    keeper_.verdict = verdict.ok() && verdict.value() == client::Verdict::Valid ? TokenState::Valid
                                                                                : TokenState::Past;
    history_.write(keeper_);
    keeper_.op = Op::Release;
    keeper_.call_ns = history_now_ns();
    keeper_.outcome = outcome_of(keeper_session_.front().release(keeper_.key, keeper_.token));
    keeper_.return_ns = history_now_ns();
    history_.write(keeper_);
    keeper_session_.clear();
  }

  // Takes locks in short sessions and lets them expire, one after another, until the end.
  void forget_locks(Clock::time_point until) {
    for (std::uint64_t number = options_.number; Clock::now() + kForgottenWait / 4 < until;
         ++number) {
      if (const auto until_ns = certain_until_ns(keeper_session_.front()); until_ns != 0) {
        keeper_certain_->store(until_ns);
      }
      auto session = open_short_session();
      if (!session.has_value()) {
        continue;
      }
      if (options_.leases && number % 2 == 0) {
        lease_one(*session, plan_.prefix + "/lease/" + std::to_string(number));
      } else {
        forget_one(*session, forgotten_name(plan_, number % kForgottenNames));
      }
    }
    std::this_thread::sleep_until(until);
  }

  // One that is left to lapse; empty after a pause if there is none to be had.
  std::optional<client::Session> open_short_session() {
    auto opened = client_.open_session({.ttl = kForgottenTtl});
    if (!opened.ok()) {
      std::this_thread::sleep_for(kForgottenHold);
      return std::nullopt;
    }
    return std::move(opened).value();
  }

  // What is about to be asked for.
  Operation acquisition(const client::Session& session,
                        const std::string& name,
                        AcquireKind kind) const {
    return {.process = options_.number,
            .op = Op::Acquire,
            .kind = kind,
            .key = name,
            .session = session.id(),
            .call_ns = history_now_ns()};
  }

  // A lease: taken, renewed, asked about, and left to lapse.
  void lease_one(client::Session& session, const std::string& name) {
    Operation operation = acquisition(session, name, AcquireKind::Try);
    operation.ttl_ms = static_cast<std::uint64_t>(kForgottenTtl.count());
    auto lock = session.try_acquire(name);
    operation.token = lock.ok() ? lock.value().fence() : 0;
    note(operation, lock.status());
    for (std::uint32_t renewal = 0; lock.ok() && renewal < kLeaseRenewals; ++renewal) {
      std::this_thread::sleep_for(kForgottenTtl / 4);
      operation.op = Op::Renew;
      operation.kind = AcquireKind::None;
      operation.call_ns = history_now_ns();
      note(operation, session.renew());
      check_lease(operation, session);
    }
    if (lock.ok()) {
      lock.value().detach();
    }
    session.detach();
  }

  void check_lease(Operation operation, const client::Session& session) {
    operation.op = Op::Check;
    operation.ttl_ms = 0;
    operation.call_ns = history_now_ns();
    const auto verdict = client_.check(operation.key, operation.token);
    const bool valid = verdict.ok() && verdict.value() == client::Verdict::Valid;
    operation.verdict = valid ? TokenState::Valid : TokenState::Past;
    // Still alive by the holder's own clock after the answer: so it was when the question came.
    operation.expected = session.alive() ? TokenState::Valid : TokenState::None;
    note(operation, verdict.status());
  }

  void note(Operation& operation, const client::Status& status) {
    operation.return_ns = history_now_ns();
    operation.outcome = outcome_of(status);
    operation.reason = reason_of(status);
    history_.write(operation);
  }

  void forget_one(client::Session& session, const std::string& name) {
    Operation operation = acquisition(session, name, AcquireKind::Wait);
    auto lock = session.acquire(name, {.wait = kForgottenWait});
    operation.token = lock.ok() ? lock.value().fence() : 0;
    note(operation, lock.status());
    if (!lock.ok()) {
      return;
    }
    lock.value().detach();
    const std::uint64_t certain_ns = certain_until_ns(session);
    std::this_thread::sleep_for(kForgottenHold);
    operation.op = Op::Abandon;
    operation.kind = AcquireKind::None;
    // A process that was stopped meanwhile says from when on the lock may be anybody's.
    operation.return_ns = std::max(certain_ns, certain_until_ns(session));
    operation.call_ns = std::min(history_now_ns(), operation.return_ns);
    session.detach();
    history_.write(operation);
  }

  void on_lane_ended() {
    const std::lock_guard lock{mutex_};
    --running_;
    all_ended_.notify_all();
  }

  const WorkerOptions& options_;
  const LanePlan& plan_;
  client::Client client_;
  HistoryWriter& history_;
  std::atomic<bool> stopping_{false};
  LaneSurroundings around_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<client::Session> keeper_session_;  // At most one: a Session has no empty state.
  std::shared_ptr<std::atomic<std::uint64_t>> keeper_certain_;
  Operation keeper_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::uint32_t running_ = 0;
  Alarm alarm_{&Lane::resume};
  Alarm reopener_{&Lane::reopen};
};

}  // namespace

Status run_worker(const WorkerOptions& options) {
  GCOORD_TRY(const auto history, HistoryWriter::open(options.history));
  client::ClientOptions client_options;
  client_options.endpoints = options.endpoints;
  client_options.tls = options.tls;
  client_options.client_name =
      "gcoord-" + options.plan.prefix + "-" + std::to_string(options.number);
  auto client = client::Client::connect(client_options);
  if (!client.ok()) {
    return from_client(client.status());
  }
  LanePlan plan = options.plan;
  std::unique_ptr<GuardedStore> store;
  if (!options.store.empty()) {
    GCOORD_TRY(store, GuardedStore::open(options.store));
    plan.store = store.get();
  }
  Worker worker{options, std::move(client).value(), *history, plan};
  GCOORD_TRY_STATUS(worker.run());
  if (!history->close()) {
    return Status{StatusCode::Unavailable, "the history could not be written"};
  }
  return Status{};
}

}  // namespace gcoord::chaos
