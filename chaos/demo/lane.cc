#include "chaos/demo/lane.h"

#include "common/random.h"

namespace gcoord::chaos {

namespace {

// Longer than a failover takes, so that no lane loses its session to one.
constexpr std::chrono::seconds kSessionTtl{10};

// Few enough that lines form, enough that not all is waiting.
constexpr std::uint32_t kSharedNames = 24;
constexpr std::chrono::seconds kWaitMax{2};
constexpr std::uint32_t kHoldMsMax = 8;

// After an error, so that errors do not chase one another.
constexpr std::chrono::milliseconds kErrorPause{20};

// Shares of the operations, in percent.
constexpr std::uint32_t kWaitShare = 20;
constexpr std::uint32_t kTryShare = 10;
constexpr std::uint32_t kCheckShare = 10;

}  // namespace

std::string shared_name(std::uint64_t number) {
  return "demo/shared/" + std::to_string(number);
}

std::string forgotten_name(std::uint64_t number) {
  return "demo/forgotten/" + std::to_string(number);
}

Outcome outcome_of(const client::Status& status) {
  switch (status.code()) {
    case client::StatusCode::Ok:
      return Outcome::Ok;
    case client::StatusCode::Unknown:
    case client::StatusCode::DeadlineExceeded:
    case client::StatusCode::Unavailable:
    case client::StatusCode::Cancelled:
    case client::StatusCode::Internal:
      // A wait that ran out was answered by the cluster: nothing was granted.
      return status.detail() == client::kDetailWaitTimedOut ? Outcome::Fail : Outcome::Unknown;
    default:
      return Outcome::Fail;
  }
}

Reason reason_of(const client::Status& status) {
  switch (status.detail()) {
    case client::kDetailLockBusy:
      return Reason::Busy;
    case client::kDetailLockNotHeld:
    case client::kDetailTokenStale:
      return Reason::NotHeld;
    default:
      return Reason::None;
  }
}

client::Status Lane::open() {
  auto session = around_.client.open_session(
      {.ttl = kSessionTtl,
       .on_event = [this](client::SessionEvent event) { on_session_event(event); }});
  if (session.ok()) {
    session_id_ = session.value().id();
    session_.push_back(std::move(session).value());
  }
  return session.status();
}

void Lane::close() {
  session_.clear();
}

void Lane::on_session_event(client::SessionEvent event) {
  if (event == client::SessionEvent::Expired) {
    // Relaxed: the lane only stops a little earlier or later.
    session_lost_.store(true, std::memory_order_relaxed);
    Operation lost{.process = around_.process, .op = Op::SessionLost};
    lost.session = session_id_;
    lost.call_ns = lost.return_ns = history_now_ns();
    around_.history.write(lost);
  }
}

std::uint64_t Lane::random() {
  return random64(around_.seed, std::uint64_t{around_.process} << 32 | number_, ++drawn_);
}

void Lane::resume() {
  next_ == Next::Begin ? begin() : release();
}

void Lane::pause_and_begin() {
  next_ = Next::Begin;
  around_.call_later(*this, kErrorPause);
}

void Lane::record(const client::Status& status) {
  operation_.return_ns = history_now_ns();
  operation_.outcome = outcome_of(status);
  operation_.reason = reason_of(status);
  around_.history.write(operation_);
}

// Draws what the next operation is.
void Lane::choose() {
  const std::uint32_t drawn = random_below(random(), 100);
  const bool shared = drawn < kWaitShare + kTryShare;
  operation_.kind = drawn < kWaitShare ? AcquireKind::Wait
                    : shared           ? AcquireKind::Try
                                       : AcquireKind::Lock;
  wait_ = operation_.kind == AcquireKind::Wait ? kWaitMax : std::chrono::milliseconds{0};
  operation_.key = shared ? shared_name(random_below(random(), kSharedNames))
                          : "demo/own/" + std::to_string(around_.process) + "/" +
                                std::to_string(number_) + "/" + std::to_string(own_name_number_);
}

void Lane::begin() {
  if (around_.stopping.load(std::memory_order_relaxed) ||
      session_lost_.load(std::memory_order_relaxed)) {
    around_.ended();
    return;
  }
  operation_ = {.process = around_.process, .op = Op::Acquire, .session = session_id_};
  choose();
  operation_.call_ns = history_now_ns();
  session_.front().acquire_async(operation_.key,
                                 {.wait = wait_},
                                 [this](client::Result<client::Grant> grant) { on_grant(grant); });
}

void Lane::on_grant(const client::Result<client::Grant>& grant) {
  token_ = grant.ok() ? grant.value().token : 0;
  operation_.token = token_;
  operation_.already_held = grant.ok() && grant.value().already_held;
  record(grant.status());
  if (!grant.ok()) {
    // What became of our own name is not known; leave it alone.
    own_name_number_ += operation_.kind == AcquireKind::Lock ? 1u : 0u;
    pause_and_begin();
    return;
  }
  if (operation_.kind != AcquireKind::Lock) {
    next_ = Next::Release;
    around_.call_later(*this, std::chrono::milliseconds{1 + random_below(random(), kHoldMsMax)});
  } else if (random_below(random(), 100) < kCheckShare) {
    check_held();
  } else {
    release();
  }
}

void Lane::check_held() {
  operation_.op = Op::Check;
  operation_.expected = TokenState::Valid;
  operation_.call_ns = history_now_ns();
  around_.client.check_async(
      operation_.key, token_, [this](client::Result<client::Verdict> verdict) {
        on_checked(verdict);
        release();
      });
}

void Lane::on_checked(const client::Result<client::Verdict>& verdict) {
  const bool valid = verdict.ok() && verdict.value() == client::Verdict::Valid;
  operation_.verdict = valid ? TokenState::Valid : TokenState::Past;
  record(verdict.status());
  operation_.verdict = operation_.expected = TokenState::None;
}

void Lane::release() {
  operation_.op = Op::Release;
  operation_.kind = AcquireKind::None;
  operation_.already_held = false;
  operation_.call_ns = history_now_ns();
  session_.front().release_async(
      operation_.key, token_, [this](client::Status status) { on_released(status); });
}

void Lane::on_released(const client::Status& status) {
  record(status);
  if (!status.ok()) {
    ++own_name_number_;
    pause_and_begin();
  } else if (random_below(random(), 100) < kCheckShare) {
    check_released();
  } else {
    begin();
  }
}

void Lane::check_released() {
  operation_.op = Op::Check;
  operation_.expected = TokenState::Past;
  operation_.call_ns = history_now_ns();
  around_.client.check_async(
      operation_.key, token_, [this](client::Result<client::Verdict> verdict) {
        on_checked(verdict);
        begin();
      });
}

}  // namespace gcoord::chaos
