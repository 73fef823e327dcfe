// Many locks in one call, for C.
#include "gcoord/lock_batch.h"

#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_batch.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace gcoord::client;

// A name that was not granted, or whose lock was given back, has an empty lock.
struct gcoord_lock_batch {
  std::vector<std::string> names;
  std::vector<Status> outcomes;
  std::vector<Lock> locks;
  bool detached = false;
};

namespace {

using Outcomes = std::vector<Result<Lock>>;

Result<gcoord_lock_batch> batch_of(const std::vector<std::string>& names,
                                   Result<Outcomes> outcomes) {
  if (!outcomes.ok()) {
    return outcomes.status();
  }
  gcoord_lock_batch batch{names, {}, {}};
  for (Result<Lock>& outcome : outcomes.value()) {
    batch.outcomes.push_back(outcome.status());
    batch.locks.push_back(outcome.ok() ? std::move(outcome).value() : Lock{});
  }
  return batch;
}

bool within(const gcoord_lock_batch* batch, size_t index) {
  return index < gcoord_lock_batch_size(batch);
}

// Without options nobody waits.
Result<AcquireOptions> batch_options_of(const gcoord_acquire_options* given) {
  return given != nullptr ? acquire_options_of(given) : wait_of(0);
}

Result<std::vector<HeldToken>> holds_of(const char* const* names,
                                        const uint64_t* tokens,
                                        size_t count) {
  GCOORD_TRY(const auto checks, checks_of(names, tokens, count));
  std::vector<HeldToken> holds;
  for (const TokenCheck& each : checks) {
    holds.push_back({each.name, each.token});
  }
  return holds;
}

gcoord_outcome plain_of(const Status& status) {
  return {static_cast<gcoord_status>(status.code()), status.detail()};
}

Status first_of(const Result<std::vector<Status>>& released) {
  if (!released.ok()) {
    return released.status();
  }
  const auto failed =
      std::ranges::find_if(released.value(), [](const Status& each) { return !each.ok(); });
  return failed == released.value().end() ? Status{} : *failed;
}

// What was granted and is to be given back.
std::vector<Lock> take_held(gcoord_lock_batch& batch) {
  std::vector<Lock> held;
  for (Lock& lock : batch.locks) {
    if (!batch.detached && lock.fence() != 0) {
      held.push_back(std::exchange(lock, Lock{}));
    }
  }
  return held;
}

}  // namespace

gcoord_status gcoord_lock_acquire_many(gcoord_session* session,
                                       const char* const* names,
                                       size_t count,
                                       const gcoord_acquire_options* options,
                                       gcoord_lock_batch** batch,
                                       gcoord_error* error) {
  return border(error, {{session, "session"}, {batch, "batch"}}, [&]() -> Status {
    GCOORD_TRY_STATUS(names_given(names, count));
    GCOORD_TRY(const auto how, batch_options_of(options));
    const std::vector<std::string> list(names, names + count);
    return give(batch_of(list, session->session.acquire_many(list, how)), batch);
  });
}

gcoord_status gcoord_lock_acquire_many_async(gcoord_session* session,
                                             const char* const* names,
                                             size_t count,
                                             const gcoord_acquire_options* options,
                                             const gcoord_stop* stop,
                                             gcoord_lock_batch_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  const std::stop_token token = token_of(stop);
  const auto list = std::make_shared<std::vector<std::string>>();
  const auto ask = [&]() -> Result<Future<Result<Outcomes>>> {
    GCOORD_TRY_STATUS(names_given(names, count));
    GCOORD_TRY(auto how, batch_options_of(options));
    how.stop = &token;
    list->assign(names, names + count);
    return session->session.acquire_many_async(*list, how);
  };
  const auto tell = giving_to<gcoord_lock_batch, gcoord_lock_batch>(callback, user);
  return begin_async(
      {{session, "session"}}, callback, error, ask, [list, tell](Result<Outcomes> outcomes) {
        tell(batch_of(*list, std::move(outcomes)));
      });
}

void gcoord_lock_batch_free(gcoord_lock_batch* batch) {
  delete batch;
}

size_t gcoord_lock_batch_size(const gcoord_lock_batch* batch) {
  return batch != nullptr ? batch->names.size() : 0;
}

size_t gcoord_lock_batch_granted(const gcoord_lock_batch* batch) {
  return batch == nullptr ? 0
                          : static_cast<size_t>(std::ranges::count_if(
                                batch->outcomes, [](const Status& each) { return each.ok(); }));
}

const char* gcoord_lock_batch_name(const gcoord_lock_batch* batch, size_t index) {
  return within(batch, index) ? batch->names[index].c_str() : "";
}

uint64_t gcoord_lock_batch_fence(const gcoord_lock_batch* batch, size_t index) {
  return within(batch, index) ? batch->locks[index].fence() : 0;
}

bool gcoord_lock_batch_already_held(const gcoord_lock_batch* batch, size_t index) {
  return within(batch, index) && batch->locks[index].already_held();
}

bool gcoord_lock_batch_valid(const gcoord_lock_batch* batch, size_t index) {
  return within(batch, index) && batch->locks[index].valid();
}

gcoord_status gcoord_lock_batch_outcome(const gcoord_lock_batch* batch,
                                        size_t index,
                                        gcoord_error* error) {
  return border(error, {{batch, "batch"}}, [&]() -> Status {
    if (!within(batch, index)) {
      return failure(gcoord::protocol::ErrorCode::OptionInvalid, "index is beyond the batch");
    }
    return batch->outcomes[index];
  });
}

gcoord_status gcoord_lock_batch_release(gcoord_lock_batch* batch, gcoord_error* error) {
  return border(error, {{batch, "batch"}}, [&]() -> Status {
    auto held = take_held(*batch);  // What stays undecided is released once more at its end.
    return held.empty() ? Status{} : first_of(Session::release_many(held));
  });
}

gcoord_status gcoord_lock_batch_release_async(gcoord_lock_batch* batch,
                                              gcoord_done_callback callback,
                                              void* user,
                                              gcoord_error* error) {
  return border(error, {{batch, "batch"}}, [&]() -> Status {
    GCOORD_TRY_STATUS(required({callee(callback)}));
    auto held = take_held(*batch);
    if (held.empty()) {
      callback(user, nullptr);
      return {};
    }
    Session::release_many_async(std::move(held))
        .then([callback, user](const Result<std::vector<Status>>& released) {
          gcoord_error why{};
          callback(user, report(first_of(released), &why) == GCOORD_OK ? nullptr : &why);
        });
    return {};
  });
}

void gcoord_lock_batch_detach(gcoord_lock_batch* batch) {
  if (batch != nullptr) {
    batch->detached = true;
    for (Lock& lock : batch->locks) {
      lock.detach();
    }
  }
}

gcoord_status gcoord_session_release_many(gcoord_session* session,
                                          const char* const* names,
                                          const uint64_t* tokens,
                                          size_t count,
                                          gcoord_outcome* outcomes,
                                          gcoord_error* error) {
  return border(error, {{session, "session"}}, [&]() -> Status {
    GCOORD_TRY(auto holds, holds_of(names, tokens, count));
    const auto released = session->session.release_many(std::move(holds));
    if (!released.ok() || outcomes == nullptr) {
      return first_of(released);
    }
    std::ranges::transform(released.value(), outcomes, plain_of);
    return {};
  });
}

gcoord_status gcoord_session_release_many_async(gcoord_session* session,
                                                const char* const* names,
                                                const uint64_t* tokens,
                                                size_t count,
                                                gcoord_outcomes_callback callback,
                                                void* user,
                                                gcoord_error* error) {
  const auto ask = [&]() -> Result<Future<Result<std::vector<Status>>>> {
    GCOORD_TRY(auto holds, holds_of(names, tokens, count));
    return session->session.release_many_async(std::move(holds));
  };
  return begin_async({{session, "session"}},
                     callback,
                     error,
                     ask,
                     [callback, user](const Result<std::vector<Status>>& released) {
                       gcoord_error why{};
                       if (report(released.status(), &why) != GCOORD_OK) {
                         return callback(user, nullptr, 0, &why);
                       }
                       std::vector<gcoord_outcome> outcomes;
                       std::ranges::transform(
                           released.value(), std::back_inserter(outcomes), plain_of);
                       callback(user, outcomes.data(), outcomes.size(), nullptr);
                     });
}

gcoord_status gcoord_session_renew_until(gcoord_session* session,
                                         int64_t* certain_until_ns,
                                         gcoord_error* error) {
  return border(
      error, {{session, "session"}, {certain_until_ns, "certain_until_ns"}}, [&]() -> Status {
        GCOORD_TRY(const TimePoint until, session->session.renew_until());
        *certain_until_ns = until.count();
        return {};
      });
}

gcoord_status gcoord_session_renew_until_async(gcoord_session* session,
                                               gcoord_until_callback callback,
                                               void* user,
                                               gcoord_error* error) {
  return begin_async(
      {{session, "session"}},
      callback,
      error,
      [&] { return Result{session->session.renew_until_async()}; },
      telling<TimePoint>(callback, user, [](TimePoint until) { return int64_t{until.count()}; }));
}
