// What a candidate does while it leads: it says a value, hands over, and looks at its line.
#include "client/elections/candidate.h"
#include "client/elections/election_calls.h"
#include "client/net/failure.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {

namespace {

bool has_code(const Status& status, protocol::ErrorCode code) {
  return status.detail() == static_cast<std::uint32_t>(code);
}

// Longer than this the clock cannot count.
TimePoint time_of(std::chrono::milliseconds duration) {
  constexpr std::chrono::hours kLongest{24 * 365};
  return duration >= kLongest ? kTimeNever : TimePoint{duration};
}

}  // namespace

std::uint64_t Candidate::led_token() const {
  const std::uint64_t token = epoch();
  return token != 0 && !office_->over(token) ? token : 0;
}

void Candidate::proclaim(std::string_view value, Session::StatusCallback callback) {
  const std::uint64_t token = led_token();
  if (token == 0) {
    return refuse<Status>(
        session_->core(), std::move(callback), failure(protocol::ErrorCode::OfficeLost));
  }
  session_->proclaim(name_, token, value, std::move(callback));
}

// From here on it does not say that it leads, so whoever is elected by it finds nobody who does.
void Candidate::transfer(SessionId target, Session::StatusCallback callback) {
  const std::uint64_t token = led_token();
  if (token == 0 || !office_->suspend(token)) {
    return refuse<Status>(
        session_->core(), std::move(callback), failure(protocol::ErrorCode::OfficeLost));
  }
  session_->transfer(name_,
                     token,
                     target,
                     [self = shared_from_this(), token, callback = std::move(callback)](
                         const Status& status) { self->on_transferred(token, status, callback); });
}

void Candidate::on_transferred(std::uint64_t token,
                               const Status& status,
                               const Session::StatusCallback& callback) {
  // Decided under its number, so no copy of it can still be carried out; or never sent.
  const bool unchanged =
      (has_code(status, protocol::ErrorCode::CandidateAbsent) && !session_->record().attached) ||
      has_code(status, protocol::ErrorCode::FeatureMissing) ||
      has_code(status, protocol::ErrorCode::SessionZero);
  if (unchanged) {
    office_->resume(token);
    return callback(status);
  }
  office_->leave(token);
  const bool decided = status.ok() || has_code(status, protocol::ErrorCode::OfficeLost);
  if (decided) {
    const std::lock_guard lock{mutex_};
    held_token_ = held_token_ == token ? 0 : held_token_;
  } else {
    // Whatever came of it, this candidate does not lead: nobody is to wait for its TTL.
    session_->release(name_, token, [self = shared_from_this(), token](const Status& released) {
      self->on_resigned(token, released, {});
    });
  }
  callback(status);
}

void Candidate::begin_reviews(const Campaign& campaign, std::uint64_t token) {
  if (campaign.options.review <= std::chrono::milliseconds{0}) {
    return;
  }
  review_later({.token = token,
                .interval = time_of(campaign.options.review),
                .succession = std::make_shared<Succession>(
                    SuccessionRules{.priority = campaign.options.priority,
                                    .hysteresis = time_of(campaign.options.hysteresis),
                                    .led_since = session_->core().clock().now()})});
}

// Goes on while the term may: a transfer that is under way may change nothing.
void Candidate::review_later(const Review& review) {
  const TimePoint now = session_->core().clock().now();
  const bool ever = review.interval != kTimeNever;
  if (epoch() == review.token && !office_->ended(review.token) && ever) {
    // An alarm does not keep the candidate: one that is gone has resigned.
    session_->core().call_at(now + review.interval, [weak = weak_from_this(), review] {
      if (const auto self = weak.lock()) {
        self->look_at_line(review);
      }
    });
  }
}

void Candidate::look_at_line(const Review& review) {
  if (led_token() != review.token) {
    return review_later(review);
  }
  if (session_->core().clock().now() >= leader_until()) {
    return;
  }
  candidates(
      session_->core(), name_, [weak = weak_from_this(), review](const Result<ElectionView>& line) {
        if (const auto self = weak.lock()) {
          self->on_line(review, line);
        }
      });
}

void Candidate::on_line(const Review& review, const Result<ElectionView>& line) {
  const bool shown = line.ok() && !line.value().leader.hidden;
  if (shown && line.value().leader.epoch != review.token) {
    return;  // It leads no more, or by another term that looks for itself.
  }
  // Who may not see its line can choose nobody in it; it may be let to see it later.
  if (!shown || led_token() != review.token) {
    return review_later(review);
  }
  const std::vector<CandidateView>& waiting = line.value().candidates;
  const std::uint64_t wanted = line.value().wanted_session;
  const bool waits = std::ranges::count(waiting, wanted, &CandidateView::session_id) != 0;
  const std::uint64_t preferred = review.succession->look(waiting, session_->core().clock().now());
  const std::uint64_t target = waits ? wanted : preferred;
  if (target == 0) {
    return review_later(review);
  }
  transfer(SessionId{target}, [self = shared_from_this(), review](const Status&) {
    self->review_later(review);  // If it still leads.
  });
}

}  // namespace gcoord::client
