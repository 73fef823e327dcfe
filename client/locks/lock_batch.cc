#include "client/locks/lock_batch.h"

#include "client/net/failure.h"
#include "gcoord/lock_batch.h"

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace gcoord::client {
namespace {

using Grants = std::vector<Result<Grant>>;
using Statuses = std::vector<Status>;

// The outcomes of a batch, until the last has come. On the client's thread, or where that takes
// nothing any more on the thread of the one caller.
template <typename Outcome>
class Round {
 public:
  Round(std::size_t count,
        const Outcome& none,
        std::function<void(Result<std::vector<Outcome>>)> callback)
      : outcomes_(count, none), left_(count), callback_(std::move(callback)) {}

  void set(std::size_t index, Outcome outcome) {
    outcomes_[index] = std::move(outcome);
    if (--left_ == 0) {
      callback_(std::move(outcomes_));
    }
  }

 private:
  std::vector<Outcome> outcomes_;
  std::size_t left_;
  std::function<void(Result<std::vector<Outcome>>)> callback_;
};

// Without the end of its client the stop of a batch ends every wait of it.
using StopRegistration = std::optional<std::stop_callback<std::function<void()>>>;

Status check_count(std::size_t count) {
  if (count == 0) {
    return failure(protocol::ErrorCode::LockBatchEmpty);
  }
  return count <= kLockBatchNamesMax
             ? Status{}
             : failure(protocol::ErrorCode::LockBatchTooLarge, std::to_string(count) + " names");
}

// check(index) -> ErrorCode of what name(index) alone is refused for.
template <typename Name, typename Check>
Status check_batch_of(std::size_t count, Name name, Check check) {
  if (Status sound = check_count(count); !sound.ok()) {
    return sound;
  }
  std::unordered_set<std::string_view> seen;
  seen.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    auto code = check(index);
    if (code == protocol::ErrorCode::None && !seen.insert(name(index)).second) {
      code = protocol::ErrorCode::LockBatchNameTwice;
    }
    if (code != protocol::ErrorCode::None) {
      return failure(code, "name " + std::to_string(index + 1) + " of the batch");
    }
  }
  return {};
}

// As submit_stoppable(), with one registration for all.
void submit_stoppable(Core& core, std::vector<OperationPtr> acquires, const std::stop_token* stop) {
  if (stop == nullptr || !stop->stop_possible()) {
    return core.submit_all(std::move(acquires));
  }
  const std::stop_token token = *stop;
  const auto registration = std::make_shared<StopRegistration>();
  std::vector<std::shared_ptr<StopLink>> links;
  for (const OperationPtr& acquire : acquires) {
    links.push_back(acquire->stop = std::make_shared<StopLink>());
    acquire->callback = [registration, callback = std::move(acquire->callback)](
                            const Answer& answer) { callback(answer); };
  }
  core.submit_all(std::move(acquires));
  registration->emplace(token, [&core, links = std::move(links)] {
    static_cast<void>(core.post([&core, links] {
      for (const auto& link : links) {
        if (link->request_id.has_value()) {
          core.dispatcher().stop_wait(*link->request_id);
        }
      }
    }));
  });
}

}  // namespace

Status LockBatch::check_releases(const std::vector<HeldToken>& holds) {
  return check_batch_of(
      holds.size(),
      [&](std::size_t index) { return std::string_view{holds[index].name}; },
      [&](std::size_t index) {
        return SessionImpl::check_release(holds[index].name, holds[index].token);
      });
}

void LockBatch::acquire(const std::shared_ptr<SessionImpl>& session,
                        const std::vector<std::string>& names,
                        const AcquireOptions& options,
                        Session::GrantsCallback callback) {
  const Status sound = check_batch_of(
      names.size(),
      [&](std::size_t index) { return std::string_view{names[index]}; },
      [&](std::size_t index) { return session->check_acquire(names[index], options); });
  if (!sound.ok()) {
    return refuse<Result<Grants>>(session->core(), std::move(callback), sound);
  }
  const auto round =
      std::make_shared<Round<Result<Grant>>>(names.size(), Grant{}, std::move(callback));
  std::vector<OperationPtr> acquires;
  acquires.reserve(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    acquires.push_back(
        session->make_acquire(names[index], options, [round, index](Result<Grant> grant) {
          round->set(index, std::move(grant));
        }));
  }
  submit_stoppable(session->core(), std::move(acquires), options.stop);
}

void LockBatch::release(const std::shared_ptr<SessionImpl>& session,
                        const std::vector<HeldToken>& holds,
                        Session::StatusesCallback callback) {
  const Status sound = check_releases(holds);
  if (!sound.ok()) {
    return refuse<Result<Statuses>>(session->core(), std::move(callback), sound);
  }
  const auto round = std::make_shared<Round<Status>>(holds.size(), Status{}, std::move(callback));
  std::vector<OperationPtr> releases;
  releases.reserve(holds.size());
  for (std::size_t index = 0; index < holds.size(); ++index) {
    releases.push_back(
        session->make_release(holds[index].name, holds[index].token, [round, index](Status status) {
          round->set(index, std::move(status));
        }));
  }
  session->core().submit_all(std::move(releases));
}

}  // namespace gcoord::client
