#include "gcoord/multi_lock.h"

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

}  // namespace gcoord::client
