#include "client/candidate.h"

#include "client/failure.h"

#include <utility>

namespace gcoord::client {

void Candidate::campaign(AcquireOptions options, Session::StatusCallback callback) {
  std::uint64_t round = 0;
  {
    const std::lock_guard lock{mutex_};
    round = round_;
  }
  // The wait and nothing else: an office is held alone, once, however locks may be held besides.
  const AcquireOptions alone{.wait = options.wait};
  session_->acquire(name_,
                    alone,
                    [self = shared_from_this(), round, callback = std::move(callback)](
                        const Result<Grant>& grant) { self->on_grant(round, grant, callback); });
}

void Candidate::on_grant(std::uint64_t round,
                         const Result<Grant>& grant,
                         const Session::StatusCallback& callback) {
  if (!grant.ok()) {
    return callback(grant.status());
  }
  const std::uint64_t token = grant.value().token;
  bool given_up = false;
  {
    const std::lock_guard lock{mutex_};
    given_up = round != round_;
    held_token_ = token;
    if (!given_up) {
      epoch_.store(token, std::memory_order_relaxed);
      leads_.store(true, std::memory_order_release);
    }
  }
  if (!given_up) {
    return callback(Status{});
  }
  session_->release(
      name_, token, [self = shared_from_this(), token, callback](const Status& released) {
        self->on_resigned(token, released, {});
        callback(failure(rpc::ErrorCode::WaitCancelled));
      });
}

void Candidate::resign(Session::StatusCallback callback) {
  std::uint64_t token = 0;
  {
    const std::lock_guard lock{mutex_};
    ++round_;
    leads_.store(false, std::memory_order_release);
    token = held_token_;
  }
  if (token == 0) {
    return callback ? refuse<Status>(session_->core(), std::move(callback), Status{}) : void();
  }
  session_->release(name_,
                    token,
                    [self = shared_from_this(), token, callback = std::move(callback)](
                        Status status) { self->on_resigned(token, std::move(status), callback); });
}

void Candidate::on_resigned(std::uint64_t token,
                            Status status,
                            const Session::StatusCallback& callback) {
  // Refused is as good as released: somebody else leads, or nobody.
  const bool over = status.ok() || decides_release(status);
  if (over) {
    const std::lock_guard lock{mutex_};
    held_token_ = held_token_ == token ? 0 : held_token_;
  }
  if (callback) {
    callback(over ? Status{} : std::move(status));
  }
}

TimePoint Candidate::leader_until() const {
  return leads_.load(std::memory_order_acquire) ? session_->certain_until() : TimePoint{};
}

}  // namespace gcoord::client
