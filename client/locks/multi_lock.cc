#include "gcoord/multi_lock.h"

#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/locks/multi_acquire.h"
#include "client/net/failure.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

namespace gcoord::client {

std::optional<std::uint64_t> MultiLock::fence(std::string_view name) const {
  const auto found = std::ranges::find(locks_, name, &Lock::name);
  return found == locks_.end() ? std::nullopt : std::optional{found->fence()};
}

bool MultiLock::valid() const {
  return !locks_.empty() &&
         std::ranges::all_of(locks_, [](const Lock& lock) { return lock.valid(); });
}

Status MultiLock::release() {
  Status first;
  for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) {
    Status released = lock->release();
    if (first.ok()) {
      first = std::move(released);
    }
  }
  return first;
}

Future<Status> MultiLock::release_async() {
  struct Round {
    explicit Round(std::thread::id thread) : state(std::make_shared<FutureState<Status>>(thread)) {}

    std::shared_ptr<FutureState<Status>> state;
    std::mutex mutex;  // Releases that have nothing to ask are answered on the caller's thread.
    std::size_t outstanding = 1;  // One for the loop itself.
    Status first;
  };

  const auto held = std::ranges::find_if(
      locks_, [](const Lock& lock) { return lock.client_thread() != std::thread::id{}; });
  const auto round =
      std::make_shared<Round>(held == locks_.end() ? std::thread::id{} : held->client_thread());
  const auto answered = [round](Status status) {
    bool last = false;
    {
      const std::lock_guard lock{round->mutex};
      if (round->first.ok()) {
        round->first = std::move(status);
      }
      last = --round->outstanding == 0;
    }
    if (last) {
      round->state->set(round->first);
    }
  };
  for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) {
    {
      const std::lock_guard counted{round->mutex};
      ++round->outstanding;
    }
    lock->release_async().then(answered);
  }
  answered({});
  return Future<Status>{round->state};
}

void MultiLock::detach() {
  for (Lock& lock : locks_) {
    lock.detach();
  }
}

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

}  // namespace gcoord::client
