// Several locks at once, for C.
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

gcoord_status gcoord_lock_acquire_all(gcoord_session* session,
                                      const char* const* names,
                                      size_t count,
                                      const gcoord_acquire_options* options,
                                      gcoord_multi_lock** locks,
                                      gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    auto list = names_of(names, count);
    const auto how = acquire_options_of(options);
    const Status given = first_failure(
        {required({{session, "session"}, {locks, "locks"}}), list.status(), how.status()});
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
    auto list = names_of(names, count);
    const auto how = acquire_options_of(options);
    const Status given = first_failure(
        {required({{session, "session"}, {reinterpret_cast<const void*>(callback), "callback"}}),
         list.status(),
         how.status()});
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
