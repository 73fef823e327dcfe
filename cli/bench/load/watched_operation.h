// One operation whose end a watch tells: it is over when its change was answered, undone, and told.
//
// The parts come on several threads and in any order. A change has a number, which is its token or
// revision: a late event of an operation before, which failed, is not taken for this one's. Each
// note tells whether the operation is over with it, and how. Any thread.
#pragma once

#include "cli/bench/load/work.h"
#include "common/status.h"

#include <cstdint>
#include <mutex>
#include <optional>

namespace gcoord::cli {

class WatchedOperation {
 public:
  struct End {
    Moment at{};  // When the watch told of it.
    Status status;
  };

  void begin() {
    const std::lock_guard lock(mutex_);
    changed_ = 0;
    undone_ = false;
    failure_ = {};
    running_ = true;
  }

  // The change was answered; `number` is not 0.
  std::optional<End> note_changed(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    changed_ = number;
    return end_if_over();
  }

  // The change was undone, or it, or undoing it, failed.
  std::optional<End> note_undone(const Status& status) {
    const std::lock_guard lock(mutex_);
    failure_ = status;
    undone_ = true;
    return end_if_over();
  }

  // The watch told of the change of this number.
  std::optional<End> note_told(std::uint64_t number, Moment at) {
    const std::lock_guard lock(mutex_);
    told_ = number;
    told_at_ = at;
    return end_if_over();
  }

 private:
  std::optional<End> end_if_over() {
    const bool told = changed_ != 0 && told_ == changed_;
    if (!running_ || !undone_ || (failure_.ok() && !told)) {
      return std::nullopt;
    }
    running_ = false;
    return End{failure_.ok() ? told_at_ : std::chrono::steady_clock::now(), failure_};
  }

  std::mutex mutex_;  // Guards all of it.
  bool running_ = false;
  bool undone_ = false;
  std::uint64_t changed_ = 0;  // 0: not known yet.
  std::uint64_t told_ = 0;
  Moment told_at_{};
  Status failure_;
};

}  // namespace gcoord::cli
