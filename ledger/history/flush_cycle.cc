#include "ledger/history/flush_cycle.h"

namespace gcoord::ledger {

// Where as much again has come together while the store writes, it is slower than what comes, and
// is waited for.
Status FlushCycle::advance() {
  const bool due = history_.flush_due();
  if (writing_ != nullptr && (due || writing_->written())) {
    GCOORD_TRY_STATUS(end());
  }
  return writing_ == nullptr && (due || !waiting_for_next_.empty()) ? begin() : Status{};
}

Status FlushCycle::begin() {
  auto flush = history_.begin_flush();
  if (!flush.ok()) {
    answer(waiting_for_next_, flush.status());
    return flush.status();
  }
  writing_ = std::move(flush).value();
  waiting_for_it_ = std::move(waiting_for_next_);
  waiting_for_next_.clear();
  if (writing_ == nullptr) {
    answer(waiting_for_it_, {});
    return {};
  }
  if (writer_ != nullptr) {
    writer_->begin(writing_);
    return {};
  }
  static_cast<void>(writing_->write(history_.store()));
  return end();
}

// History has ended it already where it had to wait for it itself.
Status FlushCycle::end() {
  const Status status = writing_->wait();
  if (status.ok() && history_.leaving() == writing_) {
    history_.end_flush();
  }
  writing_ = nullptr;
  answer(waiting_for_it_, status);
  return status;
}

void FlushCycle::answer(Waiters& waiters, const Status& status) {
  ended_(status);  // Before whoever waits may look.
  for (const auto& each : waiters) {
    each->set_value(status);
  }
  waiters.clear();
}

// The end of the flush that is written now need not wake the owner again and again.
void FlushCycle::break_promises() {
  writing_ = nullptr;
  waiting_for_it_.clear();
  waiting_for_next_.clear();
}

}  // namespace gcoord::ledger
