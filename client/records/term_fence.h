// Fence of ended terms of office, shared by the candidates of one session in one election.
// Thread-safe.
//
// They hold one lock between them, so one of them hears of a token ("already held") whose release
// another has sent, or that was sent for an earlier campaign, and answers come in any order. Tokens
// of a name only rise: whatever is not above the highest given up is over, decided or not, and
// nobody leads by it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace gcoord::client {

class TermFence {
 public:
  // Whether the term of this token is over for good.
  bool ended(std::uint64_t token) const { return token <= over_.load(std::memory_order_acquire); }

  // Whether the term of this token is over, from the moment on that its release or its transfer is
  // sent; after a transfer that changed nothing it may go on.
  bool over(std::uint64_t token) const {
    return ended(token) || token == suspended_.load(std::memory_order_acquire);
  }

  // A candidate leads by the token; false when it must not.
  bool take(std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    led_ = over(token) ? led_ : token;
    return !over(token);
  }

  // Before a transfer is sent. False when the term is over, or another one is under way.
  bool suspend(std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    if (over(token)) {
      return false;
    }
    suspended_.store(token, std::memory_order_release);
    return true;
  }

  // The transfer of this token is decided and changed nothing. A candidate that gave the term up
  // meanwhile has the last word.
  void resume(std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    if (suspended_.load(std::memory_order_relaxed) == token) {
      suspended_.store(0, std::memory_order_release);
    }
  }

  // Before the release is sent.
  void leave(std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    leave_locked(token);
  }

  // The same for a grant that nobody wants any more; false when a candidate leads by it meanwhile.
  bool leave_unless_led(std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    if (led_ == token) {
      return false;
    }
    leave_locked(token);
    return true;
  }

 private:
  void leave_locked(std::uint64_t token) {
    over_.store(std::max(over_.load(std::memory_order_relaxed), token), std::memory_order_release);
    led_ = led_ == token ? 0 : led_;
  }

  // Release, paired with the acquire in over(): nobody leads by a token after its release was sent.
  std::atomic<std::uint64_t> over_{0};
  std::atomic<std::uint64_t> suspended_{0};  // The same, before a transfer is sent.
  std::mutex mutex_;                         // Guards led_, and the writes to over_ and suspended_.
  std::uint64_t led_ = 0;
};

// The fences of one session, by the name of the election. Thread-safe.
class TermFences {
 public:
  std::shared_ptr<TermFence> of(const std::string& name) {
    const std::lock_guard lock{mutex_};
    std::shared_ptr<TermFence>& office = offices_[name];
    if (office == nullptr) {
      office = std::make_shared<TermFence>();
    }
    return office;
  }

  // Before the release of a grant is sent that came for somebody who had given up. False when a
  // candidate of the session leads by it meanwhile, who releases it.
  bool leave_unless_led(const std::string& name, std::uint64_t token) {
    std::shared_ptr<TermFence> office;
    {
      const std::lock_guard lock{mutex_};
      const auto found = offices_.find(name);
      office = found == offices_.end() ? nullptr : found->second;
    }
    return office == nullptr || office->leave_unless_led(token);
  }

 private:
  std::mutex mutex_;  // Guards offices_.
  std::map<std::string, std::shared_ptr<TermFence>> offices_;
};

}  // namespace gcoord::client
