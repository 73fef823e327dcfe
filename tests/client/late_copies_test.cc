// Copies of requests that arrive late, over connections that the client has left: what it does
// about them (docs/reference/services.md, "A late copy of an acquire").
#include "tests/client/client_fixture.h"

#include <atomic>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class LateCopies : public ClientTest {};

// A copy of a wait that was sent before, over a connection that was stuck, binds the wait to that
// connection and ends the newer binding. Nobody would hear of the grant.
TEST_F(LateCopies, AWaitThatAnOldCopyOfItselfReplacedIsAskedForAgain) {
  std::atomic<int> waits{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind != RequestKind::LockAcquire) {
      return reply;
    }
    const int tries = ++waits;
    reply.hang_up = tries == 1;
    return tries == 2 ? error_reply(request, ErrorCode::SequenceReused) : reply;
  });
  Client client = connect();
  Session session = open(client);
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  const auto requests = cluster_.requests(RequestKind::LockAcquire);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[2].slot.sequence, requests[0].slot.sequence);
}

// Then there is no copy that could have come: another program uses the session's numbers.
TEST_F(LateCopies, AWaitThatWasSentOnceIsNotAskedForAgainWhenItsNumberIsTaken) {
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire
               ? error_reply(request, ErrorCode::SequenceReused)
               : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client);
  EXPECT_EQ(session.acquire("name").status().detail(),
            static_cast<std::uint32_t>(ErrorCode::SequenceReused));
  EXPECT_EQ(cluster_.requests(RequestKind::LockAcquire).size(), 1u);
}

}  // namespace
}  // namespace gcoord::client
