// The holds of a session that were broken by force. Thread-safe.
//
// Whoever asks whether a lock is valid asks here too, mostly about nothing: one flag says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::client {

class LostLocks {
 public:
  // False when it was known.
  bool add(std::string_view name, std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    const bool added = lost_.emplace(token, name).second;
    any_.store(true, std::memory_order_release);
    return added;
  }

  bool contains(std::string_view name, std::uint64_t token) const {
    if (!any_.load(std::memory_order_acquire)) {
      return false;
    }
    const std::lock_guard lock{mutex_};
    return lost_.contains({token, std::string{name}});
  }

 private:
  // Release, paired with the acquire in contains().
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;  // Guards lost_.
  std::set<std::pair<std::uint64_t, std::string>> lost_;
};

}  // namespace gcoord::client
