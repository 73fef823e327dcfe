// The same calls as coroutines: they suspend instead of waiting, and start no thread.
//
// A coroutine goes on on the client's own thread, or on an executor of yours: here the main thread,
// which takes work from a queue. The coroutine type is your program's choice; this is a small one.
#include "example.h"

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace {

// Begins at once and cleans up after itself.
struct Routine {
  struct promise_type {
    Routine get_return_object() { return {}; }

    std::suspend_never initial_suspend() noexcept { return {}; }

    std::suspend_never final_suspend() noexcept { return {}; }

    void return_void() {}

    void unhandled_exception() { std::terminate(); }
  };
};

// An event loop of the smallest kind.
class Loop {
 public:
  void post(std::function<void()> work) {
    const std::lock_guard lock{mutex_};
    queue_.push_back(std::move(work));
    changed_.notify_one();
  }

  void run_until(const bool& done) {
    while (!done) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return !queue_.empty(); });
      const auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
};

Routine hold_in_turn(gcoord::client::Client& client,
                     gcoord::client::Session& session,
                     Loop& loop,
                     bool& done) {
  const gcoord::client::Executor here = [&loop](std::function<void()> work) {
    loop.post(std::move(work));
  };
  // Named, because g++ 12 destroys options twice that are made in the midst of a co_await.
  const gcoord::client::ReadOptions mine{.consistency = gcoord::client::Consistency::Monotonic};
  for (const char* name : {"examples/one", "examples/two"}) {
    auto lock = example::value_of(co_await session.acquire_async(name).on(here));
    const auto verdict =
        example::value_of(co_await client.check_async(name, lock.fence()).on(here));
    example::expect(verdict == gcoord::client::Verdict::Valid, "the token is valid");
    example::expect(!client.in_callback(), "this is the main thread");
    const auto seen = example::value_of(co_await client.get_async(name).on(here));
    example::expect(seen.token == lock.fence(), "others see its token");
    const auto read = example::value_of(co_await client.read_async(name, mine).on(here));
    example::expect(read.lock.has_value(), "any node shows what this client wrote");
    const auto status = co_await lock.release_async().on(here);
    example::expect(status.ok(), status.to_string());
  }
  const std::vector<std::string> names = {"examples/one", "examples/two"};
  auto both = example::value_of(co_await session.acquire_all_async(names).on(here));
  const auto given_back = co_await both.release_async().on(here);
  example::expect(given_back.ok(), given_back.to_string());
  const auto closed = co_await session.close_async().on(here);
  example::expect(closed.ok(), closed.to_string());
  done = true;
}

}  // namespace

int main() {
  auto client = example::connect();
  auto session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));
  Loop loop;
  bool done = false;
  hold_in_turn(client, session, loop, done);
  loop.run_until(done);
  std::printf("two locks held in turn, then together; no thread started\n");
  return 0;
}
