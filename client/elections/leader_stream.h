// Stream of leader changes, one term of office after the other: a watch of the election's name, and
// one query of its lock at the start or after a gap in the watch. One thread asks; close() is for
// any.
#pragma once

#include "gcoord/types.h"
#include "gcoord/watch.h"

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace gcoord::client {

class GCOORD_HIDDEN LeaderStream::Impl {
 public:
  // Asks the cluster: opens a watch, describes the lock.
  struct Environment {
    std::function<Result<Watch>()> watch;
    std::function<Result<LockDescription>()> look;
  };

  explicit Impl(Environment doors) : environment_(std::move(doors)) {}

  // Opens the watch and looks who leads.
  Status begin();
  Result<std::optional<Office>> next(std::optional<std::chrono::milliseconds> timeout);
  void close();

 private:
  void offer(Office office);
  void take(const WatchBatch& batch);

  Environment environment_;
  std::mutex mutex_;  // Guards which watch watch_ is, and closed_.
  std::shared_ptr<Watch> watch_;
  bool closed_ = false;
  std::deque<Office> ready_;
  std::uint64_t epoch_ = 0;  // Of the newest that was offered.
};

}  // namespace gcoord::client
