// Reading a snapshot of one node, through answers that are late, lost or wrong.
#include "client/ledger/save_snapshot.h"

#include "protocol/ledger/snapshot_messages.h"
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <future>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class SaveSnapshot : public ClientTest {
 protected:
  static std::optional<protocol::SnapshotRead> read_of(const FakeRequest& request) {
    const auto read = protocol::decode_snapshot_read(protocol::bytes_of(request.payload));
    return read.ok() ? std::optional(read.value()) : std::nullopt;
  }

  static FakeReply piece(const FakeRequest& request, std::string bytes, bool last = false) {
    FakeReply reply = ok_reply(request);
    reply.payload = std::move(bytes);
    reply.slot.extra = read_of(request)->offset + reply.payload.size();
    if (last) {
      reply.slot.set(protocol::ReplyFlag::Last);
    }
    return reply;
  }

  static FakeReply opened(const FakeRequest& request) {
    FakeReply reply = ok_reply(request);
    reply.slot.extra = 9;
    return reply;
  }

  // All that came, or the failure.
  Status save(Client& client) {
    return client.read_snapshot(2, [this](std::span<const std::byte> bytes) {
      saved_ += protocol::text_of(bytes);
      return Status{};
    });
  }

  std::string saved_;
};

TEST_F(SaveSnapshot, AsksTheNodeForOnePieceAfterTheOtherAndAgainForWhatIsNotReady) {
  request_timeout_ = std::chrono::hours{10};  // The clock runs as fast as it can.
  std::atomic<int> lost{1};
  std::atomic<int> unready{2};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::SnapshotOpen) {
      return opened(request);
    }
    if (request.slot.kind != RequestKind::SnapshotRead) {
      return friendly_reply(request);
    }
    const auto read = read_of(request);
    EXPECT_EQ(request.node, NodeId{2});
    EXPECT_TRUE(read.has_value() && read->save == 9);
    if (read->offset == 0) {
      FakeReply first = piece(request, "abc");
      first.hang_up = lost-- > 0;
      return first;
    }
    EXPECT_EQ(read->offset, 3u);
    return unready-- > 0 ? piece(request, "") : piece(request, "de", true);
  });
  Client client = connect();
  auto done = std::async(std::launch::async, [&] { return save(client); });
  advance_until(client, std::chrono::milliseconds{10}, [&](const auto&) {
    return done.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
  });
  const Status ended = done.get();
  EXPECT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_EQ(saved_, "abcde");
  EXPECT_GE(cluster_.requests(RequestKind::SnapshotRead).size(), 5u);
}

TEST_F(SaveSnapshot, EndsWithWhatTheNodeSays) {
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::SnapshotOpen ? opened(request)
           : request.slot.kind == RequestKind::SnapshotRead
               ? error_reply(request, ErrorCode::SnapshotGone)
               : friendly_reply(request);
  });
  Client client = connect();
  EXPECT_EQ(save(client).detail(), static_cast<std::uint32_t>(ErrorCode::SnapshotGone));
}

TEST_F(SaveSnapshot, BelievesNoPieceThatEndsElsewhere) {
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::SnapshotOpen) {
      return opened(request);
    }
    if (request.slot.kind != RequestKind::SnapshotRead) {
      return friendly_reply(request);
    }
    FakeReply wrong = piece(request, "abc");
    ++wrong.slot.extra;
    return wrong;
  });
  Client client = connect();
  EXPECT_EQ(save(client).detail(), static_cast<std::uint32_t>(ErrorCode::ReplyMalformed));
  EXPECT_EQ(saved_, "");
}

TEST_F(SaveSnapshot, StopsWhenItsCallerDoes) {
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::SnapshotOpen   ? opened(request)
           : request.slot.kind == RequestKind::SnapshotRead ? piece(request, "abc")
                                                            : friendly_reply(request);
  });
  Client client = connect();
  const Status status = client.read_snapshot(2, [](std::span<const std::byte>) {
    return Status{StatusCode::Cancelled, "the disk is full"};
  });
  EXPECT_EQ(status.code(), StatusCode::Cancelled);
  EXPECT_EQ(cluster_.requests(RequestKind::SnapshotRead).size(), 1u);
}

}  // namespace
}  // namespace gcoord::client
