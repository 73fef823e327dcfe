#include "client/elections/candidate.h"

#include "client/net/failure.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gcoord::client {

void Candidate::campaign(const CampaignOptions& options, Session::StatusCallback callback) {
  std::uint64_t round = 0;
  std::stop_token stop;
  {
    const std::lock_guard lock{mutex_};
    round = round_;
    stop = stop_.get_token();
  }
  ask({.round = round,
       .stop = std::move(stop),
       .options = options,
       .value = std::string{options.value},
       .asked_at = session_->core().clock().now(),
       .callback = std::move(callback)});
}

void Candidate::ask(const Campaign& campaign) {
  // An office is held alone, once, however locks may be held besides.
  const AcquireOptions how{.wait = campaign.options.wait,
                           .note = campaign.value,
                           .priority = campaign.options.priority,
                           .stop = &campaign.stop};
  session_->acquire(name_, how, [self = shared_from_this(), campaign](const Result<Grant>& grant) {
    self->on_grant(campaign, grant);
  });
}

void Candidate::on_grant(const Campaign& campaign, const Result<Grant>& grant) {
  if (!grant.ok()) {
    return campaign.callback(grant.status());
  }
  const std::uint64_t token = grant.value().token;
  bool given_up = false;
  bool over = false;
  {
    const std::lock_guard lock{mutex_};
    given_up = campaign.round != round_;
    // Given up here, it may be what a later campaign of this session leads by.
    over = given_up ? office_->leave_unless_led(token) : !office_->take(token);
    if (over || !given_up) {
      held_token_ = std::max(held_token_, token);
    }
    if (!over && !given_up) {
      epoch_.store(token, std::memory_order_release);
    }
  }
  if (!over && !given_up) {
    begin_reviews(campaign, token);
  }
  if (!over) {
    return campaign.callback(given_up ? failure(protocol::ErrorCode::WaitCancelled) : Status{});
  }
  ask_again(campaign, token);
}

// The token's release was sent before, or nobody wants it any more. Its release is decided first,
// once more: twice is as good as once, since the token is never granted again.
void Candidate::ask_again(Campaign campaign, std::uint64_t token) {
  office_->leave(token);  // For good: a transfer under way must not bring it back.
  session_->release(
      name_, token, [self = shared_from_this(), token, campaign](const Status& released) mutable {
        self->on_resigned(token, released, {});
        bool given_up = false;
        {
          const std::lock_guard lock{self->mutex_};
          given_up = campaign.round != self->round_;
        }
        if (given_up) {
          return campaign.callback(failure(protocol::ErrorCode::WaitCancelled));
        }
        if (!released.ok() && !decides_release(released)) {
          return campaign.callback(released);
        }
        if (campaign.options.wait != kForever) {
          const TimePoint now = self->session_->core().clock().now();
          const auto waited =
              std::chrono::floor<std::chrono::milliseconds>(now - campaign.asked_at);
          campaign.options.wait =
              std::max(campaign.options.wait - waited, std::chrono::milliseconds{0});
          campaign.asked_at = now;
        }
        self->ask(campaign);
      });
}

void Candidate::resign(Session::StatusCallback callback) {
  std::uint64_t token = 0;
  std::stop_source ended;
  {
    const std::lock_guard lock{mutex_};
    ++round_;
    std::swap(ended, stop_);
    token = held_token_;
    office_->leave(token);
  }
  ended.request_stop();
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
  const std::uint64_t token = epoch();
  const bool over = office_->over(token) || session_->lost(name_, token);
  return over ? TimePoint{} : session_->certain_until();
}

}  // namespace gcoord::client
