// The outcome of a call that is under way, for whoever wants to wait, to ask, or to co_await.
//
//   blocking    auto lock = session.acquire_async("jobs/train").get();
//   callback    session.acquire_async("jobs/train").then([](auto lock) { ... });
//   coroutine   auto lock = co_await session.acquire_async("jobs/train");
//
// No thread is started for any of them. A callback runs, and a coroutine goes on, on the client's
// own thread, where it must return (or suspend again) soon and where blocking functions fail with
// GC4011; on(executor) moves both elsewhere. Every call ends by its deadline or with its client, so
// every future becomes ready.
//
// A future that is dropped forgets its outcome: a lock that comes afterwards is released at once.
// A coroutine may be destroyed while it is suspended on a future, as long as it has not been handed
// to an executor. Use a future from one thread at a time; different futures are independent, and
// one may be handed to another thread between calls.
//
// Which form to take: get() where a thread may block; then() for programs of callbacks, with on()
// for those that have an event loop of their own; co_await for coroutines of any library, as the
// type is an awaitable and needs no task type of this one.
#pragma once

#include "gcoord/api.h"
#include "gcoord/status.h"

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace gcoord::client {

// Runs a function soon, on a thread of its choice: the "post" of an event loop. It must run each
// function exactly once: one that it drops is a callback that never comes, and a coroutine that is
// never resumed. It is called on the client's thread, or by then() itself, so it must not wait. Of
// an asio program:
//
//   Executor executor = [&io](std::function<void()> work) { asio::post(io, std::move(work)); };
using Executor = std::function<void(std::function<void()>)>;

// The failure GC4011 of a blocking function on the client's own thread, which would wait for
// itself.
GCOORD_API Status blocked_in_callback();

// State that a future and the client's thread share. For the library only; thread-safe.
template <typename R>
class FutureState {
 public:
  explicit FutureState(std::thread::id client_thread) : client_thread_(client_thread) {}

  // Stores the outcome and wakes the waiter, or runs the next step. Called exactly once.
  void set(R result) {
    std::function<void()> next;
    {
      const std::lock_guard lock{mutex_};
      result_.emplace(std::move(result));
      next = std::exchange(next_, {});
      changed_.notify_all();
    }
    if (next) {
      next();
    }
  }

  // Whether the outcome is there.
  bool ready() const {
    const std::lock_guard lock{mutex_};
    return result_.has_value();
  }

  // Waits for the outcome. False on the client's own thread while it is missing: the outcome would
  // never come while this thread waits.
  bool wait() const {
    std::unique_lock lock{mutex_};
    if (!result_.has_value() && std::this_thread::get_id() == client_thread_) {
      return false;
    }
    changed_.wait(lock, [this] { return result_.has_value(); });
    return true;
  }

  // Waits for at most `timeout`; whether the outcome is there. On the client's own thread it only
  // delays the client.
  bool wait_for(std::chrono::nanoseconds timeout) const {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, timeout, [this] { return result_.has_value(); });
  }

  // Registers `next` to run with the outcome. False if the outcome is there already: then `next`
  // will not run.
  bool call_when_ready(std::function<void()> next) {
    const std::lock_guard lock{mutex_};
    if (!result_.has_value()) {
      next_ = std::move(next);
    }
    return !result_.has_value();
  }

  // Drops the registered next step, for a future that is destroyed first.
  void forget_next() {
    const std::lock_guard lock{mutex_};
    next_ = {};
  }

  // Moves the outcome out. Only when ready, and once.
  R take() {
    const std::lock_guard lock{mutex_};
    return std::move(*result_);
  }

 private:
  const std::thread::id client_thread_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<R> result_;
  std::function<void()> next_;
};

// The outcome of one call; R is Status or Result<T>. Moved, never copied: one owner takes the
// outcome, once. Moving from a future leaves one that is not valid(); assigning to a future
// exchanges both.
//
// A failure is an outcome as any other, and nothing throws: it is the one of the blocking namesake,
// GC4009 when no answer came by the call's deadline, or GC4010 when the client was closed first.
// After GC4009 the call may have had its effect, unless its own words say what became of it. The
// functions that wait block the caller's thread alone: the client goes on, and other futures become
// ready meanwhile.
template <typename R>
class [[nodiscard]] Future {
 public:
  // For the library: programs get futures from functions that end in _async.
  explicit Future(std::shared_ptr<FutureState<R>> state) : state_(std::move(state)) {}

  // Drops what was not taken. Does not wait, and does not end the call: what it brings is
  // forgotten, and a lock that comes is released.
  ~Future() {
    if (state_ != nullptr) {
      state_->forget_next();
    }
  }

  Future(Future&&) noexcept = default;

  Future& operator=(Future&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(executor_, other.executor_);
    return *this;
  }

  // Whether the outcome can still be taken: false after get(), then() or co_await have taken it.
  // The functions below end the program when it is false.
  bool valid() const { return state_ != nullptr; }

  // Whether get() would return at once: for programs that ask now and then, between other work, and
  // must not be held up.
  bool ready() const { return checked().ready(); }

  // Waits at most so long by the system's clock; whether it is ready now. Not on the client's own
  // thread, which it only delays: no outcome comes while that waits.
  bool wait_for(std::chrono::nanoseconds timeout) const { return checked().wait_for(timeout); }

  // Waits for the outcome and takes it, as a failure, too; the future is not valid() afterwards.
  // Blocks by the system's clock until the call's deadline at most. GC4011 on the client's own
  // thread, unless the outcome is there.
  R get() {
    const auto state = std::exchange(state_, nullptr);
    if (state == nullptr) {
      std::abort();  // A bug of the caller: the outcome was taken before.
    }
    return state->wait() ? state->take() : R{blocked_in_callback()};
  }

  // Chooses the executor of a later then() or co_await; without it they continue on the client's
  // thread. Of a temporary, so that it reads in one line: `call().on(executor).then(callback)`. The
  // executor is kept until the callback has been handed to it.
  Future&& on(Executor executor) && {
    executor_ = std::move(executor);
    return std::move(*this);
  }

  // The callback runs once: on the executor if there is one, else on the client's thread, or here
  // and now if the future is ready. It gets failures, too, as every call ends. It must not
  // throw, and may start other calls.
  void then(std::function<void(R)> callback) && {
    const auto state = std::exchange(state_, nullptr);
    if (state == nullptr) {
      std::abort();  // As in get().
    }
    const auto next = on_executor(
        [state = state.get(), callback = std::move(callback)] { callback(state->take()); });
    // The state lives until then: whoever sets it holds it, and so does what an executor is given.
    if (!state->call_when_ready([next, state] { next(state); })) {
      next(state);
    }
  }

  // The interface of co_await; programs do not call it. Resumes on the executor if there is one,
  // otherwise on the client's thread; goes on at once if the outcome is there and no executor is
  // chosen. The coroutine then runs where blocking functions fail with GC4011, so it awaits other
  // calls, too, or moves away by on().
  bool await_ready() const { return executor_ == nullptr && checked().ready(); }

  bool await_suspend(std::coroutine_handle<> waiting) {
    // Held here too: the coroutine may go on, and end this future, before this returns.
    const auto state = state_;
    const auto next = on_executor([waiting] { waiting.resume(); });
    const bool must_move = executor_ != nullptr;
    if (state->call_when_ready([next, weak = std::weak_ptr{state}] { next(weak.lock()); })) {
      return true;
    }
    if (must_move) {
      next(state);
    }
    return must_move;
  }

  R await_resume() { return get(); }

 private:
  using State = std::shared_ptr<FutureState<R>>;

  const FutureState<R>& checked() const {
    if (state_ == nullptr) {
      std::abort();  // As in get().
    }
    return *state_;
  }

  // Runs `work` where it is to run, and keeps the state until then.
  std::function<void(State)> on_executor(std::function<void()> work) const {
    return [executor = executor_, work = std::move(work)](State state) {
      if (executor == nullptr) {
        return work();
      }
      executor([work, state] { work(); });
    };
  }

  State state_;
  Executor executor_;
};

}  // namespace gcoord::client
