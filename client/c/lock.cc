// Locks for C: acquiring, holding, and taking and moving them as an operator.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"

using namespace gcoord::client;

namespace {

// how() -> Result<AcquireOptions>, called where what it may throw does not cross.
template <typename How>
gcoord_status acquire(
    gcoord_session* session, const char* name, How how, gcoord_lock** lock, gcoord_error* error) {
  return border(error, {{session, "session"}, {name, "name"}, {lock, "lock"}}, [&]() -> Status {
    GCOORD_TRY(const auto options, how());
    return give(session->session.acquire(name, options), lock);
  });
}

// The callback of an acquire.
struct Callee {
  gcoord_lock_callback callback;
  void* user;
};

template <typename How>
gcoord_status acquire_async(
    gcoord_session* session, const char* name, How how, Callee callee, gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<Lock>>> {
    GCOORD_TRY(const auto options, how());
    return session->session.acquire_async(name, options);
  };
  return begin_async({{session, "session"}, {name, "name"}},
                     callee.callback,
                     error,
                     ask,
                     giving_to<gcoord_lock, Lock>(callee.callback, callee.user));
}

}  // namespace

namespace gcoord::client {

Result<AcquireOptions> acquire_options_of(const gcoord_acquire_options* given) {
  if (given == nullptr) {
    return AcquireOptions{};
  }
  GCOORD_TRY_STATUS(initialised(*given));
  if (given->note == nullptr && given->note_bytes != 0) {
    return failure(protocol::ErrorCode::OptionMissing, "note");
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
  return gcoord_lock_acquire_stoppable_async(
      session, name, options, nullptr, callback, user, error);
}

gcoord_status gcoord_lock_acquire_stoppable_async(gcoord_session* session,
                                                  const char* name,
                                                  const gcoord_acquire_options* options,
                                                  const gcoord_stop* stop,
                                                  gcoord_lock_callback callback,
                                                  void* user,
                                                  gcoord_error* error) {
  const std::stop_token token = token_of(stop);
  const auto how = [&]() -> Result<AcquireOptions> {
    GCOORD_TRY(auto given, acquire_options_of(options));
    given.stop = &token;
    return given;
  };
  return acquire_async(session, name, how, {callback, user}, error);
}

void gcoord_lock_free(gcoord_lock* lock) {
  delete lock;
}

gcoord_status gcoord_lock_release(gcoord_lock* lock, gcoord_error* error) {
  return border(error, {{lock, "lock"}}, [&] { return lock->lock.release(); });
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
  return border(error, {{session, "session"}, {name, "name"}}, [&] {
    return session->session.release(name, token);
  });
}

gcoord_status gcoord_lock_release_async(gcoord_lock* lock,
                                        gcoord_done_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return begin_change(
      {{lock, "lock"}}, callback, user, error, [&] { return lock->lock.release_async(); });
}

gcoord_status gcoord_session_release_async(gcoord_session* session,
                                           const char* name,
                                           uint64_t token,
                                           gcoord_done_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_change({{session, "session"}, {name, "name"}}, callback, user, error, [&] {
    return session->session.release_async(name, token);
  });
}

gcoord_status gcoord_lock_break(gcoord_client* client,
                                const char* name,
                                uint64_t token,
                                const char* who,
                                const char* reason,
                                gcoord_holder* broken,
                                gcoord_error* error) {
  return border(error,
                {{client, "client"}, {name, "name"}, {who, "who"}, {reason, "reason"}},
                [&]() -> Status {
                  const auto ended = client->client.break_lock(
                      name, {.token = token, .who = who, .reason = reason});
                  if (ended.ok() && broken != nullptr) {
                    *broken = {ended.value().session_id, ended.value().token, 0, 0};
                  }
                  return ended.status();
                });
}

gcoord_status gcoord_lock_move(gcoord_client* client,
                               const char* name,
                               uint32_t to_shard,
                               gcoord_error* error) {
  return border(error, {{client, "client"}, {name, "name"}}, [&] {
    return client->client.move_lock(name, to_shard);
  });
}

gcoord_status gcoord_lock_break_async(gcoord_client* client,
                                      const char* name,
                                      uint64_t token,
                                      const char* who,
                                      const char* reason,
                                      gcoord_holder_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  return begin_async(
      {{client, "client"}, {name, "name"}, {who, "who"}, {reason, "reason"}},
      callback,
      error,
      [&] {
        return Result{
            client->client.break_lock_async(name, {.token = token, .who = who, .reason = reason})};
      },
      telling<BrokenLock>(callback, user, [](const BrokenLock& broken) {
        return gcoord_holder{broken.session_id, broken.token, 0, 0};
      }));
}

gcoord_status gcoord_lock_move_async(gcoord_client* client,
                                     const char* name,
                                     uint32_t to_shard,
                                     gcoord_done_callback callback,
                                     void* user,
                                     gcoord_error* error) {
  return begin_change({{client, "client"}, {name, "name"}}, callback, user, error, [&] {
    return client->client.move_lock_async(name, to_shard);
  });
}
