// Cycle of a history's flushes: one is written at a time, and the next one begins when enough has
// come together or somebody waits for it.
//
// With a thread of its own for writing (flush_writer.h), or written by the caller. Those who wait
// are answered by the flush that holds everything that was there when they began to wait. All calls
// by the history's owner.
#pragma once

#include "common/status.h"
#include "ledger/history/flush.h"
#include "ledger/history/flush_writer.h"
#include "ledger/history/history.h"

#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::ledger {

class FlushCycle {
 public:
  using Waiter = std::shared_ptr<std::promise<Status>>;

  // The history outlives it. `ended` is called with the status of each flush, before those who wait
  // are answered.
  FlushCycle(History& history, std::function<void(const Status&)> ended)
      : history_(history), ended_(std::move(ended)) {}

  // From now on a thread writes, which calls `written` after each flush.
  void write_on_thread(std::function<void()> written) {
    writer_ = std::make_unique<FlushWriter>(history_.store(), std::move(written));
  }

  // Waits for a flush that begins from now on.
  void wait_for_next(Waiter waiter) { waiting_for_next_.push_back(std::move(waiter)); }

  // Takes note of what was written, and begins what is due or waited for.
  Status advance();

  // Whether advance() has a flush to take note of.
  bool written() const { return writing_ != nullptr && writing_->written(); }

  // Those who wait hear that there will be no flush. Nobody takes note of the one that is written
  // now, if there is one.
  void break_promises();

 private:
  using Waiters = std::vector<Waiter>;

  Status begin();
  Status end();
  void answer(Waiters& waiters, const Status& status);

  History& history_;
  std::function<void(const Status&)> ended_;
  std::shared_ptr<HistoryFlush> writing_;
  Waiters waiting_for_it_;    // For the flush that is being written,
  Waiters waiting_for_next_;  // or for one that begins from now on.
  std::unique_ptr<FlushWriter> writer_;
};

}  // namespace gcoord::ledger
