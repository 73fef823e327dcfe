#include "cli/load/queue_load.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Long enough to be kept alive beside a queue that is being made; what is left at the end lives so
// long.
constexpr milliseconds kTtl{60'000};

// Between two looks at how long the queue is by now.
constexpr milliseconds kLook{1};

client::Status stopped() {
  return {client::StatusCode::Cancelled, "stopped"};
}

}  // namespace

client::Status QueueLoad::open_sessions() {
  const std::uint32_t count = 1 + (options_.waiters + kWaitsPerSession - 1) / kWaitsPerSession;
  std::vector<client::Future<client::Result<client::Session>>> opening;
  for (std::uint32_t i = 0; i < count; ++i) {
    opening.push_back(client_.open_session_async({.ttl = kTtl}));
  }
  for (auto& each : opening) {
    auto session = std::move(each).get();
    if (!session.ok()) {
      return session.status();
    }
    sessions_.push_back(std::move(session).value());
  }
  return {};
}

client::Status QueueLoad::await_waiters(std::uint32_t count) {
  while (!stopped_.load()) {
    const auto lock = client_.get(options_.name);
    if (!lock.ok()) {
      return lock.status();
    }
    if (lock.value().waiter_count >= count) {
      return {};
    }
    std::this_thread::sleep_for(kLook);
  }
  return stopped();
}

// One client's requests for one shard reach its leader in the order of the calls.
client::Status QueueLoad::enqueue() {
  const auto begun = steady_clock::now();
  for (std::uint32_t i = 0; i < options_.waiters; ++i) {
    client::Session& session = sessions_[1 + i / kWaitsPerSession];
    session.acquire_async(options_.name, {}, [this, i](const client::Result<client::Grant>& grant) {
      on_granted(i, grant);
    });
    if ((i + 1) % options_.burst == 0 || i + 1 == options_.waiters) {
      if (client::Status known = await_waiters(i + 1); !known.ok()) {
        return known;
      }
    }
  }
  results_.enqueue_seconds = std::chrono::duration<double>(steady_clock::now() - begun).count();
  return {};
}

void QueueLoad::release(client::Session& session, std::uint64_t token) {
  released_at_ = steady_clock::now();
  ++results_.releases;
  session.release_async(options_.name, token, [this](const client::Status& status) {
    if (!status.ok()) {
      const std::lock_guard lock{mutex_};
      failure_ = failure_.ok() ? status : failure_;
      ended_ = true;
      over_.notify_all();
    }
  });
}

void QueueLoad::on_granted(std::uint32_t waiter, const client::Result<client::Grant>& grant) {
  if (!grant.ok()) {
    return;  // It goes with its session, when all is measured.
  }
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - released_at_);
  results_.out_of_order += waiter == results_.grants ? 0 : 1;
  results_.tokens_out_of_order += grant.value().token > last_token_ ? 0 : 1;
  last_token_ = grant.value().token;
  ++results_.grants;
  results_.handover_us.push_back(static_cast<std::uint32_t>(us.count()));
  if (results_.grants == options_.interlude_grants && options_.interlude) {
    options_.interlude();
  }
  if (stopped_.load()) {
    return;
  }
  if (results_.grants < options_.handovers) {
    return release(sessions_[1 + waiter / kWaitsPerSession], grant.value().token);
  }
  const std::lock_guard lock{mutex_};
  ended_ = true;
  over_.notify_all();
}

client::Status QueueLoad::queue_up() {
  if (client::Status opened = open_sessions(); !opened.ok()) {
    return opened;
  }
  auto first = sessions_.front().try_acquire(options_.name);
  if (!first.ok()) {
    return first.status();
  }
  first_token_ = first.value().fence();
  last_token_ = first_token_;
  first.value().detach();
  const client::ClientStatistics before = client_.statistics();
  client::Status queued = enqueue();
  const client::ClientStatistics after = client_.statistics();
  results_.order_known = before.retries == after.retries && before.redirects == after.redirects &&
                         before.reconnects == after.reconnects;
  return queued;
}

void QueueLoad::stop() {
  const std::lock_guard lock{mutex_};
  stopped_.store(true);
  ended_ = true;
  over_.notify_all();
}

void QueueLoad::close() {
  std::vector<client::Future<client::Status>> closing;
  for (client::Session& session : sessions_) {
    if (sessions_.size() > kSessionsClosedMax) {
      session.detach();
    } else {
      closing.push_back(session.close_async());
    }
  }
  for (auto& each : closing) {
    static_cast<void>(each.get());  // One that failed ends with its TTL.
  }
}

client::Result<QueueLoadResults> QueueLoad::hand_on() {
  release(sessions_.front(), first_token_);
  {
    std::unique_lock lock{mutex_};
    if (!over_.wait_for(lock, options_.patience, [this] { return ended_; })) {
      return client::Status{client::StatusCode::DeadlineExceeded, "the lock was not handed over"};
    }
    if (!failure_.ok()) {
      return failure_;
    }
  }
  if (stopped_.load()) {
    return stopped();
  }
  const auto left = client_.get(options_.name);
  if (!left.ok()) {
    return left.status();
  }
  results_.waiters_left = left.value().waiter_count;
  // Closing each of thousands of sessions would look through all that is under way, each time.
  for (client::Session& session : sessions_) {
    session.detach();
  }
  QueueLoadResults results = results_;
  std::ranges::sort(results.handover_us);
  return results;
}

}  // namespace gcoord::cli
