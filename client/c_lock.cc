// Locks, for C.
#include "client/c_border.h"
#include "client/failure.h"

#include <memory>
#include <utility>

using namespace gcoord::client;

gcoord_status gcoord_lock_acquire(gcoord_session* session,
                                  const char* name,
                                  int64_t wait_ms,
                                  gcoord_lock** lock,
                                  gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}, {name, "name"}, {lock, "lock"}});
    const auto how = wait_of(wait_ms);
    if (!given.ok() || !how.ok()) {
      return given.ok() ? how.status() : given;
    }
    return give(session->session.acquire(name, how.value()), lock);
  });
}

gcoord_status gcoord_lock_acquire_async(gcoord_session* session,
                                        const char* name,
                                        int64_t wait_ms,
                                        gcoord_lock_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"},
                             {name, "name"},
                             {reinterpret_cast<const void*>(callback), "callback"}});
    const auto how = wait_of(wait_ms);
    if (!given.ok() || !how.ok()) {
      return given.ok() ? how.status() : given;
    }
    session->session.acquire_async(name, how.value())
        .then(giving_to<gcoord_lock, Lock>(callback, user));
    return {};
  });
}

void gcoord_lock_free(gcoord_lock* lock) {
  delete lock;
}

gcoord_status gcoord_lock_release(gcoord_lock* lock, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{lock, "lock"}});
    return given.ok() ? lock->lock.release() : given;
  });
}

void gcoord_lock_detach(gcoord_lock* lock) {
  if (lock != nullptr) {
    lock->lock.detach();
  }
}

const char* gcoord_lock_name(const gcoord_lock* lock) {
  return lock != nullptr ? lock->lock.name().c_str() : "";
}

uint64_t gcoord_lock_fence(const gcoord_lock* lock) {
  return lock != nullptr ? lock->lock.fence() : 0;
}

uint64_t gcoord_lock_epoch(const gcoord_lock* lock) {
  return lock != nullptr ? lock->lock.epoch() : 0;
}

bool gcoord_lock_already_held(const gcoord_lock* lock) {
  return lock != nullptr && lock->lock.already_held();
}

bool gcoord_lock_valid(const gcoord_lock* lock) {
  return lock != nullptr && lock->lock.valid();
}
