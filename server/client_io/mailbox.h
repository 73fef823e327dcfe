// Commands on their way to an I/O thread: the loop's thread puts a batch in, once per pass, and the
// thread takes all that is here.
//
// A mutex guards the batch and is held for a move. The thread arms before it sleeps; who puts
// something in learns whether it has to wake the thread. Two threads.
#pragma once

#include "server/client_io/messages.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace gcoord::server {

class IoMailbox {
 public:
  // Moves all of `batch` in and leaves it empty. Whether the thread sleeps and must be woken.
  bool put(std::vector<IoCommand>& batch) {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) {
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

  // Commands that the thread has not taken.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return commands_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<IoCommand> commands_;
  std::uint64_t arms_ = 0;
  bool sleeps_ = false;
  bool ended_ = false;
};

}  // namespace gcoord::server
