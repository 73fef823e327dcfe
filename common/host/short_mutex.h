// A lock that is held for a microsecond or so, by threads that are busy.
//
// Who waits for it looks again for a while before it sleeps. Who has it may take it again. It may
// be absent (`Held` of nullptr), where one thread has what it guards. Thread-safe.
#pragma once

#include <mutex>
#include <utility>

namespace gcoord {

class ShortMutex {
 public:
  // Has it until its end; nothing of nullptr.
  class Held {
   public:
    explicit Held(ShortMutex* mutex) : mutex_(mutex) {
      if (mutex_ != nullptr) {
        mutex_->lock();
      }
    }

    // Has it if nobody else does.
    static Held of_free(ShortMutex& mutex) {
      return mutex.mutex_.try_lock() ? Held(&mutex, Taken{}) : Held(nullptr);
    }

    // Whether there is anything that it has.
    bool has() const { return mutex_ != nullptr; }

    Held(Held&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}

    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Held& operator=(Held&&) = delete;

    ~Held() {
      if (mutex_ != nullptr) {
        mutex_->mutex_.unlock();
      }
    }

   private:
    struct Taken {};

    Held(ShortMutex* mutex, Taken /*taken*/) : mutex_(mutex) {}

    ShortMutex* mutex_;
  };

 private:
  void lock();

  std::recursive_mutex mutex_;
};

}  // namespace gcoord
