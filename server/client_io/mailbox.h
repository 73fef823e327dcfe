// Commands on their way to an I/O thread: the loop's thread puts a batch in, once per pass, and the
// thread takes all that is here.
//
// A mutex guards the batch and is held for a move. The thread arms before it sleeps; who puts
// something in learns whether it has to wake the thread. All is taken at once, so for how long the
// first of what is here has waited says whether the thread still works. Two threads.
#pragma once

#include "server/client_io/messages.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace gcoord::server {

class IoMailbox {
 public:
  // Moves all of `batch` in and leaves it empty. Whether the thread sleeps and must be woken.
  bool put(std::vector<IoCommand>& batch, std::uint64_t now_us) {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) {
      first_us_ = now_us;
      commands_.swap(batch);
    } else {
      commands_.insert(commands_.end(),
                       std::make_move_iterator(batch.begin()),
                       std::make_move_iterator(batch.end()));
    }
    batch.clear();
    return std::exchange(sleeps_, false);
  }

  // The thread is to end when it has taken what is here. Whether it must be woken.
  bool end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    return std::exchange(sleeps_, false);
  }

  // The thread: all that is here, in its order. Returns false after end().
  bool take(std::vector<IoCommand>& batch) {
    batch.clear();
    const std::lock_guard lock(mutex_);
    commands_.swap(batch);
    sleeps_ = false;
    return !ended_;
  }

  // The thread, before it sleeps; false: something is here.
  bool arm() {
    const std::lock_guard lock(mutex_);
    sleeps_ = commands_.empty() && !ended_;
    arms_ += sleeps_ ? 1 : 0;
    return sleeps_;
  }

  // How often arm() was true.
  std::uint64_t arm_count() const {
    const std::lock_guard lock(mutex_);
    return arms_;
  }

  // For how long the first command that is here has waited; 0 when there is none.
  std::uint64_t waiting_us(std::uint64_t now_us) const {
    const std::lock_guard lock(mutex_);
    return commands_.empty() ? 0 : now_us - std::min(now_us, first_us_);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<IoCommand> commands_;
  std::uint64_t first_us_ = 0;  // When the first of them came.
  std::uint64_t arms_ = 0;
  bool sleeps_ = false;
  bool ended_ = false;
};

}  // namespace gcoord::server
