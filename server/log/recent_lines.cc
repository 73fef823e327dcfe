#include "server/log/recent_lines.h"

#include <algorithm>

namespace gcoord::server {

void RecentLines::add(std::string_view line) {
  if (line.ends_with('\n')) {
    line.remove_suffix(1);
  }
  const std::lock_guard lock(mutex_);
  put(line.substr(0, bytes_ / 4));
  put("\n");
}

void RecentLines::put(std::string_view text) {
  if (ring_.size() < bytes_) {
    ring_.reserve(bytes_);
    const std::string_view fits = text.substr(0, bytes_ - ring_.size());
    ring_ += fits;
    text.remove_prefix(fits.size());
  }
  for (const char byte : text) {
    ring_[next_] = byte;
    next_ = (next_ + 1) % bytes_;
    overwritten_ = true;
  }
}

std::string RecentLines::text() const {
  const std::lock_guard lock(mutex_);
  std::string text = ring_.substr(next_) + ring_.substr(0, next_);
  if (overwritten_) {
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

}  // namespace gcoord::server
