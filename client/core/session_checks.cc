#include "client/core/session_checks.h"

#include "client/core/session_impl.h"
#include "client/health/health_target.h"
#include "client/net/failure.h"
#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {

SessionChecks::SessionChecks(Core& core, SessionHealth health)
    : core_(core), health_(std::move(health)) {
  GCOORD_ASSERT(!health_.checks.empty());
  for (const HealthCheck& check : health_.checks) {
    entries_.push_back({.check = check});
  }
}

void SessionChecks::run_first(Passed passed) {
  passed_ = std::move(passed);
  end_with_client();
  look();
}

// At once if it is ending: then nothing runs.
void SessionChecks::end_with_client() {
  if (!std::exchange(ends_with_client_, true)) {
    core_.call_at_stop(weak_from_this(), [this] { give_up(); });
  }
}

// The client ends.
void SessionChecks::give_up() {
  stop();
  if (const Passed passed = std::exchange(passed_, {})) {
    passed(failure(protocol::ErrorCode::ClientClosed));
  }
}

void SessionChecks::bind(const std::shared_ptr<SessionRecord>& session) {
  GCOORD_ASSERT(!session->checks);
  session->checks = shared_from_this();
  session_ = session;
  end_with_client();
  look();
}

void SessionChecks::stop() {
  stopped_ = true;
  for (Entry& entry : entries_) {
    if (entry.probe != nullptr) {
      std::exchange(entry.probe, nullptr)->stop();
    }
  }
}

// What is due: runs that took too long, then runs that are to begin. Between the first runs and
// bind() there is nothing to begin.
void SessionChecks::look() {
  const TimePoint now = core_.clock().now();
  for (std::size_t index = 0; index < entries_.size() && !stopped_; ++index) {
    Entry& entry = entries_[index];
    if (entry.probe != nullptr && now >= entry.started + TimePoint{entry.check.timeout}) {
      std::exchange(entry.probe, nullptr)->stop();
      on_found(index,
               entry.run,
               false,
               "no result within " + std::to_string(entry.check.timeout.count()) + " ms");
    } else if (entry.probe == nullptr && now >= entry.next &&
               (passed_ ? !entry.passed_once : !session_.expired())) {
      start(index);
    }
  }
  arm();
}

void SessionChecks::start(std::size_t index) {
  Entry& entry = entries_[index];
  entry.started = core_.clock().now();
  entry.next = entry.started + TimePoint{entry.check.interval};
  const std::uint64_t run = ++entry.run;
  // By the mailbox, after which the core looks at what has become due.
  const auto found = [core = &core_, weak = weak_from_this(), index, run](bool passed,
                                                                          std::string evidence) {
    static_cast<void>(core->post([weak, index, run, passed, evidence = std::move(evidence)] {
      if (const auto self = weak.lock()) {
        self->on_found(index, run, passed, evidence);
      }
    }));
  };
  entry.probe = start_probe(core_.context(), entry.check, found);
}

void SessionChecks::on_found(std::size_t index,
                             std::uint64_t run,
                             bool passed,
                             const std::string& evidence) {
  Entry& entry = entries_[index];
  if (stopped_ || run != entry.run) {
    return;  // It was broken off meanwhile.
  }
  ++entry.run;
  entry.probe = nullptr;
  if (passed_) {
    on_first(index, passed, evidence);
  } else {
    count(index, passed, evidence);
  }
  arm();
}

void SessionChecks::on_first(std::size_t index, bool passed, const std::string& evidence) {
  entries_[index].passed_once = passed;
  if (!passed) {
    stop();
    return std::exchange(passed_,
                         {})(failure(protocol::ErrorCode::CheckFailing,
                                     health_check_text(entries_[index].check) + ": " + evidence));
  }
  if (std::ranges::all_of(entries_, &Entry::passed_once)) {
    std::exchange(passed_, {})(Status{});
  }
}

void SessionChecks::count(std::size_t index, bool passed, const std::string& evidence) {
  Entry& entry = entries_[index];
  const bool news = !passed || entry.failures_in_row != 0;
  const bool before = healthy();
  entry.failures_in_row = passed ? 0 : entry.failures_in_row + 1;
  entry.failing = entry.failures_in_row >= entry.check.failures;
  // Who is told finds the session so.
  const auto session = session_.lock();
  if (session != nullptr) {
    session->withheld.store(!healthy(), std::memory_order_relaxed);
  }
  if (news && health_.on_report) {
    health_.on_report({index, passed, entry.failures_in_row, healthy(), evidence});
  }
  if (healthy() != before) {
    decide(healthy());
  }
}

void SessionChecks::decide(bool healthy) {
  const auto session = session_.lock();
  if (session == nullptr || session->ended.load(std::memory_order_relaxed)) {
    return stop();
  }
  if (healthy) {
    core_.keeper().send_soon();
  } else if (health_.on_unhealthy == UnhealthyAction::Close) {
    SessionImpl::end_unhealthy(core_, session);
  }
}

void SessionChecks::arm() {
  TimePoint next = kTimeNever;
  const bool rests = !passed_ && session_.expired();
  for (const Entry& entry : entries_) {
    if (entry.probe != nullptr) {
      next = std::min(next, entry.started + TimePoint{entry.check.timeout});
    } else if (!rests && !(passed_ && entry.passed_once)) {
      next = std::min(next, entry.next);
    }
  }
  // An alarm cannot be taken back; one that rings earlier will do.
  if (stopped_ || next == kTimeNever || (!alarms_.empty() && *alarms_.begin() <= next)) {
    return;
  }
  alarms_.insert(next);
  core_.call_at(next, [weak = weak_from_this(), next] {
    if (const auto self = weak.lock()) {
      self->alarms_.erase(next);
      self->look();
    }
  });
}

bool SessionChecks::healthy() const {
  return std::ranges::none_of(entries_, &Entry::failing);
}

void check_first(const std::shared_ptr<Core>& core,
                 SessionHealth health,
                 const std::function<void(Result<std::shared_ptr<SessionChecks>>)>& then) {
  if (const Status sound = check_health(health); !sound.ok() || health.checks.empty()) {
    return then(sound.ok() ? Result<std::shared_ptr<SessionChecks>>{nullptr} : sound);
  }
  const auto checks = std::make_shared<SessionChecks>(*core, std::move(health));
  const auto begun = core->post([checks, then] {
    checks->run_first([checks, then](const Status& passed) {
      then(passed.ok() ? Result<std::shared_ptr<SessionChecks>>{checks} : passed);
    });
  });
  if (!begun) {
    then(failure(protocol::ErrorCode::ClientClosed));
  }
}

}  // namespace gcoord::client
