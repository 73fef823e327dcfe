// Acquiring a lock, for C.
#include "client/c_border.h"
#include "client/failure.h"

#include <utility>

using namespace gcoord::client;

namespace {

// how() -> Result<AcquireOptions>, called where what it may throw does not cross.
template <typename How>
gcoord_status acquire(
    gcoord_session* session, const char* name, How how, gcoord_lock** lock, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const Result<AcquireOptions> options = how();
    const Status given = first_failure(
        {required({{session, "session"}, {name, "name"}, {lock, "lock"}}), options.status()});
    return given.ok() ? give(session->session.acquire(name, options.value()), lock) : given;
  });
}

// Whom an acquire calls back.
struct Callee {
  gcoord_lock_callback callback;
  void* user;
};

template <typename How>
gcoord_status acquire_async(
    gcoord_session* session, const char* name, How how, Callee callee, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const Result<AcquireOptions> options = how();
    const Status given =
        first_failure({required({{session, "session"},
                                 {name, "name"},
                                 {reinterpret_cast<const void*>(callee.callback), "callback"}}),
                       options.status()});
    if (given.ok()) {
      session->session.acquire_async(name, options.value())
          .then(giving_to<gcoord_lock, Lock>(callee.callback, callee.user));
    }
    return given;
  });
}

}  // namespace

namespace gcoord::client {

Result<AcquireOptions> acquire_options_of(const gcoord_acquire_options* given) {
  if (given == nullptr) {
    return AcquireOptions{};
  }
  if (Status filled = initialised(*given); !filled.ok()) {
    return filled;
  }
  if (given->note == nullptr && given->note_bytes != 0) {
    return failure(rpc::ErrorCode::OptionMissing, "note");
  }
  const auto wait = wait_of(given->wait_ms);
  if (!wait.ok()) {
    return wait.status();
  }
  AcquireOptions options = wait.value();
  options.note = {given->note != nullptr ? given->note : "", given->note_bytes};
  options.holds_max = given->holds_max;
  options.shared = given->shared;
  options.permits = given->permits;
  options.permits_max = given->permits_max;
  options.detect_deadlock = given->detect_deadlock;
  options.downgrade = given->downgrade;
  options.priority = given->priority;
  options.delay = std::chrono::milliseconds{given->delay_ms};
  return options;
}

}  // namespace gcoord::client

void gcoord_acquire_options_init(gcoord_acquire_options* options) {
  if (begin_options(options)) {
    options->wait_ms = GCOORD_FOREVER;
    options->permits = AcquireOptions{}.permits;
  }
}

gcoord_status gcoord_lock_acquire(gcoord_session* session,
                                  const char* name,
                                  int64_t wait_ms,
                                  gcoord_lock** lock,
                                  gcoord_error* error) {
  return acquire(
      session, name, [&] { return wait_of(wait_ms); }, lock, error);
}

gcoord_status gcoord_lock_acquire_async(gcoord_session* session,
                                        const char* name,
                                        int64_t wait_ms,
                                        gcoord_lock_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return acquire_async(
      session, name, [&] { return wait_of(wait_ms); }, {callback, user}, error);
}

gcoord_status gcoord_lock_acquire_as(gcoord_session* session,
                                     const char* name,
                                     const gcoord_acquire_options* options,
                                     gcoord_lock** lock,
                                     gcoord_error* error) {
  return acquire(
      session, name, [&] { return acquire_options_of(options); }, lock, error);
}

gcoord_status gcoord_lock_acquire_as_async(gcoord_session* session,
                                           const char* name,
                                           const gcoord_acquire_options* options,
                                           gcoord_lock_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return acquire_async(
      session, name, [&] { return acquire_options_of(options); }, {callback, user}, error);
}
