// Locks that are in another shard than their names say (L19, ADR 0046): where requests go, and that
// no place in a queue is left behind by whoever gave up.
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <string>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint32_t kShards = 16;  // Of the fixture's cluster.
constexpr std::uint64_t kToken = 9;

class MovedLockTest : public ClientTest {
 protected:
  static bool is_home(const FakeRequest& request) { return request.slot.shard == home_; }

  static FakeReply moved_to(const FakeRequest& request, std::uint64_t shard) {
    FakeReply reply = error_reply(request, ErrorCode::LockMoved);
    reply.slot.extra = shard;
    return reply;
  }

  static FakeReply granted(const FakeRequest& request) {
    FakeReply reply = friendly_reply(request);
    reply.slot.token = kToken;
    return reply;
  }

  std::vector<FakeRequest> acquires() const { return cluster_.requests(RequestKind::LockAcquire); }

  // What was granted to nobody is given back where the lock is.
  void expect_given_back() {
    const auto release = cluster_.wait_for(RequestKind::LockRelease, 1)[0];
    EXPECT_EQ(release.slot.token, kToken);
    EXPECT_EQ(release.slot.shard, kAway);
    EXPECT_EQ(release.payload, kName);
  }

  // A name that is at home where the lock was moved to.
  static std::string other_name() {
    std::string name = "other";
    while (shard_of(hash_name(name), kShards).value != kAway) {
      name += "r";
    }
    return name;
  }

  static constexpr const char* kName = "name";
  static inline const std::uint32_t home_ = shard_of(hash_name("name"), kShards).value;
  static inline const std::uint32_t kAway = (home_ + 1) % kShards;
};

TEST_F(MovedLockTest, L19APlaceThatComesAfterItsCancelIsGivenUp) {
  std::atomic<bool> cancelled{false};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockCancel) {
      cancelled = true;
      return ok_reply(request);  // "Nothing waits here under this number."
    }
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    if (is_home(request)) {
      return moved_to(request, kAway);
    }
    return cancelled ? granted(request) : error_reply(request, ErrorCode::LockMoving);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Collected<Status> ended;
  session.acquire_async(
      kName, {.wait = 1s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  cluster_.wait_for(RequestKind::LockAcquire, 2);
  settle_until(client, [](const ClientStatistics& statistics) { return statistics.retries > 0; });
  clock_->advance(6s);
  EXPECT_EQ(ended.wait_for(1)[0].detail(), static_cast<std::uint32_t>(ErrorCode::LockMoving));
  const auto cancel = cluster_.wait_for(RequestKind::LockCancel, 1)[0];
  EXPECT_EQ(cancel.slot.shard, kAway);
  expect_given_back();
  const auto last = acquires().back();
  EXPECT_EQ(last.slot.shard, kAway);
  EXPECT_TRUE(last.slot.has(protocol::RequestFlag::Wait));
  EXPECT_LE(last.slot.deadline_ms, 1u);
}

TEST_F(MovedLockTest, L19APlaceThatTheCancelFoundGrantedIsAskedForNoMore) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockAcquire) {
      return is_home(request) ? std::optional{moved_to(request, kAway)} : std::nullopt;
    }
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::LockCancel) {
      reply = error_reply(request, ErrorCode::AcquireGranted);
      reply.slot.token = kToken;
    }
    return reply;
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  session.acquire_async(kName, {.wait = 1s}, [](const Result<Grant>&) {});
  cluster_.wait_for(RequestKind::LockAcquire, 2);
  clock_->advance(6s);
  expect_given_back();
  ASSERT_TRUE(client.check(kName, kToken).ok()) << "a round trip: the cancel's answer has come";
  EXPECT_EQ(acquires().size(), 2u);
}

TEST_F(MovedLockTest, L19APlaceOfARequestThatTheWindowHeldBackIsGivenUp) {
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool acquire = request.slot.kind == RequestKind::LockAcquire;
    if (acquire && request.payload == kName) {
      return is_home(request) ? moved_to(request, kAway) : granted(request);
    }
    return acquire ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  const std::string other = other_name();
  for (std::size_t index = 0; index < protocol::kOutstandingMax; ++index) {
    const auto wait = index == 0 ? 10s : 1000s;
    session.acquire_async(other, {.wait = wait}, [](const Result<Grant>&) {});
  }
  cluster_.wait_for(RequestKind::LockAcquire, protocol::kOutstandingMax);
  Collected<Status> ended;
  session.acquire_async(
      kName, {.wait = 1s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  settle_until(client, [](const ClientStatistics& statistics) { return statistics.moves == 1; });
  clock_->advance(6s);
  EXPECT_FALSE(ended.wait_for(1)[0].ok());
  EXPECT_EQ(acquires().size(), protocol::kOutstandingMax + 1) << "no number is free there";
  clock_->advance(10s);  // The first of the others gives up, and its number comes free.
  expect_given_back();
}

TEST_F(MovedLockTest, L19APlaceOfARequestThatWasRefusedThereIsGivenUp) {
  std::atomic<int> refusals{3};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    if (is_home(request)) {
      return moved_to(request, kAway);
    }
    return refusals-- > 0 ? error_reply(request, ErrorCode::SessionWindowFull) : granted(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Collected<Status> ended;
  session.acquire_async(
      kName, {.wait = 1000s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  EXPECT_EQ(ended.wait_for(1)[0].detail(),
            static_cast<std::uint32_t>(ErrorCode::SessionWindowFull));
  advance_until(client, 10ms, [&](const ClientStatistics&) { return acquires().size() == 5; });
  expect_given_back();
  const auto asked = acquires();
  EXPECT_GT(asked[4].slot.sequence, asked[3].slot.sequence) << "a refusal is remembered";
}

TEST_F(MovedLockTest, L19HintsInACircleAreFollowedSlowlyUntilTheLockHasArrived) {
  std::atomic<bool> arrived{false};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockAcquire || (arrived && is_home(request))) {
      return granted(request);
    }
    return moved_to(request, is_home(request) ? kAway : home_);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Collected<Status> ended;
  session.acquire_async(
      kName, {.wait = 1000s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  settle_until(client, [](const ClientStatistics& statistics) { return statistics.retries == 1; });
  EXPECT_EQ(client.statistics().moves, 3u) << "one leads home, one from there; then it waits";
  advance_until(
      client, 10ms, [](const ClientStatistics& statistics) { return statistics.moves > 20; });
  EXPECT_EQ(ended.count(), 0u);
  arrived = true;
  advance_until(client, 10ms, [&](const ClientStatistics&) { return ended.count() == 1; });
  EXPECT_TRUE(ended.wait_for(1)[0].ok());
}

TEST_F(MovedLockTest, L19APlaceThatIsOnlyRememberedIsDoubtedWhenItsShardKnowsNothing) {
  std::atomic<bool> restored{false};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockCheck) {
      return friendly_reply(request);
    }
    if (restored) {
      return is_home(request) ? friendly_reply(request)
                              : error_reply(request, ErrorCode::LockMoving);
    }
    return is_home(request) ? moved_to(request, kAway) : friendly_reply(request);
  });
  Client client = connect();
  ASSERT_TRUE(client.check(kName, kToken).ok());
  restored = true;
  ASSERT_TRUE(client.check(kName, kToken).ok()) << "and no clock was moved";
  ASSERT_TRUE(client.check(kName, kToken).ok());
  std::vector<std::uint32_t> shards;
  for (const FakeRequest& request : cluster_.requests(RequestKind::LockCheck)) {
    shards.push_back(request.slot.shard);
  }
  EXPECT_EQ(shards, (std::vector<std::uint32_t>{home_, kAway, kAway, home_, home_}));
}

TEST_F(MovedLockTest, L19ARequestThatMayHaveBeenExecutedStaysWithItsShard) {
  std::atomic<int> step{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockCheck) {
      return is_home(request) ? moved_to(request, kAway) : friendly_reply(request);
    }
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    FakeReply reply = granted(request);
    switch (step++) {
      case 0:
        reply.hang_up = true;  // Taken, and no answer.
        return reply;
      case 1:
        return error_reply(request, ErrorCode::LockMoving);  // One that leads since just now.
      default:
        return reply;
    }
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  ASSERT_TRUE(client.check(kName, kToken).ok());
  Collected<Status> ended;
  session.acquire_async(
      kName, {.wait = 1000s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  advance_until(client, 10ms, [&](const ClientStatistics&) { return ended.count() == 1; });
  for (const FakeRequest& request : acquires()) {
    EXPECT_EQ(request.slot.shard, kAway);
    EXPECT_EQ(request.slot.sequence, 1u);
  }
}

TEST_F(MovedLockTest, L19AShardThatDoesNotExistIsNotRemembered) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockAcquire && request.slot.deadline_ms > 1) {
      return std::nullopt;
    }
    if (request.slot.kind == RequestKind::LockCancel) {
      return moved_to(request, (std::uint64_t{1} << 32) + kAway);
    }
    return friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  session.acquire_async(kName, {.wait = 1s}, [](const Result<Grant>&) {});
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  clock_->advance(6s);
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockAcquire, 2)[1].slot.shard, home_);
  ASSERT_TRUE(client.check(kName, kToken).ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockCheck)[0].slot.shard, home_);
}

}  // namespace
}  // namespace gcoord::client
