#include "client/core/lock_batch.h"

#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/net/failure.h"
#include "gcoord/lock_batch.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
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

Status check_releases(const std::vector<HeldToken>& holds) {
  return check_batch_of(
      holds.size(),
      [&](std::size_t index) { return std::string_view{holds[index].name}; },
      [&](std::size_t index) {
        return SessionImpl::check_release(holds[index].name, holds[index].token);
      });
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

Result<std::vector<Result<Lock>>> Session::acquire_many(std::vector<std::string> names,
                                                        AcquireOptions options) {
  if (impl_->core().on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  return acquire_many_async(std::move(names), options).get();
}

Future<Result<std::vector<Result<Lock>>>> Session::acquire_many_async(
    std::vector<std::string> names, AcquireOptions options) {
  const auto asked = std::make_shared<const std::vector<std::string>>(std::move(names));
  return future_of<Result<std::vector<Result<Lock>>>>(impl_->core(), [&](auto callback) {
    LockBatch::acquire(
        impl_, *asked, options, [session = impl_, asked, callback](const Result<Grants>& grants) {
          if (!grants.ok()) {
            return callback(grants.status());
          }
          std::vector<Result<Lock>> locks;
          locks.reserve(asked->size());
          for (std::size_t index = 0; index < asked->size(); ++index) {
            const Result<Grant>& grant = grants.value()[index];
            locks.push_back(grant.ok() ? Result<Lock>{Lock{session, (*asked)[index], grant.value()}}
                                       : Result<Lock>{grant.status()});
          }
          callback(std::move(locks));
        });
  });
}

void Session::acquire_many_async(std::vector<std::string> names,
                                 AcquireOptions options,
                                 GrantsCallback callback) {
  LockBatch::acquire(impl_, names, options, std::move(callback));
}

Result<std::vector<Status>> Session::release_many(std::vector<Lock>& locks) {
  const auto session = locks.empty() ? nullptr : locks.front().session_;
  std::vector<HeldToken> holds;
  holds.reserve(locks.size());
  for (const Lock& lock : locks) {
    if (session == nullptr || lock.session_ != session) {
      return failure(protocol::ErrorCode::LockBatchForeign, lock.name());
    }
    holds.push_back({lock.name(), lock.fence()});
  }
  if (session == nullptr) {
    return failure(protocol::ErrorCode::LockBatchEmpty);
  }
  auto released = await<Result<Statuses>>(session->core(), [&](auto callback) {
    LockBatch::release(session, holds, std::move(callback));
  });
  for (std::size_t index = 0; released.ok() && index < locks.size(); ++index) {
    const Status& status = released.value()[index];
    // As Lock::release() does.
    if (status.ok() || decides_release(status) || session->counts_holds()) {
      locks[index].detach();
    }
  }
  return released;
}

Future<Result<std::vector<Status>>> Session::release_many_async(std::vector<Lock> locks) {
  const auto session = locks.empty() ? nullptr : locks.front().session_;
  const bool of_one = session != nullptr && std::ranges::all_of(locks, [&](const Lock& lock) {
                        return lock.session_ == session;
                      });
  if (!of_one) {
    auto state = std::make_shared<FutureState<Result<Statuses>>>(std::thread::id{});
    state->set(failure(locks.empty() ? protocol::ErrorCode::LockBatchEmpty
                                     : protocol::ErrorCode::LockBatchForeign));
    return Future<Result<Statuses>>{std::move(state)};
  }
  std::vector<HeldToken> holds;
  holds.reserve(locks.size());
  for (const Lock& lock : locks) {
    holds.push_back({lock.name(), lock.fence()});
  }
  const bool sound = check_releases(holds).ok();
  auto released = future_of<Result<Statuses>>(session->core(), [&](auto callback) {
    LockBatch::release(session, holds, std::move(callback));
  });
  for (Lock& lock : locks) {
    if (sound) {
      lock.detach();
    }
  }
  return released;
}

Result<std::vector<Status>> Session::release_many(std::vector<HeldToken> holds) {
  return await<Result<std::vector<Status>>>(
      impl_->core(), [&](auto callback) { LockBatch::release(impl_, holds, std::move(callback)); });
}

Future<Result<std::vector<Status>>> Session::release_many_async(std::vector<HeldToken> holds) {
  return future_of<Result<std::vector<Status>>>(
      impl_->core(), [&](auto callback) { LockBatch::release(impl_, holds, std::move(callback)); });
}

void Session::release_many_async(std::vector<HeldToken> holds, StatusesCallback callback) {
  LockBatch::release(impl_, holds, std::move(callback));
}

Result<TimePoint> Session::renew_until() {
  if (impl_->core().on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  return renew_until_async().get();
}

Future<Result<TimePoint>> Session::renew_until_async() {
  return future_of<Result<TimePoint>>(impl_->core(), [&](auto callback) {
    impl_->renew([session = impl_, callback](const Status& status) {
      callback(status.ok() ? Result<TimePoint>{session->certain_until()}
                           : Result<TimePoint>{status});
    });
  });
}

}  // namespace gcoord::client
