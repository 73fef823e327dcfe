#include "chaos/demo/lane.h"

#include "chaos/demo/recorded_session.h"
#include "common/random.h"

#include <algorithm>

namespace gcoord::chaos {

namespace {

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

std::string shared_name(const LanePlan& plan, std::uint64_t number) {
  return plan.prefix + "/shared/" + std::to_string(number);
}

std::string forgotten_name(const LanePlan& plan, std::uint64_t number) {
  return plan.prefix + "/forgotten/" + std::to_string(number);
}

Outcome outcome_of(const client::Status& status) {
  if (status.detail() == client::kDetailSessionExpired) {
    // The session is lost; what it asked for may have been granted to it before.
    return Outcome::Unknown;
  }
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
  auto lost = std::make_shared<std::atomic<bool>>(false);
  auto certain = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto session = open_recorded_session(around_.client,
                                       around_.history,
                                       {.process = around_.process,
                                        .ttl = around_.plan.session_ttl,
                                        .lost = lost,
                                        .certain_until_ns = certain});
  if (session.ok()) {
    certain_until_ns_ = std::move(certain);
    session_lost_ = std::move(lost);
    session_id_ = session.value().id();
    session_.clear();
    session_.push_back(std::move(session).value());
  }
  return session.status();
}

void Lane::reopen() {
  if (around_.stopping.load(std::memory_order_relaxed)) {
    around_.ended();
  } else if (open().ok()) {
    begin();
  } else {
    around_.call_later(*this, kErrorPause);
  }
}

void Lane::close() {
  session_.clear();
}

// Rises with each renewal, and is left alone once the session is over.
void Lane::note_certain() {
  const std::uint64_t until_ns = certain_until_ns(session_.front());
  if (until_ns != 0) {
    certain_until_ns_->store(until_ns);
  }
}

std::uint64_t Lane::random() {
  return random64(around_.seed, std::uint64_t{around_.process} << 32 | number_, ++drawn_);
}

void Lane::resume() {
  if (next_ == Next::Begin) {
    begin();
    return;
  }
  // Whoever was stopped while it held the lock comes by here, with a token that may be of the past.
  write_guarded();
  release();
}

void Lane::pause_and_begin() {
  next_ = Next::Begin;
  around_.call_later(*this, kErrorPause);
}

void Lane::record(const client::Status& status) {
  note_certain();
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
  place_ = GuardedStore::kPlaces;
  if (!shared) {
    operation_.key = around_.plan.prefix + "/own/" + std::to_string(around_.process) + "/" +
                     std::to_string(number_) + "/" + std::to_string(own_name_number_);
    return;
  }
  std::uint64_t number = random_below(random(), kSharedNames);
  if (around_.plan.names_last.count() > 0) {
    const auto last_ns =
        static_cast<std::uint64_t>(std::chrono::nanoseconds{around_.plan.names_last}.count());
    number += history_now_ns() / last_ns * kSharedNames;
  }
  place_ = static_cast<std::uint32_t>(number % GuardedStore::kPlaces);
  operation_.key = shared_name(around_.plan, number);
}

// Whether the next round's time has not come; then the lane is called when it has.
bool Lane::is_early() {
  const auto length_ns =
      static_cast<std::uint64_t>(std::chrono::nanoseconds{around_.plan.round_length}.count());
  const std::uint64_t now_ns = history_now_ns();
  if (length_ns == 0 || round_due_ns_ <= now_ns) {
    // What was missed is not made up for: the rate is a bound for each lane.
    round_due_ns_ = std::max(round_due_ns_ + length_ns, now_ns);
    return false;
  }
  next_ = Next::Begin;
  around_.call_later(*this,
                     std::chrono::ceil<std::chrono::milliseconds>(
                         std::chrono::nanoseconds{round_due_ns_ - now_ns}));
  return true;
}

void Lane::begin() {
  const bool lost = session_lost_->load(std::memory_order_relaxed);
  if (around_.stopping.load(std::memory_order_relaxed) || (lost && !around_.plan.reopens)) {
    around_.ended();
  } else if (lost) {
    next_ = Next::Begin;
    around_.reopen_later(*this);
  } else if (!is_early()) {
    ask();
  }
}

void Lane::ask() {
  note_certain();
  operation_ = {.process = around_.process, .op = Op::Acquire, .session = session_id_};
  choose();
  operation_.call_ns = history_now_ns();
  session_.front().acquire_async(operation_.key,
                                 {.wait = wait_},
                                 [this](client::Result<client::Grant> grant) { on_grant(grant); });
}

// Under the lock, or so this lane believes: the store knows better.
void Lane::write_guarded() {
  if (around_.plan.store == nullptr || place_ == GuardedStore::kPlaces) {
    return;
  }
  Operation written{.process = around_.process,
                    .op = Op::Write,
                    .key = operation_.key + "/store",
                    .session = session_id_,
                    .token = token_,
                    .call_ns = history_now_ns()};
  written.value = std::to_string(around_.process) + "." + std::to_string(number_) + "." +
                  std::to_string(++values_written_);
  const bool admitted = around_.plan.store->write(place_, token_);
  written.return_ns = history_now_ns();
  written.outcome = admitted ? Outcome::Ok : Outcome::Fail;
  written.reason = admitted ? Reason::None : Reason::Stale;
  around_.history.write(written);
}

std::chrono::milliseconds Lane::hold_length() {
  const std::uint32_t one_in = around_.plan.long_hold_one_in;
  if (one_in != 0 && random_below(random(), one_in) == 0) {
    return around_.plan.long_hold;
  }
  return std::chrono::milliseconds{1 + random_below(random(), kHoldMsMax)};
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
    write_guarded();
    next_ = Next::Release;
    around_.call_later(*this, hold_length());
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
