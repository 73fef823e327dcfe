#include "cli/bench/load/open_loop.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// From the decision to run to the first operation, so that every thread is there by then.
constexpr milliseconds kLead{20};

// For what was due near the end while all clients were busy.
constexpr milliseconds kGrace{1000};

// Beyond the timeout of a request its answer is on its way through this program.
constexpr milliseconds kAnswerSlack{1000};

// Linux lets a sleep end up to 50 us late; this asks for a microsecond.
constexpr unsigned long kTimerSlackNs = 1000;

// Bounds of what counts as no limit of this program.
constexpr milliseconds kLateMax{1};
constexpr double kThreadMax = 0.9;
constexpr double kMachineMax = 0.95;
constexpr double kWaitedMax = 0.01;

}  // namespace

double OpenLoopResult::answered_per_s() const {
  return seconds > 0 ? static_cast<double>(record.answered_in_time()) / seconds : 0;
}

// The cause first, then what comes of it: a busy core makes this program late.
Bound OpenLoopResult::bound() const {
  if (own.busiest_thread > kThreadMax) {
    return Bound::Thread;
  }
  if (own.machine_busy > kMachineMax) {
    return Bound::Machine;
  }
  if (late.at_percent(99) > kLateMax) {
    return Bound::Late;
  }
  const bool waited =
      static_cast<double>(waited_for_client) > kWaitedMax * static_cast<double>(due);
  return waited ? Bound::Clients : Bound::None;
}

OpenLoop::OpenLoop(const BenchPlan& plan, Work& work)
    : plan_(plan),
      work_(work),
      schedule_(plan.rate, plan.length),
      keys_(plan.distribution, plan.keys),
      lanes_(plan.clients) {
  const std::uint32_t threads = std::clamp(plan.threads, 1u, plan.clients);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    auto group = std::make_unique<Group>(plan.length);
    group->share = {thread, threads};
    group->count = group->share.of(schedule_.count());
    groups_.push_back(std::move(group));
  }
  for (std::uint32_t client = 0; client < plan.clients; ++client) {
    group_of(client).idle.push_back(client);
  }
  work_.report_to(*this);
}

Status OpenLoop::warm_up() {
  warming_.store(true);
  for (std::uint32_t client = 0; client < plan_.clients && !stopped_.load(); ++client) {
    {
      Group& group = group_of(client);
      const std::lock_guard lock(group.mutex);
      group.idle.pop_front();
      ++group.busy;
    }
    work_.begin(client, client % plan_.keys);
  }
  const Moment until = steady_clock::now() + plan_.timeout + kAnswerSlack;
  Status first;
  for (const auto& group : groups_) {
    await_answers(*group, until);
    const std::lock_guard lock(group->mutex);
    if (first.ok()) {
      first = group->first_failure;
    }
    if (first.ok() && group->busy > 0 && !stopped_.load()) {
      first = Status{StatusCode::Unavailable, "an operation had no end before the run"};
    }
  }
  warming_.store(false);
  return stopped_.load() ? Status{} : first;
}

OpenLoopResult OpenLoop::run() {
  start_ = steady_clock::now() + kLead;
  OpenLoopResult result(plan_.length);
  {
    std::vector<std::jthread> senders;
    for (const auto& group : groups_) {
      senders.emplace_back([this, each = group.get()] { send(*each); });
    }
    const OwnLoadMeter meter;
    await_length();
    result.own = meter.read();  // While the senders are there to be seen.
  }
  result.stopped = stopped_.load();
  const auto ran = std::chrono::duration<double>(since_start(steady_clock::now())).count();
  const auto length = std::chrono::duration<double>(plan_.length).count();
  result.seconds = result.stopped ? std::clamp(ran, 0.0, length) : length;
  const Moment until = steady_clock::now() + plan_.timeout + kAnswerSlack;
  for (const auto& group : groups_) {
    await_answers(*group, until);
  }
  const Moment now = steady_clock::now();
  for (const auto& group : groups_) {
    collect(*group, now, result);
  }
  return result;
}

void OpenLoop::await_length() {
  std::unique_lock lock(stop_mutex_);
  stop_called_.wait_until(lock, start_ + plan_.length, [this] { return stopped_.load(); });
}

void OpenLoop::send(Group& group) {
  static_cast<void>(::prctl(PR_SET_TIMERSLACK, kTimerSlackNs));
  std::unique_lock lock(group.mutex);
  while (!stopped_.load() && group.arrived < group.count) {
    const Moment due = start_ + schedule_.due_at(group.share.number(group.arrived));
    if (group.sender.wait_until(lock, due, [this] { return stopped_.load(); })) {
      break;
    }
    note_arrivals(group, steady_clock::now());
    lock.unlock();
    begin_what_is_due(group);
    lock.lock();
  }
  group.draining = true;
  group.sender.wait_until(lock, start_ + plan_.length + kGrace, [this, &group] {
    return stopped_.load() || group.begun == group.arrived;
  });
  group.closed = true;
}

void OpenLoop::note_arrivals(Group& group, Moment now) {
  const std::uint64_t due =
      std::min(group.count, group.share.of(schedule_.due_by(since_start(now))));
  for (; group.arrived < due; ++group.arrived) {
    const nanoseconds due_at = schedule_.due_at(group.share.number(group.arrived));
    group.late.record(since_start(now) - due_at);
    group.waited += group.idle.size() <= group.arrived - group.begun ? 1 : 0;
  }
}

std::optional<OpenLoop::Next> OpenLoop::take_next(Group& group) {
  const std::lock_guard lock(group.mutex);
  if (group.closed || stopped_.load() || group.idle.empty() || group.begun == group.arrived) {
    return std::nullopt;
  }
  const Next next{group.idle.front(), group.share.number(group.begun)};
  group.idle.pop_front();
  ++group.begun;
  ++group.busy;
  lanes_[next.client] = {next.number, true};
  if (group.draining && group.begun == group.arrived) {
    group.sender.notify_all();
  }
  return next;
}

// An operation may end before begin() returns; then this very loop takes the client again, rather
// than one call within the other for each operation that is due.
void OpenLoop::begin_what_is_due(Group& group) {
  thread_local bool beginning = false;
  if (beginning) {
    return;
  }
  beginning = true;
  while (const auto next = take_next(group)) {
    work_.begin(next->client, keys_.key_of(next->number));
  }
  beginning = false;
}

void OpenLoop::on_end(std::uint32_t client, Moment at, const Status& status) {
  Group& group = group_of(client);
  {
    const std::lock_guard lock(group.mutex);
    group.idle.push_back(client);
    --group.busy;
    Lane& lane = lanes_[client];
    if (warming_.load()) {
      group.first_failure = group.first_failure.ok() ? status : group.first_failure;
    } else if (lane.busy && !group.over && (status.ok() || !stopped_.load())) {
      // A failure after stop() is the stop's.
      const nanoseconds due = schedule_.due_at(lane.number);
      group.record.record(since_start(at), since_start(at) - due, status);
      lane.busy = false;
    }
    if (group.busy == 0) {
      group.answered.notify_all();
    }
  }
  if (!warming_.load()) {
    begin_what_is_due(group);
  }
}

void OpenLoop::await_answers(Group& group, Moment until) {
  std::unique_lock lock(group.mutex);
  group.answered.wait_until(lock, until, [&group] { return group.busy == 0; });
}

bool OpenLoop::all_due() {
  return std::ranges::all_of(groups_, [](const auto& group) {
    const std::lock_guard lock(group->mutex);
    return group->draining;
  });
}

void OpenLoop::collect(Group& group, Moment now, OpenLoopResult& result) {
  const std::lock_guard lock(group.mutex);
  group.over = true;
  for (std::uint64_t index = group.begun; index < group.arrived; ++index) {
    group.record.record_unfinished(since_start(now) - schedule_.due_at(group.share.number(index)));
  }
  for (std::size_t client = 0; client < lanes_.size(); ++client) {
    if (&group_of(static_cast<std::uint32_t>(client)) == &group && lanes_[client].busy) {
      group.record.record_unfinished(since_start(now) - schedule_.due_at(lanes_[client].number));
    }
  }
  result.due += group.arrived;
  result.waited_for_client += group.waited;
  result.record.add(group.record);
  result.late.add(group.late);
}

void OpenLoop::stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopped_.store(true);
  }
  stop_called_.notify_all();
  for (const auto& group : groups_) {
    const std::lock_guard lock(group->mutex);
    group->sender.notify_all();
  }
  work_.stop();
}

}  // namespace gcoord::cli
