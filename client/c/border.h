// The border between C and C++: what handles hold, and how a Status becomes what C understands.
//
// Every function of gcoord.h that can fail runs inside border() or guarded(), so no exception
// crosses. Nothing here decides anything; each file c_*.cc translates one subject.
#pragma once

#include "common/status.h"
#include "gcoord/client.h"
#include "gcoord/gcoord.h"
#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_reads.h"
#include "gcoord/gcoord_stop.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {

// Calls the program's event callback until it is shut, and not after that. Shutting waits for a
// call that runs, unless it happens inside it. Thread-safe.
class EventGate {
 public:
  EventGate(gcoord_event_callback callback, void* user) : callback_(callback), user_(user) {}

  // One of GCOORD_JEOPARDY and its neighbours; nothing when there is no callback for them.
  void pass(std::int32_t event);

  // The same for other callbacks of the same handle: call(user).
  template <typename Call>
  void pass_to(Call call) {
    const std::lock_guard lock{mutex_};
    if (open_) {
      call(user_);
    }
  }

  void shut();

 private:
  std::recursive_mutex mutex_;
  bool open_ = true;
  gcoord_event_callback callback_;
  void* user_;
};

// A clock that the program moves.
class BorrowedClock final : public Clock {
 public:
  BorrowedClock(std::int64_t (*now_ns)(void*), void* user) : now_ns_(now_ns), user_(user) {}

  TimePoint now() const override { return TimePoint{now_ns_(user_)}; }

  void notify_moves(std::function<void()> wake) override;
  void moved();

 private:
  std::int64_t (*now_ns_)(void*);
  void* user_;
  std::mutex mutex_;
  std::function<void()> wake_;
};

// Fills what C is told; the code of the status.
gcoord_status report(const Status& status, gcoord_error* error) noexcept;

// GC1002 for the first that is NULL.
struct Argument {
  const void* value;
  const char* name;
};

Status required(std::initializer_list<Argument> arguments);

template <typename... Arguments>
Argument callee(void (*callback)(Arguments...)) {
  return {reinterpret_cast<const void*>(callback), "callback"};
}

// A text of which there may be none.
inline std::string text_given(const char* text) {
  return text != nullptr ? text : "";
}

// GC1002 where the array is NULL, or one of `count` names in it.
Status names_given(const char* const* names, std::size_t count);

// The first of them that is a failure, or success.
Status first_failure(std::initializer_list<Status> outcomes);

// GC1001: a structure of options that its _init has not filled.
Status not_initialised();

// Later versions may add fields at the end; an earlier one than this there is not.
template <typename Options>
Status initialised(const Options& given) {
  return given.struct_bytes < sizeof given ? not_initialised() : Status{};
}

// The same of options that have grown since their first version, which had `first_bytes`: the
// defaults, and on top of them what the caller knows of.
template <typename Options>
Result<Options> whole(const Options& given, Options defaults, std::size_t first_bytes) {
  if (given.struct_bytes < first_bytes) {
    return not_initialised();
  }
  std::memcpy(&defaults, &given, std::min(given.struct_bytes, sizeof defaults));
  return defaults;
}

// Their _init_as: zeros where the caller knows more than this library does.
template <typename Options>
void fill_options(Options* options, const Options& defaults, std::size_t struct_bytes) {
  if (options == nullptr || struct_bytes < sizeof options->struct_bytes) {
    return;
  }
  std::memset(static_cast<void*>(options), 0, struct_bytes);
  std::memcpy(static_cast<void*>(options), &defaults, std::min(struct_bytes, sizeof defaults));
  options->struct_bytes = struct_bytes;
}

// The beginning of every other _init: zeros, and the size that the caller was compiled with. False:
// options is NULL.
template <typename Options>
bool begin_options(Options* options) {
  if (options == nullptr) {
    return false;
  }
  *options = Options{};
  options->struct_bytes = sizeof *options;
  return true;
}

// A wait of AcquireOptions; GC1001 for what is neither a time nor GCOORD_FOREVER.
Result<AcquireOptions> wait_of(std::int64_t wait_ms);

// How to acquire; without options, as AcquireOptions says. GC1001 for what cannot be meant. The
// note is a view of the caller's.
Result<AcquireOptions> acquire_options_of(const gcoord_acquire_options* given);

// The token of what may be NULL: then nobody stops it.
inline std::stop_token token_of(const gcoord_stop* stop);

// Callbacks of a handle for the events of its session. Both may be empty.
std::shared_ptr<EventGate> gate_of(gcoord_event_callback callback, void* user);
std::function<void(SessionEvent)> events_through(const std::shared_ptr<EventGate>& gate);
std::function<void(const LostLock&)> losses_through(const std::shared_ptr<EventGate>& gate);
void shut(const std::shared_ptr<EventGate>& gate);

Status caught(const std::exception& exception);

// body() -> Status, reported.
template <typename Body>
gcoord_status guarded(gcoord_error* error, Body body) noexcept {
  try {
    return report(body(), error);
  } catch (const std::exception& exception) {
    return report(caught(exception), error);
  }
}

// The frame of a call: body() -> Status runs only if none of the arguments is missing.
template <typename Body>
gcoord_status border(gcoord_error* error,
                     std::initializer_list<Argument> arguments,
                     Body body) noexcept {
  return guarded(error, [&]() -> Status {
    Status given = required(arguments);
    return given.ok() ? body() : given;
  });
}

// Puts the value of a Result into a new handle, with what else the handle holds.
template <typename Handle, typename T, typename... Rest>
Status give(Result<T> made, Handle** handle, Rest&&... rest) {
  if (!made.ok()) {
    return made.status();
  }
  *handle = new Handle{std::move(made).value(), std::forward<Rest>(rest)...};
  return {};
}

// The frame of a call that returns a new handle, or nullptr with the error; make() -> Result.
template <typename Handle, typename Make>
Handle* make_handle(gcoord_error* error,
                    std::initializer_list<Argument> arguments,
                    Make make) noexcept {
  Handle* handle = nullptr;
  border(error, arguments, [&] { return give(make(), &handle); });
  return handle;
}

// Begins what does not wait. What is missing, the callback too, is named at once, and so is what
// ask() -> Result<Future<T>> refuses; the future's outcome then goes to tell(T).
template <typename Callback, typename Ask, typename Tell>
gcoord_status begin_async(std::initializer_list<Argument> arguments,
                          Callback callback,
                          gcoord_error* error,
                          Ask ask,
                          Tell tell) {
  return border(error, arguments, [&]() -> Status {
    GCOORD_TRY_STATUS(required({callee(callback)}));
    auto asked = ask();
    if (asked.ok()) {
      std::move(asked).value().then(std::move(tell));
    }
    return asked.status();
  });
}

// The same of what brings nothing; ask() -> Future<Status>, or a Result of it.
template <typename Ask>
gcoord_status begin_change(std::initializer_list<Argument> arguments,
                           void (*callback)(void*, const gcoord_error*),
                           void* user,
                           gcoord_error* error,
                           Ask ask) {
  return begin_async(
      arguments,
      callback,
      error,
      [&] { return Result<Future<Status>>{ask()}; },
      [callback, user](const Status& status) {
        gcoord_error why{};
        report(status, &why);
        callback(user, status.ok() ? nullptr : &why);
      });
}

// A callback that hands on one value, seen by C as a Plain that lives during the call, or the
// error. plain_of(const T&) -> Plain, without owning anything.
template <typename T, typename Plain, typename PlainOf>
auto telling(void (*callback)(void*, const Plain*, const gcoord_error*),
             void* user,
             PlainOf plain_of) {
  return [callback, user, plain_of](const Result<T>& outcome) {
    if (!outcome.ok()) {
      gcoord_error why{};
      report(outcome.status(), &why);
      return callback(user, nullptr, &why);
    }
    const Plain plain = plain_of(outcome.value());
    callback(user, &plain, nullptr);
  };
}

// How fresh a read must be, and is. GC1001 and GC1002 for options that cannot be meant.
Result<ReadOptions> read_options_of(const gcoord_read_options* given);
gcoord_freshness freshness_of(const Freshness& at);

// Names and the tokens that they are checked for; GC1002 where some are missing.
Result<std::vector<TokenCheck>> checks_of(const char* const* names,
                                          const std::uint64_t* tokens,
                                          std::size_t count);

// A callback that hands an outcome on to C: a new handle that is the callee's, or the error.
template <typename Handle, typename T>
auto giving_to(void (*callback)(void*, Handle*, const gcoord_error*), void* user) {
  return [callback, user](Result<T> made) {
    gcoord_error why{};
    Handle* handle = nullptr;
    const gcoord_status status = guarded(&why, [&] { return give(std::move(made), &handle); });
    callback(user, handle, status == GCOORD_OK ? nullptr : &why);
  };
}

// The same of a session or a lease, whose events go through the gate.
template <typename Handle, typename T>
auto giving_to(void (*callback)(void*, Handle*, const gcoord_error*),
               void* user,
               const std::shared_ptr<EventGate>& gate) {
  return [callback, user, gate](Result<T> made) {
    gcoord_error why{};
    Handle* handle = nullptr;
    const gcoord_status status =
        guarded(&why, [&] { return give(std::move(made), &handle, gate); });
    if (handle == nullptr) {
      shut(gate);
    }
    callback(user, handle, status == GCOORD_OK ? nullptr : &why);
  };
}

}  // namespace gcoord::client

struct gcoord_client {
  gcoord::client::Client client;
  std::shared_ptr<gcoord::client::BorrowedClock> clock;
};

struct gcoord_session {
  gcoord::client::Session session;
  std::shared_ptr<gcoord::client::EventGate> gate;
  gcoord::client::LostLock lost{};  // Of the last next_event.
};

struct gcoord_stop {
  std::stop_source source;
};

struct gcoord_lock {
  gcoord::client::Lock lock;
};

struct gcoord_multi_lock {
  gcoord::client::MultiLock locks;
};

struct gcoord_description {
  gcoord::client::LockDescription lock;
};

struct gcoord_page {
  std::vector<gcoord_description> locks;
  std::string next_cursor;
  bool complete = true;
  std::uint32_t node_id = 0;
  std::vector<gcoord::client::Freshness> shards;
};

struct gcoord_lease {
  gcoord::client::Lease lease;
  std::shared_ptr<gcoord::client::EventGate> gate;
  gcoord::client::LostLock lost{};
};

struct gcoord_election {
  gcoord::client::Election election;
};

inline std::stop_token gcoord::client::token_of(const gcoord_stop* stop) {
  return stop != nullptr ? stop->source.get_token() : std::stop_token{};
}
