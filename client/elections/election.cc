#include "gcoord/election.h"

#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/elections/candidate.h"

#include <utility>

namespace gcoord::client {

Election::Election(std::shared_ptr<Candidate> candidate) : candidate_(std::move(candidate)) {}

Election::~Election() {
  if (candidate_ != nullptr) {
    candidate_->resign({});
  }
}

Election::Election(Election&&) noexcept = default;

Election& Election::operator=(Election&& other) noexcept {
  // The old one resigns by the temporary's destructor.
  Election taken{std::move(other)};
  std::swap(candidate_, taken.candidate_);
  return *this;
}

const std::string& Election::name() const {
  return candidate_->name();
}

Status Election::campaign(CampaignOptions options) {
  return await<Status>(candidate_->session().core(),
                       [&](auto callback) { candidate_->campaign(options, std::move(callback)); });
}

Future<Status> Election::campaign_async(CampaignOptions options) {
  return future_of<Status>(candidate_->session().core(), [&](auto callback) {
    candidate_->campaign(options, std::move(callback));
  });
}

bool Election::is_leader() const {
  return is_leader(candidate_->session().core().clock().now());
}

bool Election::is_leader(TimePoint now) const {
  return now < candidate_->leader_until();
}

TimePoint Election::leader_until() const {
  return candidate_->leader_until();
}

std::uint64_t Election::epoch() const {
  return candidate_->epoch();
}

Status Election::resign() {
  return await<Status>(candidate_->session().core(),
                       [&](auto callback) { candidate_->resign(std::move(callback)); });
}

Future<Status> Election::resign_async() {
  return future_of<Status>(candidate_->session().core(),
                           [&](auto callback) { candidate_->resign(std::move(callback)); });
}

Status Election::proclaim(std::string_view value) {
  return await<Status>(candidate_->session().core(),
                       [&](auto callback) { candidate_->proclaim(value, std::move(callback)); });
}

Future<Status> Election::proclaim_async(std::string_view value) {
  return future_of<Status>(candidate_->session().core(), [&](auto callback) {
    candidate_->proclaim(value, std::move(callback));
  });
}

Status Election::transfer(std::uint64_t session_id) {
  return await<Status>(candidate_->session().core(), [&](auto callback) {
    candidate_->transfer(SessionId{session_id}, std::move(callback));
  });
}

Future<Status> Election::transfer_async(std::uint64_t session_id) {
  return future_of<Status>(candidate_->session().core(), [&](auto callback) {
    candidate_->transfer(SessionId{session_id}, std::move(callback));
  });
}

void Election::detach() {
  candidate_ = std::make_shared<Candidate>(candidate_->shared_session(), candidate_->name());
}

}  // namespace gcoord::client
