// Acquires name the term of the shard's leader, so that a late copy begins nothing
// (docs/adr/0088): how the client comes to know it.
#include "tests/client/client_fixture.h"

#include <algorithm>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestFlag;
using protocol::RequestKind;

bool registers(const FakeRequest& request) {
  return request.slot.kind == RequestKind::LockAcquire ||
         request.slot.kind == RequestKind::LockAcquireHold ||
         request.slot.kind == RequestKind::SessionGrant;
}

class NamedTerms : public ClientTest {
 protected:
  // Of a leader in that term.
  static FakeReply answer_in(std::uint64_t term, const FakeRequest& request) {
    FakeReply reply = registers(request) && request.slot.token != term
                          ? error_reply(request, ErrorCode::TermStale)
                          : friendly_reply(request);
    reply.slot.epoch = registers(request) ? term : 0;
    return reply;
  }

  std::vector<protocol::RequestSlot> sent(RequestKind kind = RequestKind::LockAcquire) const {
    std::vector<protocol::RequestSlot> slots;
    for (const FakeRequest& request : cluster_.requests(kind)) {
      slots.push_back(request.slot);
    }
    return slots;
  }
};

TEST_F(NamedTerms, TheTermOfARefusalIsNamedAtOnceAndFromThenOn) {
  cluster_.answer_with([](const FakeRequest& request) { return answer_in(5, request); });
  Client client = connect();
  Session session = open(client);
  ASSERT_TRUE(session.try_acquire("name").ok());
  const auto first = sent();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_TRUE(std::ranges::all_of(
      first, [](const auto& slot) { return slot.has(RequestFlag::NamesTerm); }));
  EXPECT_EQ(first[0].token, 0u);
  EXPECT_EQ(first[1].token, 5u);
  EXPECT_EQ(first[0].sequence, first[1].sequence);
  Session another = open(client);
  ASSERT_TRUE(another.try_acquire("name").ok());
  ASSERT_EQ(sent().size(), 3u);
  EXPECT_EQ(sent()[2].token, 5u);
  EXPECT_EQ(client.statistics().retries, 0u);
}

TEST_F(NamedTerms, ARedirectThatNamesTheTermCostsNoFurtherTry) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockAcquire || request.node == NodeId{2}) {
      return answer_in(4, request);
    }
    FakeReply elsewhere = error_reply(request, ErrorCode::NotLeader, NodeId{2});
    elsewhere.slot.epoch = 4;
    return elsewhere;
  });
  Client client = connect();
  Session session = open(client);
  ASSERT_TRUE(session.try_acquire("name").ok());
  ASSERT_EQ(sent().size(), 2u) << "or it met node 2 first";
  EXPECT_EQ(sent()[1].token, 4u);
}

TEST_F(NamedTerms, ALeaderInALowerTermIsBelieved) {
  std::atomic<std::uint64_t> term{~std::uint64_t{0}};
  cluster_.answer_with([&](const FakeRequest& request) { return answer_in(term, request); });
  Client client = connect();
  Session session = open(client);
  ASSERT_TRUE(session.try_acquire("name").ok());
  term = 6;
  ASSERT_TRUE(session.try_acquire("name").ok());
  EXPECT_EQ(sent().back().token, 6u);
}

TEST_F(NamedTerms, ALeaderThatIsNeverContentIsAskedAgainAfterABackOff) {
  std::atomic<std::uint64_t> term{1};
  cluster_.answer_with([&](const FakeRequest& request) {
    return answer_in(registers(request) ? ++term : 1, request);
  });
  Client client = connect();
  Session session = open(client);
  Collected<Status> ends;
  session.acquire_async(
      "name", {.wait = 0ms}, [&](const Result<Grant>& grant) { ends.add(grant.status()); });
  settle_until(client, [](const ClientStatistics& s) { return s.retries == 1; });
  EXPECT_EQ(sent().size(), 4u);
  clock_->advance(5s);
  EXPECT_EQ(ends.wait_for(1)[0].detail(), static_cast<std::uint32_t>(ErrorCode::TermStale));
}

TEST_F(NamedTerms, AWaitNamesTheTermLikeATry) {
  cluster_.answer_with([](const FakeRequest& request) { return answer_in(5, request); });
  Client client = connect();
  Session session = open(client);
  ASSERT_TRUE(session.acquire("name").ok());
  ASSERT_EQ(sent().size(), 2u);
  EXPECT_EQ(sent()[1].token, 5u);
  EXPECT_TRUE(sent()[1].has(RequestFlag::Wait));
  EXPECT_EQ(client.statistics().retries, 0u);
}

TEST_F(NamedTerms, AGrantNamesTheTermOfItsHome) {
  cluster_.answer_with([](const FakeRequest& request) {
    FakeReply reply = answer_in(5, request);
    if (request.slot.kind == RequestKind::SessionGrant) {
      reply.slot.extra = request.slot.session;
      reply.slot.ttl_ms = request.slot.ttl_ms;
    }
    return reply;
  });
  Client client = connect();
  ASSERT_TRUE(client.grant_session({}).ok());
  const auto grants = sent(RequestKind::SessionGrant);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[1].token, 5u);
}

// What it gets from a client of today is what one of before sent, to the bit.
TEST_F(NamedTerms, ANodeOfBeforeGetsNoTerm) {
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.deny(NodeId{node}, protocol::Feature::NamedTerms);
  }
  Client client = connect();
  Session session = open(client);
  ASSERT_TRUE(session.try_acquire("name").ok());
  ASSERT_EQ(sent().size(), 1u);
  EXPECT_FALSE(sent()[0].has(RequestFlag::NamesTerm));
  EXPECT_EQ(sent()[0].token, 0u);
}

}  // namespace
}  // namespace gcoord::client
