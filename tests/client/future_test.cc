// Futures and coroutines: outcomes, threads, and what becomes of those that nobody waits for.
#include "gcoord/future.h"

#include "tests/client/client_fixture.h"

#include <coroutine>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::RequestKind;

// A coroutine that runs by itself from its call on and is destroyed by whoever holds it.
class Routine {
 public:
  struct promise_type {
    Routine get_return_object() {
      return Routine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }

    std::suspend_never initial_suspend() noexcept { return {}; }

    // Says so when the frame has been left for good, and no sooner: what is told inside it may
    // have its holder destroy it.
    struct Left {
      bool await_ready() noexcept { return false; }

      void await_suspend(std::coroutine_handle<promise_type> frame) noexcept {
        const auto left = frame.promise().left;
        left->set_value();
      }

      void await_resume() noexcept {}
    };

    Left final_suspend() noexcept { return {}; }

    void return_void() {}

    void unhandled_exception() { std::terminate(); }

    std::shared_ptr<std::promise<void>> left = std::make_shared<std::promise<void>>();
  };

  explicit Routine(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

  Routine(Routine&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}

  ~Routine() {
    if (frame_) {
      frame_.destroy();
    }
  }

  Routine& operator=(Routine&&) = delete;

  // Until its last line has run.
  void wait() const { frame_.promise().left->get_future().wait(); }

 private:
  std::coroutine_handle<promise_type> frame_;
};

class FutureTest : public ClientTest {
 protected:
  // Nothing of this kind is ever answered.
  void hold_back(RequestKind kind) {
    cluster_.answer_with([kind](const FakeRequest& request) -> std::optional<FakeReply> {
      return request.slot.kind == kind ? std::nullopt : std::optional{friendly_reply(request)};
    });
  }

  // Nothing of this kind is answered before the promise is kept: a callback that is set until then
  // runs on the client's thread, not on the test's.
  std::promise<void> hold_until_kept(RequestKind kind) {
    std::promise<void> kept;
    cluster_.answer_with([kind, waiting = kept.get_future().share()](const FakeRequest& request) {
      if (request.slot.kind == kind) {
        waiting.wait();
      }
      return std::optional{friendly_reply(request)};
    });
    return kept;
  }
};

TEST_F(FutureTest, BringsALockThatIsReleasedWithIt) {
  Client client = connect();
  Session session = open(client);
  {
    auto lock = session.acquire_async("name").get();
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(lock.value().fence(), 7u);
    EXPECT_TRUE(lock.value().valid());
  }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
}

TEST_F(FutureTest, BringsFailuresAsTheBlockingFormsDo) {
  Client client = connect();
  Session session = open(client);
  EXPECT_EQ(session.acquire_async("").get().status().detail(), 1101u);
  EXPECT_EQ(client.check_async("name", 0).get().status().detail(), 1107u);
  EXPECT_EQ(client.check_async("name", 7).get().value(), Verdict::Valid);
  EXPECT_TRUE(session.release_async("name", 7).get().ok());
}

TEST_F(FutureTest, IsReadyWhenTheAnswerIsThereAndNotBefore) {
  hold_back(RequestKind::LockCheck);
  Client client = connect();
  auto verdict = client.check_async("name", 7);
  cluster_.wait_for(RequestKind::LockCheck, 1);
  EXPECT_FALSE(verdict.ready());
  EXPECT_FALSE(verdict.wait_for(0ms));
  clock_->advance(request_timeout_);
  EXPECT_TRUE(verdict.wait_for(1min));
  EXPECT_TRUE(verdict.ready());
  EXPECT_EQ(verdict.get().status().detail(), kDetailDeadlineExceeded);
  EXPECT_FALSE(verdict.valid());
}

TEST_F(FutureTest, ThatIsDroppedReleasesTheLockThatComesAfterwards) {
  Client client = connect();
  Session session = open(client);
  static_cast<void>(session.acquire_async("name"));
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
}

TEST_F(FutureTest, RefusesToWaitOnTheClientsOwnThread) {
  std::promise<void> answers = hold_until_kept(RequestKind::LockAcquire);
  Client client = connect();
  Session session = open(client);
  std::promise<Status> told;
  session.acquire_async("name").then(
      [&](const Result<Lock>&) { told.set_value(session.acquire_async("other").get().status()); });
  answers.set_value();
  EXPECT_EQ(told.get_future().get().detail(), 4011u);
}

TEST_F(FutureTest, CallsBackOnTheClientsThreadOrWhereItIsTold) {
  std::promise<void> answers = hold_until_kept(RequestKind::LockCheck);
  Client client = connect();
  std::promise<bool> in_callback;
  client.check_async("name", 7).then(
      [&](const Result<Verdict>&) { in_callback.set_value(client.in_callback()); });
  answers.set_value();
  EXPECT_TRUE(in_callback.get_future().get());

  std::promise<std::function<void()>> handed;
  std::optional<Result<Verdict>> verdict;
  client.check_async("name", 7)
      .on([&](std::function<void()> work) { handed.set_value(std::move(work)); })
      .then([&](Result<Verdict> result) { verdict = std::move(result); });
  const auto work = handed.get_future().get();
  EXPECT_FALSE(verdict.has_value()) << "before the executor ran it";
  work();
  EXPECT_EQ(verdict.value().value(), Verdict::Valid);
}

Routine hold_for_a_check(Client& client, Session& session, std::promise<Verdict>& told) {
  auto lock = co_await session.acquire_async("name");
  const auto verdict = co_await client.check_async("name", lock.value().fence());
  const Status released = co_await lock.value().release_async();
  EXPECT_TRUE(released.ok());
  told.set_value(verdict.value());
}

TEST_F(FutureTest, ACoroutineAcquiresChecksAndReleases) {
  Client client = connect();
  Session session = open(client);
  std::promise<Verdict> told;
  const Routine routine = hold_for_a_check(client, session, told);
  EXPECT_EQ(told.get_future().get(), Verdict::Valid);
  routine.wait();
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
}

Routine check_elsewhere(Client& client, const Executor& executor, std::promise<bool>& told) {
  const auto verdict = co_await client.check_async("name", 7).on(executor);
  told.set_value(verdict.ok() && !client.in_callback());
}

TEST_F(FutureTest, ACoroutineGoesOnWhereItsExecutorRunsIt) {
  Client client = connect();
  std::promise<std::function<void()>> handed;
  const Executor executor = [&](std::function<void()> work) { handed.set_value(std::move(work)); };
  std::promise<bool> told;
  const Routine routine = check_elsewhere(client, executor, told);
  handed.get_future().get()();
  EXPECT_TRUE(told.get_future().get());
}

Routine wait_for_ever(Session& session, std::shared_ptr<int> alive) {
  auto lock = co_await session.acquire_async("name");
  *alive = lock.ok() ? 2 : 1;
}

TEST_F(FutureTest, ACoroutineMayBeDestroyedWhileItWaits) {
  hold_back(RequestKind::LockAcquire);
  Client client = connect();
  Session session = open(client);
  const auto alive = std::make_shared<int>(0);
  {
    const Routine routine = wait_for_ever(session, alive);
    cluster_.wait_for(RequestKind::LockAcquire, 1);
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_TRUE(session.close().ok()) << "which ends the acquire";
  EXPECT_EQ(*alive, 0);
}

TEST_F(FutureTest, BringsASessionAndALease) {
  Client client = connect();
  auto session = client.open_session_async({.ttl = 9s}).get();
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session.value().id(), 41u);
  auto lease = client.take_lease_async("name", {.ttl = 9s}).get();
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease.value().fence(), 7u);
}

TEST_F(FutureTest, EndsWithItsClient) {
  hold_back(RequestKind::LockCheck);
  std::optional<Future<Result<Verdict>>> verdict;
  {
    Client client = connect();
    verdict.emplace(client.check_async("name", 7));
  }
  EXPECT_EQ(verdict->get().status().detail(), 4010u);
}

TEST_F(FutureTest, EveryCallThatBlocksHasAFormThatDoesNot) {
  Client client = connect();
  Session session = open(client);
  EXPECT_TRUE(session.renew_async().get().ok());
  auto lock = session.try_acquire_async("one").get();
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(client.check_async("one", 7).get().value(), Verdict::Valid);
  EXPECT_EQ(client.get_async("").get().status().detail(), 1101u);
  EXPECT_EQ(client.check_batch_async({}).get().value().size(), 0u);
  EXPECT_EQ(client.candidates_async("").get().status().detail(), 1101u);
  EXPECT_EQ(client.ask_transfer_async("", 1).get().detail(), 1101u);
  EXPECT_EQ(client.break_lock_async("", {.who = "ann", .reason = "x"}).get().status().detail(),
            1101u);
  EXPECT_EQ(client.session_async(0).get().status().detail(), 1108u);
  EXPECT_EQ(client.grant_session_async({.ttl = 0ms}).get().status().detail(), 1104u);
  EXPECT_EQ(session.proclaim_async("chief", 0, "x").get().detail(), 1107u);
  EXPECT_EQ(session.transfer_async("chief", 7, 0).get().detail(), 1108u);
  EXPECT_TRUE(session.close_async().get().ok());
}

TEST_F(FutureTest, SeveralLocksAndALeaseAreGivenBackWithoutWaiting) {
  Client client = connect();
  Session session = open(client);
  auto locks = session.acquire_all({"one", "two"}).value();
  EXPECT_TRUE(locks.release_async().get().ok());
  EXPECT_FALSE(locks.valid());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 2u);
  EXPECT_TRUE(locks.release_async().get().ok()) << "nothing is left to give back";
  auto lease = client.take_lease("three").value();
  EXPECT_TRUE(lease.renew_async().get().ok());
  EXPECT_TRUE(lease.release_async().get().ok());
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 3u);
  EXPECT_FALSE(cluster_.requests(RequestKind::CloseSession).empty());
}

}  // namespace
}  // namespace gcoord::client
