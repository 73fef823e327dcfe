// Acquires that their caller stops: how they end, and what is left behind.
#include "gcoord/gcoord_stop.h"
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// Nodes that leave acquires unanswered, and say of their cancels that they were granted.
std::optional<FakeReply> granted_at_the_cancel(const FakeRequest& request) {
  if (request.slot.kind == RequestKind::LockAcquire) {
    return std::nullopt;
  }
  FakeReply granted = error_reply(request, ErrorCode::AcquireGranted);
  granted.slot.token = 9;
  return request.slot.kind == RequestKind::LockCancel ? granted : friendly_reply(request);
}

class StoppedWaits : public ClientTest {};

TEST_F(StoppedWaits, AStoppedWaitEndsAndIsTakenBack) {
  cluster_.answer_with(granted_at_the_cancel);
  Client client = connect();
  Session session = open(client);
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  auto granted = session.acquire_async("name", {.stop = &token});
  const auto acquire = cluster_.wait_for(RequestKind::LockAcquire, 1)[0];
  EXPECT_FALSE(granted.ready());
  stop.request_stop();
  EXPECT_EQ(granted.get().status().detail(), kDetailWaitCancelled);
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockCancel, 1)[0].slot.sequence, acquire.slot.sequence);
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 9u);
}

TEST_F(StoppedWaits, AWaitThatWasStoppedBeforeItBeganEnds) {
  cluster_.answer_with(granted_at_the_cancel);
  Client client = connect();
  Session session = open(client);
  std::stop_source stop;
  stop.request_stop();
  const std::stop_token token = stop.get_token();
  auto granted = session.acquire_async("name", {.stop = &token});
  EXPECT_EQ(granted.get().status().detail(), kDetailWaitCancelled);
  auto all = session.acquire_all_async({"one", "two"}, {.stop = &token});
  EXPECT_EQ(all.get().status().detail(), kDetailWaitCancelled);
  auto lease = client.take_lease_async("lease", {.stop = token});
  EXPECT_EQ(lease.get().status().detail(), kDetailWaitCancelled);
}

TEST_F(StoppedWaits, AStopAfterTheGrantChangesNothing) {
  Client client = connect();
  Session session = open(client);
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  auto lock = session.acquire("name", {.stop = &token});
  ASSERT_TRUE(lock.ok());
  stop.request_stop();
  ASSERT_TRUE(client.check("name", lock.value().fence()).ok()) << "a round trip";
  EXPECT_TRUE(lock.value().valid());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockCancel).empty());
}

TEST_F(StoppedWaits, AStopForCEndsWhatItWasPassedTo) {
  cluster_.answer_with(granted_at_the_cancel);
  gcoord_client_options options;
  gcoord_client_options_init(&options);
  const std::string endpoint = cluster_.endpoints()[0];
  options.endpoints = endpoint.c_str();
  gcoord_client* client = nullptr;
  ASSERT_EQ(gcoord_client_connect(&options, &client, nullptr), GCOORD_OK);
  gcoord_session* session = nullptr;
  ASSERT_EQ(gcoord_session_open(client, 60'000, nullptr, nullptr, &session, nullptr), GCOORD_OK);
  Collected<std::uint32_t> ended;
  const auto on_lock = [](void* user, gcoord_lock*, const gcoord_error* error) {
    static_cast<Collected<std::uint32_t>*>(user)->add(error != nullptr ? error->number : 0);
  };
  const auto on_locks = [](void* user, gcoord_multi_lock*, const gcoord_error* error) {
    static_cast<Collected<std::uint32_t>*>(user)->add(error != nullptr ? error->number : 0);
  };
  const auto on_lease = [](void* user, gcoord_lease*, const gcoord_error* error) {
    static_cast<Collected<std::uint32_t>*>(user)->add(error != nullptr ? error->number : 0);
  };
  gcoord_session_options how;
  gcoord_session_options_init(&how);
  gcoord_stop* stop = gcoord_stop_new();
  const char* names[] = {"b"};
  gcoord_lock_acquire_stoppable_async(session, "a", nullptr, stop, on_lock, &ended, nullptr);
  gcoord_lock_acquire_all_stoppable_async(
      session, names, 1, nullptr, stop, on_locks, &ended, nullptr);
  gcoord_lease_take_stoppable_async(
      client, "c", &how, GCOORD_FOREVER, stop, on_lease, &ended, nullptr);
  cluster_.wait_for(RequestKind::LockAcquire, 3);
  gcoord_stop_request(stop);
  gcoord_stop_free(stop);
  EXPECT_EQ(ended.wait_for(3), std::vector<std::uint32_t>(3, kDetailWaitCancelled));
  gcoord_session_free(session);
  gcoord_client_free(client);
}

// Whoever ends right after a stop leaves nobody in the queue.
TEST_F(StoppedWaits, TheEndOfTheClientWaitsForTheCancelOfAStoppedWait) {
  cluster_.answer_with(granted_at_the_cancel);
  {
    Client client = connect();
    Session session = open(client);
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    auto granted = session.acquire_async("name", {.stop = &token});
    cluster_.wait_for(RequestKind::LockAcquire, 1);
    stop.request_stop();
    session.detach();
  }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 9u);
}

}  // namespace
}  // namespace gcoord::client
