// The end of a client: what becomes of its sessions, of calls under way and of other handles.
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_cluster.h"
#include "gcoord/gcoord_sessions.h"
#include "gcoord/gcoord_stop.h"
#include "gcoord/gcoord_watch.h"
#include "tests/client/c_interface.h"
#include "tests/client/fake_watches.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

constexpr std::uint32_t kClosed = 4010;

class CloseTest : public CInterfaceTest {
 protected:
  void free_client() { EXPECT_EQ(gcoord_client_free(std::exchange(client_, nullptr)), GCOORD_OK); }

  // Opens a watch of every name.
  gcoord_status watch_all(gcoord_watch_callback on_batch, void* user, gcoord_watch** watch) {
    gcoord_watch_options options;
    gcoord_watch_options_init(&options);
    options.prefix = "";
    options.user = user;
    options.on_batch = on_batch;
    return gcoord_watch_open(client_, &options, watch, &error_);
  }

  // Sessions whose end was asked for, with the nodes that were asked for the end of everything.
  std::multiset<std::uint64_t> closed_sessions(std::size_t count) const {
    std::multiset<std::uint64_t> closed;
    for (const FakeRequest& request : cluster_.wait_for(RequestKind::CloseSession, count)) {
      if (request.slot.shard == protocol::kAllShards) {
        closed.insert(request.slot.session);
      }
    }
    return closed;
  }
};

TEST_F(CloseTest, TheEndOfAClientClosesSessionsWhoseHandlesOutliveIt) {
  open_session();
  gcoord_lock* lock = nullptr;
  ASSERT_EQ(gcoord_lock_acquire(session_, "name", 0, &lock, &error_), GCOORD_OK);
  free_client();
  EXPECT_EQ(closed_sessions(3).count(41), 3u) << "once by each node";
  EXPECT_FALSE(gcoord_session_alive(session_));
  EXPECT_FALSE(gcoord_lock_valid(lock));
  EXPECT_NE(gcoord_session_renew(session_, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, kClosed);
  EXPECT_NE(gcoord_session_close(session_, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, kClosed);
  EXPECT_NE(gcoord_lock_release(lock, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, kClosed);
  gcoord_lock_free(lock);
}

TEST_F(CloseTest, TheEndOfAClientClosesLeasesWhoseHandlesOutliveIt) {
  gcoord_lease* lease = nullptr;
  ASSERT_EQ(gcoord_lease_take(client_, "name", 9000, 0, nullptr, nullptr, &lease, &error_),
            GCOORD_OK);
  free_client();
  EXPECT_EQ(closed_sessions(3).count(41), 3u);
  EXPECT_FALSE(gcoord_lease_valid(lease));
  gcoord_lease_free(lease);
}

TEST_F(CloseTest, DetachedSessionsAndThoseOfOtherProgramsOutliveTheClient) {
  open_session();
  gcoord_session_detach(session_);
  gcoord_session_options options;
  gcoord_session_options_init(&options);
  options.session_id = 77;
  options.ttl_ms = 9000;
  gcoord_session* attached = nullptr;
  ASSERT_EQ(gcoord_session_attach(client_, &options, true, 1, &attached, &error_), GCOORD_OK);
  cluster_.wait_for(RequestKind::KeepAlive, 1);
  free_client();
  EXPECT_TRUE(closed_sessions(0).empty());
  gcoord_session_free(attached);
}

// Its shard may register the session after a node has closed what it knew of it.
TEST_F(CloseTest, AnAcquireThatIsUnderWayFailsAndItsShardHearsOfTheEnd) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool waits = request.slot.kind == RequestKind::LockAcquire;
    return waits ? std::nullopt : std::optional{friendly_reply(request)};
  });
  open_session();
  std::promise<std::uint32_t> ended;
  const auto on_lock = [](void* user, gcoord_lock*, const gcoord_error* why) {
    static_cast<std::promise<std::uint32_t>*>(user)->set_value(why == nullptr ? 0 : why->number);
  };
  ASSERT_EQ(gcoord_lock_acquire_async(session_, "name", GCOORD_FOREVER, on_lock, &ended, &error_),
            GCOORD_OK);
  const std::uint32_t shard = cluster_.wait_for(RequestKind::LockAcquire, 1)[0].slot.shard;
  free_client();
  EXPECT_EQ(ended.get_future().get(), kClosed);
  const auto closes = cluster_.wait_for(RequestKind::CloseSession, 4);
  EXPECT_TRUE(std::ranges::any_of(
      closes, [shard](const FakeRequest& request) { return request.slot.shard == shard; }));
}

TEST_F(CloseTest, WhoeverWaitsInOtherThreadsFailsAndLaterCallsToo) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool waits = request.slot.kind == RequestKind::LockAcquire ||
                       request.slot.kind == RequestKind::LockCheck;
    return waits ? std::nullopt : std::optional{friendly_reply(request)};
  });
  open_session();
  std::thread acquires([&] {
    gcoord_lock* lock = nullptr;
    gcoord_error why{};
    EXPECT_NE(gcoord_lock_acquire(session_, "name", GCOORD_FOREVER, &lock, &why), GCOORD_OK);
    EXPECT_EQ(why.number, kClosed) << why.message;
  });
  std::thread checks([&] {
    std::int32_t verdict = 0;
    gcoord_error why{};
    EXPECT_NE(gcoord_check(client_, "name", 7, &verdict, &why), GCOORD_OK);
    EXPECT_EQ(why.number, kClosed) << why.message;
  });
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  cluster_.wait_for(RequestKind::LockCheck, 1);
  EXPECT_EQ(gcoord_client_close(client_, &error_), GCOORD_OK);
  acquires.join();
  checks.join();
  EXPECT_NE(gcoord_client_wait_for_all_nodes(client_, 60'000, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, kClosed);
  gcoord_watch_options watching;
  gcoord_watch_options_init(&watching);
  watching.name = "name";
  gcoord_watch* watch = nullptr;
  EXPECT_NE(gcoord_watch_open(client_, &watching, &watch, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, kClosed);
  EXPECT_EQ(gcoord_client_close(client_, &error_), GCOORD_OK) << "once more";
}

TEST_F(CloseTest, AWaitForAllNodesNeedsNoThread) {
  std::promise<std::uint32_t> all;
  const auto tell = [](void* user, const gcoord_error* why) {
    static_cast<std::promise<std::uint32_t>*>(user)->set_value(why == nullptr ? 0 : why->number);
  };
  EXPECT_NE(gcoord_client_wait_for_all_nodes_async(client_, -1, tell, &all, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 1001u);
  ASSERT_EQ(gcoord_client_wait_for_all_nodes_async(client_, 60'000, tell, &all, &error_),
            GCOORD_OK);
  EXPECT_EQ(all.get_future().get(), 0u);
  cluster_.stop_node(NodeId{3});
  while (gcoord_client_wait_for_all_nodes(client_, 0, &error_) == GCOORD_OK) {
    std::this_thread::yield();  // The client has yet to hear of it.
  }
  std::promise<std::uint32_t> ended;
  ASSERT_EQ(gcoord_client_wait_for_all_nodes_async(client_, 60'000, tell, &ended, &error_),
            GCOORD_OK);
  EXPECT_EQ(gcoord_client_close(client_, &error_), GCOORD_OK);
  EXPECT_EQ(ended.get_future().get(), kClosed);
}

// Told on the client's thread of watches, which cannot wait for itself.
TEST_F(CloseTest, ACallbackOfAWatchCannotCloseItsClient) {
  cluster_.answer_with(watches([](std::uint64_t id) { return std::vector{granted(id, 7)}; },
                               [](const FakeRequest& request) { return answer_to(request, 9); }));

  struct Told {
    gcoord_client* client;
    std::promise<std::pair<gcoord_status, gcoord_status>> codes;
  } told{client_, {}};

  gcoord_watch* watch = nullptr;
  const auto on_batch = [](void* user, const gcoord_batch* batch, const gcoord_error*) {
    auto* told_by = static_cast<Told*>(user);
    if (batch != nullptr) {
      told_by->codes.set_value(
          {gcoord_client_close(told_by->client, nullptr), gcoord_client_free(told_by->client)});
    }
  };
  ASSERT_EQ(watch_all(on_batch, &told, &watch), GCOORD_OK) << error_.message;
  const auto [closed, freed] = told.codes.get_future().get();
  EXPECT_EQ(closed, GCOORD_FAILED_PRECONDITION);
  EXPECT_EQ(freed, GCOORD_FAILED_PRECONDITION);
  free_client();
  gcoord_watch_free(watch);
}

// The end waited for the callback, and the callback for a call that only the end could end.
TEST_F(CloseTest, ACallbackOfAWatchThatWaitsForALockEndsWithItsClient) {
  const auto watched = watches([](std::uint64_t id) { return std::vector{granted(id, 7)}; },
                               [](const FakeRequest& request) { return answer_to(request, 9); });
  cluster_.answer_with([watched](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool waits = request.slot.kind == RequestKind::LockAcquire;
    return waits ? std::nullopt : watched(request);
  });
  open_session();

  struct Told {
    gcoord_session* session;
    std::promise<std::uint32_t> ended;
  } told{session_, {}};

  gcoord_watch* watch = nullptr;
  const auto on_batch = [](void* user, const gcoord_batch* batch, const gcoord_error*) {
    auto* told_by = static_cast<Told*>(user);
    if (batch != nullptr) {
      gcoord_lock* lock = nullptr;
      gcoord_error why{};
      gcoord_lock_acquire(told_by->session, "busy", GCOORD_FOREVER, &lock, &why);
      told_by->ended.set_value(why.number);
    }
  };
  ASSERT_EQ(watch_all(on_batch, &told, &watch), GCOORD_OK) << error_.message;
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  free_client();
  EXPECT_EQ(told.ended.get_future().get(), kClosed);
  gcoord_watch_free(watch);
}

// Of one client that is closed while others use it.
struct Users {
  gcoord_client* client = nullptr;
  gcoord_session* session = nullptr;
  std::atomic<bool> closed{false};
  std::atomic<int> late{0};   // Callbacks that came after the end, other than within their call.
  std::atomic<int> calls{0};  // So many have been made, or begun.

  void called_back(std::thread::id caller) {
    late += closed.load() && caller != std::this_thread::get_id() ? 1 : 0;
  }

  // Until one fails, which only the end may cause.
  template <typename Call>
  void call_until_closed(Call call) {
    gcoord_error why{};
    while (call(&why) == GCOORD_OK) {
      ++calls;
    }
    EXPECT_EQ(why.number, kClosed) << why.message;
  }

  void check_without_waiting() {
    call_until_closed([this](gcoord_error* why) {
      struct Asked {
        Users* users;
        std::thread::id caller;
        std::promise<std::uint32_t> done;
      } asked{this, std::this_thread::get_id(), {}};

      const auto tell = [](void* user, std::int32_t, const gcoord_error* error) {
        auto* one = static_cast<Asked*>(user);
        one->users->called_back(one->caller);
        one->done.set_value(error == nullptr ? 0 : error->number);
      };
      const gcoord_status begun = gcoord_check_async(client, "name", 7, tell, &asked, why);
      why->number = begun == GCOORD_OK ? asked.done.get_future().get() : why->number;
      return why->number == 0 ? GCOORD_OK : GCOORD_CANCELLED;
    });
  }
};

// Ends a client while threads iterate, call, and are called back. Nothing hangs, nothing is used
// after its end (the sanitizers look), and no callback comes late.
TEST_F(CloseTest, AClientEndsUnderThreadsThatUseIt) {
  cluster_.answer_with(watches(
      [](std::uint64_t id) {
        return std::vector{granted(id, 7), granted(id, 8)};
      },
      [](const FakeRequest& request) { return answer_to(request, 9); }));
  free_client();
  for (int round = 0; round < 40; ++round) {
    SetUp();
    open_session();
    Users users{.client = client_, .session = session_};
    gcoord_watch_options options;
    gcoord_watch_options_init(&options);
    options.prefix = "";
    gcoord_watch* watch = nullptr;
    ASSERT_EQ(gcoord_watch_open(client_, &options, &watch, &error_), GCOORD_OK) << error_.message;
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      users.call_until_closed([&](gcoord_error* why) {
        gcoord_batch* batch = nullptr;
        const gcoord_status status = gcoord_watch_next(watch, GCOORD_FOREVER, &batch, why);
        gcoord_batch_free(batch);
        return status;
      });
    });
    threads.emplace_back([&] {
      users.call_until_closed([&](gcoord_error* why) {
        gcoord_watch* another = nullptr;
        const gcoord_status status = gcoord_watch_open(client_, &options, &another, why);
        gcoord_watch_free(another);
        return status;
      });
    });
    threads.emplace_back([&] {
      users.call_until_closed([&](gcoord_error* why) {
        gcoord_lock* lock = nullptr;
        const gcoord_status status =
            gcoord_lock_acquire(session_, "name", GCOORD_FOREVER, &lock, why);
        gcoord_lock_free(lock);
        return status;
      });
    });
    threads.emplace_back([&] { users.check_without_waiting(); });
    threads.emplace_back([&] {
      users.call_until_closed(
          [&](gcoord_error* why) { return gcoord_session_renew(session_, why); });
    });
    while (users.calls.load() < 4 * round) {
      std::this_thread::yield();
    }
    ASSERT_EQ(gcoord_client_close(client_, &error_), GCOORD_OK);
    users.closed = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(users.late.load(), 0);
    if (round % 2 == 0) {
      gcoord_session_free(std::exchange(session_, nullptr));
    }
    free_client();
    gcoord_watch_free(watch);
    gcoord_session_free(std::exchange(session_, nullptr));
  }
}

}  // namespace
}  // namespace gcoord::client
