// Several locks at once, for C.
#include "client/c/border.h"
#include "gcoord/gcoord_async.h"

#include <string>
#include <vector>

using namespace gcoord::client;

namespace {

bool within(const gcoord_multi_lock* locks, size_t index) {
  return index < gcoord_multi_lock_size(locks);
}

}  // namespace

gcoord_status gcoord_lock_acquire_all(gcoord_session* session,
                                      const char* const* names,
                                      size_t count,
                                      const gcoord_acquire_options* options,
                                      gcoord_multi_lock** locks,
                                      gcoord_error* error) {
  return border(error, {{session, "session"}, {locks, "locks"}}, [&]() -> Status {
    GCOORD_TRY_STATUS(names_given(names, count));
    GCOORD_TRY(const auto how, acquire_options_of(options));
    const std::vector<std::string> list(names, names + count);
    return give(session->session.acquire_all(list, how), locks);
  });
}

gcoord_status gcoord_lock_acquire_all_async(gcoord_session* session,
                                            const char* const* names,
                                            size_t count,
                                            const gcoord_acquire_options* options,
                                            gcoord_multi_lock_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return gcoord_lock_acquire_all_stoppable_async(
      session, names, count, options, nullptr, callback, user, error);
}

gcoord_status gcoord_lock_acquire_all_stoppable_async(gcoord_session* session,
                                                      const char* const* names,
                                                      size_t count,
                                                      const gcoord_acquire_options* options,
                                                      const gcoord_stop* stop,
                                                      gcoord_multi_lock_callback callback,
                                                      void* user,
                                                      gcoord_error* error) {
  const std::stop_token token = token_of(stop);
  const auto ask = [&]() -> Result<Future<Result<MultiLock>>> {
    GCOORD_TRY_STATUS(names_given(names, count));
    GCOORD_TRY(auto how, acquire_options_of(options));
    how.stop = &token;
    return session->session.acquire_all_async({names, names + count}, how);
  };
  return begin_async({{session, "session"}},
                     callback,
                     error,
                     ask,
                     giving_to<gcoord_multi_lock, MultiLock>(callback, user));
}

void gcoord_multi_lock_free(gcoord_multi_lock* locks) {
  delete locks;
}

gcoord_status gcoord_multi_lock_release(gcoord_multi_lock* locks, gcoord_error* error) {
  return border(error, {{locks, "locks"}}, [&] { return locks->locks.release(); });
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

gcoord_status gcoord_multi_lock_release_async(gcoord_multi_lock* locks,
                                              gcoord_done_callback callback,
                                              void* user,
                                              gcoord_error* error) {
  return begin_change(
      {{locks, "locks"}}, callback, user, error, [&] { return locks->locks.release_async(); });
}
