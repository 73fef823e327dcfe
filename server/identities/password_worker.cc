#include "server/identities/password_worker.h"

#include "common/host/background_thread.h"
#include "common/host/thread_name.h"
#include "security/credentials/password.h"

#include <utility>

namespace gcoord::server {

PasswordWorker::PasswordWorker(std::function<void()> wake) : wake_(std::move(wake)) {}

PasswordWorker::~PasswordWorker() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
    for (Job& job : jobs_) {
      security::wipe(job.password);
    }
    jobs_.clear();
  }
  came_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// A short password stays where it was moved from, so each place is wiped.
bool PasswordWorker::check(std::string verifier, std::string password, Waiter waiter) {
  const bool queued = submit({std::move(verifier),
                              std::move(password),
                              std::move(waiter.done),
                              {},
                              std::move(waiter.abandoned)});
  security::wipe(password);
  return queued;
}

bool PasswordWorker::hash(std::string password, std::function<void(Result<std::string>)> done) {
  const bool queued = submit({{}, std::move(password), {}, std::move(done), {}});
  security::wipe(password);
  return queued;
}

bool PasswordWorker::submit(Job job) {
  {
    const std::lock_guard lock{mutex_};
    if (jobs_.size() >= kQueueMax) {
      security::wipe(job.password);
      return false;
    }
    jobs_.push_back(std::move(job));
  }
  security::wipe(job.password);
  if (!thread_.joinable()) {
    thread_ = std::thread{[this] { run(); }};
  }
  came_.notify_one();
  return true;
}

void PasswordWorker::run() {
  name_this_thread("passwords");
  make_background_thread();
  std::unique_lock lock{mutex_};
  while (true) {
    came_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (ending_) {
      return;
    }
    Job job = std::move(jobs_.front());
    security::wipe(jobs_.front().password);
    jobs_.pop_front();
    lock.unlock();
    std::function<void()> done = work(job);
    security::wipe(job.password);
    lock.lock();
    done_.push_back(std::move(done));
    lock.unlock();
    wake_();
    lock.lock();
  }
}

std::function<void()> PasswordWorker::work(Job& job) const {
  if (job.checked) {
    const bool waited_for =
        job.abandoned == nullptr || !job.abandoned->load(std::memory_order_relaxed);
    Outcome outcome = Outcome::NotChecked;
    if (waited_for) {
      outcome =
          security::check_password(job.verifier, job.password) ? Outcome::Right : Outcome::Wrong;
    }
    return [done = std::move(job.checked), outcome] { done(outcome); };
  }
  return
      [done = std::move(job.hashed), made = security::hash_password(job.password)] { done(made); };
}

bool PasswordWorker::take_done() {
  std::vector<std::function<void()>> done;
  {
    const std::lock_guard lock{mutex_};
    done.swap(done_);
  }
  for (const auto& each : done) {
    each();
  }
  return !done.empty();
}

std::size_t PasswordWorker::queued() const {
  const std::lock_guard lock{mutex_};
  return jobs_.size();
}

}  // namespace gcoord::server
