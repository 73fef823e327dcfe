// Calls of a session that take or give back several locks.
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/locks/lock_batch.h"
#include "client/locks/multi_acquire.h"
#include "client/net/failure.h"
#include "gcoord/lock_batch.h"
#include "gcoord/multi_lock.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using Grants = std::vector<Result<Grant>>;
using Statuses = std::vector<Status>;

}  // namespace

Result<MultiLock> Session::acquire_all(std::vector<std::string> names, AcquireOptions options) {
  if (impl_->core().on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  return acquire_all_async(std::move(names), options).get();
}

Future<Result<MultiLock>> Session::acquire_all_async(std::vector<std::string> names,
                                                     AcquireOptions options) {
  return future_of<Result<MultiLock>>(impl_->core(), [&](auto callback) {
    const auto granted = [session = impl_, callback](const Result<MultiAcquire::Grants>& grants) {
      if (!grants.ok()) {
        return callback(grants.status());
      }
      std::vector<Lock> locks;
      for (const auto& [name, grant] : grants.value()) {
        locks.push_back(Lock{session, name, grant});
      }
      callback(MultiLock{std::move(locks)});
    };
    MultiAcquire::start(impl_, std::move(names), options, granted);
  });
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
  const bool sound = LockBatch::check_releases(holds).ok();
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

}  // namespace gcoord::client
