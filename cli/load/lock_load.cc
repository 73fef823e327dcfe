#include "cli/load/lock_load.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gcoord::cli {

namespace {

// A wait that has an end, so that a run has one too.
constexpr std::chrono::milliseconds kWaitMax{30'000};

std::uint32_t to_us(std::uint64_t ns) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ns / 1000, 0xffff'ffffu));
}

// Why it failed, as histories say it: only what tells something about the lock.
const char* reason_of(const client::Status& status) {
  switch (status.detail()) {
    case client::kDetailLockBusy:
      return "busy";
    case client::kDetailLockNotHeld:
    case client::kDetailTokenStale:
      return "not_held";
    default:
      return nullptr;
  }
}

std::string arguments_of(std::uint64_t session, const client::Status& status, bool already_held) {
  std::string args = "{\"session\":\"" + std::to_string(session) + "\"";
  if (const char* reason = reason_of(status)) {
    args.append(",\"reason\":\"").append(reason).append("\"");
  }
  return args + (already_held ? ",\"already_held\":true}" : "}");
}

// All times are of one clock of the machine, so that histories of several programs merge into one.
std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// A session whose end is worth a line.
struct SessionLoss {
  History* history = nullptr;
  std::uint32_t process = 0;
  std::atomic<std::uint64_t> session{0};
};

// From then on its locks may be anybody's, so a history that lacked this would look wrong.
void write_loss(const SessionLoss& loss, client::SessionEvent event) {
  const std::uint64_t session = loss.session.load(std::memory_order_relaxed);
  if (event != client::SessionEvent::Expired || loss.history == nullptr || session == 0) {
    return;
  }
  const std::uint64_t now = now_ns();
  loss.history->write({loss.process,
                       "session_lost",
                       "",
                       arguments_of(session, client::Status{}, false),
                       now,
                       now,
                       "ok",
                       0});
}

}  // namespace

std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double percent) {
  if (sorted.empty()) {
    return 0;
  }
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

bool note_failure(LockLoadResults& results, const client::Status& status) {
  ++results.errors;
  if (results.first_error.empty()) {
    results.first_error = status.to_string();
  }
  return status.detail() == client::kDetailSessionExpired ||
         status.detail() == client::kDetailUnreachable;
}

LockLoad::LockLoad(LockLoadOptions options, History* history)
    : options_(std::move(options)), history_(history) {}

LockLoad::~LockLoad() = default;

client::Status LockLoad::open(client::Client& client) {
  for (std::uint32_t index = 0; index < options_.clients && !stopping_.load(); ++index) {
    // Not of this load: the event may come when it is gone, while the client is being closed.
    const auto loss = std::make_shared<SessionLoss>();
    loss->history = history_;
    loss->process = index * options_.pipeline;
    auto session = client.open_session(
        {options_.ttl, [loss](client::SessionEvent event) { write_loss(*loss, event); }});
    if (!session.ok()) {
      return session.status();
    }
    loss->session.store(session.value().id(), std::memory_order_relaxed);
    sessions_.push_back(std::move(session).value());
  }
  return client::Status{};
}

LockLoadResults LockLoad::run(std::chrono::milliseconds length) {
  for (std::uint32_t index = 0; index < sessions_.size(); ++index) {
    for (std::uint32_t lane = 0; lane < options_.pipeline; ++lane) {
      const std::string own = "/" + std::to_string(index) + "/" + std::to_string(lane);
      lanes_.push_back(
          std::make_unique<Lane>(Lane{&sessions_[index],
                                      index * options_.pipeline + lane,
                                      options_.prefix + (options_.shared_name ? "/shared" : own)}));
    }
  }
  busy_lanes_ = lanes_.size();
  const std::uint64_t started = now_ns();
  for (const auto& lane : lanes_) {
    acquire(*lane);
  }
  std::unique_lock lock(mutex_);
  idle_.wait_for(lock, length, [this] { return busy_lanes_ == 0 || stopping_.load(); });
  stopping_.store(true, std::memory_order_relaxed);  // Seen late by a lane costs one more pair.
  const double seconds = static_cast<double>(now_ns() - started) / 1e9;
  // Every request has a deadline, so this ends; nothing may call back into a load that is gone.
  idle_.wait(lock, [this] { return busy_lanes_ == 0; });
  LockLoadResults results = std::move(results_);
  results_ = {};
  lock.unlock();
  results.seconds = seconds;
  std::sort(results.acquire_us.begin(), results.acquire_us.end());
  std::sort(results.release_us.begin(), results.release_us.end());
  return results;
}

void LockLoad::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  idle_.notify_all();
  waits_.request_stop();
}

void LockLoad::close() {
  std::vector<client::Future<client::Status>> closing;
  for (client::Session& session : sessions_) {
    closing.push_back(session.close_async());
  }
  for (auto& each : closing) {
    static_cast<void>(std::move(each).get());  // One that failed ends with its TTL.
  }
}

void LockLoad::acquire(Lane& lane) {
  if (stopping_.load(std::memory_order_relaxed)) {
    finish_lane();
    return;
  }
  lane.called_ns = now_ns();
  // Who has a name of its own does not wait.
  const client::AcquireOptions how{.wait = kWaitMax,
                                   .stop = options_.shared_name ? &waits_end_ : nullptr};
  lane.session->acquire_async(
      lane.name, how, [this, &lane](const client::Result<client::Grant>& grant) {
        on_granted(lane, grant);
      });
}

void LockLoad::on_granted(Lane& lane, const client::Result<client::Grant>& grant) {
  const std::uint64_t returned = now_ns();
  const std::uint64_t token = grant.ok() ? grant.value().token : 0;
  if (history_ != nullptr) {
    history_->write({lane.process,
                     "acquire",
                     lane.name,
                     arguments_of(lane.session->id(),
                                  grant.ok() ? client::Status{} : grant.status(),
                                  grant.ok() && grant.value().already_held),
                     lane.called_ns,
                     returned,
                     outcome_of(grant.ok() ? client::Status{} : grant.status()),
                     token});
  }
  if (!grant.ok()) {
    if (!waits_end_.stop_requested()) {
      note_error(grant.status());
    }
    acquire(lane);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    results_.acquire_us.push_back(to_us(returned - lane.called_ns));
  }
  lane.called_ns = returned;
  lane.session->release_async(lane.name, token, [this, &lane, token](const client::Status& status) {
    on_released(lane, token, status);
  });
}

void LockLoad::on_released(Lane& lane, std::uint64_t token, const client::Status& status) {
  const std::uint64_t returned = now_ns();
  if (history_ != nullptr) {
    history_->write({lane.process,
                     "release",
                     lane.name,
                     arguments_of(lane.session->id(), status, false),
                     lane.called_ns,
                     returned,
                     outcome_of(status),
                     token});
  }
  if (status.ok()) {
    const std::lock_guard lock(mutex_);
    ++results_.pairs;
    results_.release_us.push_back(to_us(returned - lane.called_ns));
  } else {
    note_error(status);
  }
  acquire(lane);
}

void LockLoad::note_error(const client::Status& status) {
  const std::lock_guard lock(mutex_);
  if (note_failure(results_, status)) {
    stopping_.store(true, std::memory_order_relaxed);
  }
}

void LockLoad::finish_lane() {
  const std::lock_guard lock(mutex_);
  --busy_lanes_;
  idle_.notify_all();
}

}  // namespace gcoord::cli
