// Held locks, for C.
#include "client/c_border.h"

using namespace gcoord::client;

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

bool gcoord_lock_held_again(const gcoord_lock* lock) {
  return lock != nullptr && lock->lock.held_again();
}

int64_t gcoord_lock_certain_until_ns(const gcoord_lock* lock) {
  return lock != nullptr ? lock->lock.certain_until().count() : 0;
}

bool gcoord_lock_valid(const gcoord_lock* lock) {
  return lock != nullptr && lock->lock.valid();
}

gcoord_status gcoord_session_release(gcoord_session* session,
                                     const char* name,
                                     uint64_t token,
                                     gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}, {name, "name"}});
    return given.ok() ? session->session.release(name, token) : given;
  });
}
