// Acquiring locks in more ways than one, and several at once, for C.
#include "client/c_border.h"
#include "client/failure.h"

#include <utility>

using namespace gcoord::client;

namespace {

using gcoord::rpc::ErrorCode;

Result<std::vector<std::string>> names_of(const char* const* names, size_t count) {
  if (names == nullptr) {
    return failure(ErrorCode::OptionMissing, "names");
  }
  std::vector<std::string> list;
  for (size_t index = 0; index < count; ++index) {
    if (names[index] == nullptr) {
      return failure(ErrorCode::OptionMissing, "names");
    }
    list.emplace_back(names[index]);
  }
  return list;
}

bool within(const gcoord_multi_lock* locks, size_t index) {
  return index < gcoord_multi_lock_size(locks);
}

}  // namespace

namespace gcoord::client {

Result<AcquireOptions> acquire_options_of(const gcoord_acquire_options* given) {
  if (given == nullptr) {
    return AcquireOptions{};
  }
  if (given->struct_bytes < sizeof *given) {
    return failure(rpc::ErrorCode::OptionInvalid, "struct_bytes");
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
  if (options == nullptr) {
    return;
  }
  static const AcquireOptions defaults;
  *options = gcoord_acquire_options{};
  options->struct_bytes = sizeof *options;
  options->wait_ms = GCOORD_FOREVER;
  options->permits = defaults.permits;
}

gcoord_status gcoord_lock_acquire_as(gcoord_session* session,
                                     const char* name,
                                     const gcoord_acquire_options* options,
                                     gcoord_lock** lock,
                                     gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}, {name, "name"}, {lock, "lock"}});
    const auto how = acquire_options_of(options);
    if (!given.ok() || !how.ok()) {
      return given.ok() ? how.status() : given;
    }
    return give(session->session.acquire(name, how.value()), lock);
  });
}

gcoord_status gcoord_lock_acquire_as_async(gcoord_session* session,
                                           const char* name,
                                           const gcoord_acquire_options* options,
                                           gcoord_lock_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"},
                             {name, "name"},
                             {reinterpret_cast<const void*>(callback), "callback"}});
    const auto how = acquire_options_of(options);
    if (!given.ok() || !how.ok()) {
      return given.ok() ? how.status() : given;
    }
    session->session.acquire_async(name, how.value())
        .then(giving_to<gcoord_lock, Lock>(callback, user));
    return {};
  });
}

bool gcoord_lock_held_again(const gcoord_lock* lock) {
  return lock != nullptr && lock->lock.held_again();
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

gcoord_status gcoord_lock_acquire_all(gcoord_session* session,
                                      const char* const* names,
                                      size_t count,
                                      const gcoord_acquire_options* options,
                                      gcoord_multi_lock** locks,
                                      gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}, {locks, "locks"}});
    auto list = names_of(names, count);
    const auto how = acquire_options_of(options);
    for (const Status& each : {list.status(), how.status()}) {
      given = given.ok() ? each : given;
    }
    return given.ok()
               ? give(session->session.acquire_all(std::move(list).value(), how.value()), locks)
               : given;
  });
}

gcoord_status gcoord_lock_acquire_all_async(gcoord_session* session,
                                            const char* const* names,
                                            size_t count,
                                            const gcoord_acquire_options* options,
                                            gcoord_multi_lock_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given =
        required({{session, "session"}, {reinterpret_cast<const void*>(callback), "callback"}});
    auto list = names_of(names, count);
    const auto how = acquire_options_of(options);
    for (const Status& each : {list.status(), how.status()}) {
      given = given.ok() ? each : given;
    }
    if (given.ok()) {
      session->session.acquire_all_async(std::move(list).value(), how.value())
          .then(giving_to<gcoord_multi_lock, MultiLock>(callback, user));
    }
    return given;
  });
}

void gcoord_multi_lock_free(gcoord_multi_lock* locks) {
  delete locks;
}

gcoord_status gcoord_multi_lock_release(gcoord_multi_lock* locks, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{locks, "locks"}});
    return given.ok() ? locks->locks.release() : given;
  });
}

void gcoord_multi_lock_detach(gcoord_multi_lock* locks) {
  if (locks != nullptr) {
    locks->locks.detach();
  }
}

bool gcoord_multi_lock_valid(const gcoord_multi_lock* locks) {
  return locks != nullptr && locks->locks.valid();
}

size_t gcoord_multi_lock_size(const gcoord_multi_lock* locks) {
  return locks != nullptr ? locks->locks.locks().size() : 0;
}

const char* gcoord_multi_lock_name(const gcoord_multi_lock* locks, size_t index) {
  return within(locks, index) ? locks->locks.locks()[index].name().c_str() : "";
}

uint64_t gcoord_multi_lock_fence(const gcoord_multi_lock* locks, size_t index) {
  return within(locks, index) ? locks->locks.locks()[index].fence() : 0;
}
