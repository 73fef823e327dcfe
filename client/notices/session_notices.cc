#include "client/notices/session_notices.h"

#include <iterator>
#include <utility>

namespace gcoord::client {

void SessionNotices::tell(SessionEvent event) {
  const std::lock_guard lock(mutex_);
  const bool again = event == SessionEvent::Jeopardy && notices_.size() >= 2 &&
                     std::prev(notices_.end(), 1)->event == SessionEvent::Safe &&
                     std::prev(notices_.end(), 2)->event == SessionEvent::Jeopardy;
  if (again) {
    notices_.erase(std::prev(notices_.end(), 2), notices_.end());
  }
  add({.event = event});
}

void SessionNotices::tell(const LostLock& lost) {
  const std::lock_guard lock(mutex_);
  add({.event = std::nullopt, .lost = lost});
}

void SessionNotices::add(SessionNotice notice) {
  notices_.push_back(std::move(notice));
  event_fd_.set(true);
}

std::optional<SessionNotice> SessionNotices::take() {
  const std::lock_guard lock(mutex_);
  std::optional<SessionNotice> taken;
  if (!notices_.empty()) {
    taken = std::move(notices_.front());
    notices_.pop_front();
  }
  event_fd_.set(!notices_.empty());
  return taken;
}

Result<int> SessionNotices::event_fd() {
  const std::lock_guard lock(mutex_);
  return event_fd_.get(!notices_.empty());
}

void SessionNotices::retire_event_fd() {
  const std::lock_guard lock(mutex_);
  event_fd_.close();
}

}  // namespace gcoord::client
