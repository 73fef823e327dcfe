// The front end against clients that behave and clients that do not, over real loopback sockets.
#include "server/endpoints/frontend.h"

#include "common/random.h"
#include "tests/server/endpoints/frontend_bench.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

TEST_P(FrontEndTest, WelcomesAClientAndServesItsRequests) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  const auto welcome = protocol::decode_welcome(client.payloads.front());
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(welcome.value().cluster, ClusterId{77});
  EXPECT_EQ(welcome.value().version, protocol::kProtocolVersionMax);
  client.replies.clear();
  builder.add(request(8), std::vector<std::byte>(3));
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == 1; }));
  EXPECT_EQ(client.replies[0].request_id, 8u);
}

// Of sockets that I/O threads serve, plain acquires and releases come prepared, beside others.
TEST_P(FrontEndTest, RequestsComePreparedWhereAnIoThreadServesTheSocket) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.replies.clear();
  const std::string name = "a";
  for (std::uint64_t id = 1; id <= 100; ++id) {
    protocol::RequestSlot slot = request(id);
    slot.kind = id % 2 == 0 ? protocol::RequestKind::LockAcquire : slot.kind;
    builder.add(slot, protocol::bytes_of(name));
  }
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == 100; }));
  EXPECT_EQ(prepared_, GetParam().thread_count == 0 ? 0u : 50u);
}

TEST_P(FrontEndTest, RepliesOfATurnLeaveInOneFrame) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.frames = 0;
  client.replies.clear();
  for (std::uint64_t id = 1; id <= 500; ++id) {
    builder.add(request(id));
  }
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == 500; }));
  EXPECT_EQ(client.frames, 1u);
}

// Its client hears the answer to what it did last, such as to change its own password.
TEST_P(FrontEndTest, AConnectionWhoseProofHasEndedIsClosedBehindWhatItIsOwed) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.replies.clear();
  requests_ = 0;
  answer_ =
      [&](protocol::ConnectionId connection, const protocol::RequestSlot& request, auto payload) {
        frontend_->reply(connection, protocol::reply_to(request), payload);
        frontend_->cut(connection, CloseReason::Revoked);
      };
  builder.add(request(9));
  builder.add(request(10));
  client.send(frame_of(builder));
  ASSERT_TRUE(closed(client));
  ASSERT_EQ(client.replies.size(), 1u);
  EXPECT_EQ(client.replies[0].request_id, 9u);
  EXPECT_EQ(requests_, 1u) << "nothing is taken any more";
  EXPECT_EQ(
      metrics_.counter({"gcoord_server_connections_closed_total", "", "reason", "revoked"}).value(),
      1u);
}

// It would hear of what it watches for as long as it reads slowly.
TEST_P(FrontEndTest, AConnectionThatIsCutHearsNothingMore) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.replies.clear();
  answer_ =
      [&](protocol::ConnectionId connection, const protocol::RequestSlot& request, auto payload) {
        frontend_->reply(connection, protocol::reply_to(request), payload);
        frontend_->cut(connection, CloseReason::Expired);
        frontend_->push(connection, protocol::reply_to(request), payload);
      };
  builder.add(request(9));
  client.send(frame_of(builder));
  ASSERT_TRUE(closed(client));
  EXPECT_EQ(client.replies.size(), 1u);
  EXPECT_EQ(closed_count("expired"), 1u);
}

TEST_P(FrontEndTest, ASecretIsOverwrittenOnceItsRequestWasServed) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  std::vector<std::byte> secret_then;
  std::span<const std::byte> secret;
  answer_ =
      [&](protocol::ConnectionId connection, const protocol::RequestSlot& request, auto payload) {
        if (request.kind == protocol::RequestKind::Authenticate) {
          secret = payload;
        } else {
          secret_then.assign(secret.begin(), secret.end());  // Of the same frame.
        }
        frontend_->reply(connection, protocol::reply_to(request), {});
      };
  protocol::RequestSlot authenticate = request(9);
  authenticate.kind = protocol::RequestKind::Authenticate;
  const std::vector<std::byte> shown(5, std::byte{'x'});
  builder.add(authenticate, shown);
  builder.add(request(10));
  client.replies.clear();
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == 2; }));
  EXPECT_EQ(secret_then, std::vector<std::byte>(5));
}

// A node that fails in a turn says nothing of that turn.
TEST_P(FrontEndTest, RepliesThatAreQueuedWhenItEndsUnstoppedAreNeverSent) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.replies.clear();
  bool answered = false;
  answer_ =
      [&](protocol::ConnectionId connection, const protocol::RequestSlot& request, auto payload) {
        frontend_->reply(connection, protocol::reply_to(request), payload);
        answered = true;
      };
  builder.add(request(9));
  client.send(frame_of(builder));
  while (!answered) {
    poll();
    frontend_->serve_input();
  }
  frontend_.reset();
  while (client.receive()) {
  }
  EXPECT_TRUE(client.replies.empty());
}

TEST_P(FrontEndTest, ARequestBeforeHelloIsRefusedAndTheConnectionClosed) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  builder.add(request(8));
  client.send(frame_of(builder));
  EXPECT_TRUE(closed(client));
  ASSERT_EQ(client.replies.size(), 1u);
  EXPECT_EQ(client.replies[0].detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::HelloMissing));
  EXPECT_EQ(requests_, 0u);
}

TEST_P(FrontEndTest, AnotherVersionIsRefusedWithItsNumber) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  protocol::Hello hello;
  hello.version_min = 50;
  hello.version_max = 60;
  client.send(hello_frame(builder, hello));
  EXPECT_TRUE(closed(client));
  ASSERT_EQ(client.replies.size(), 1u);
  EXPECT_EQ(client.replies[0].detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::VersionUnsupported));
}

TEST_P(FrontEndTest, AClientOfAnotherClusterIsRefused) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  protocol::Hello hello;
  hello.cluster = ClusterId{78};
  client.send(hello_frame(builder, hello));
  EXPECT_TRUE(closed(client));
  ASSERT_EQ(client.replies.size(), 1u);
  EXPECT_EQ(client.replies[0].detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::ClusterForeign));
}

// Its own name made whole words of a line.
TEST_P(FrontEndTest, ANameThatAClientGivesItselfStaysOneWordOfALine) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  protocol::Hello hello;
  hello.client = R"_(x); connection 7.1 of 10.0.0.1:1 ("root")_";
  client.send(hello_frame(builder, hello));
  protocol::ConnectionId from;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& request, auto) {
    from = connection;
    frontend_->reply(connection, protocol::reply_to(request), {});
  };
  builder.add(request(9));
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == 2; }));
  const std::string described = frontend_->describe(from);
  const std::string name = R"_("x); connection 7.1 of 10.0.0.1:1 (\"root\"")_";
  EXPECT_NE(described.find(" (" + name + ")"), std::string::npos) << described;
}

TEST_P(FrontEndTest, ConnectionsBeyondTheCapAreToldSo) {
  FrontEndOptions options;
  options.limits.connections_max = 1;
  start(options);
  RawClient first = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(first, builder));
  RawClient second = connect();
  EXPECT_TRUE(closed(second));
  ASSERT_EQ(second.replies.size(), 1u);
  EXPECT_EQ(second.replies[0].detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::ConnectionsExhausted));
  EXPECT_EQ(frontend_->connection_count(), 1u);
}

TEST_P(FrontEndTest, RandomBytesCloseTheConnectionAndApplyNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RawClient client = connect();
    std::vector<std::byte> bytes(200);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(random64(seed, 1, i));
    }
    client.send(bytes);
    ASSERT_TRUE(closed(client)) << "seed " << seed;
  }
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(closed_count("bad_frame"), 50u);
  EXPECT_EQ(frontend_->connection_count(), 0u);
}

TEST_P(FrontEndTest, EveryFlippedBitOfAFrameClosesTheConnection) {
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  const std::vector<std::byte> good = hello_frame(builder);
  for (std::size_t bit = 0; bit < good.size() * 8; bit += 5) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    RawClient client = connect();
    client.send(bad);
    // A client that claims more bytes than it sends leaves; the node must not wait for it for ever.
    const bool gone = pump_until([&] {
      return !client.receive() || closed_count("bad_frame") + closed_count("bad_hello") > bit / 5;
    });
    ASSERT_TRUE(gone) << "bit " << bit;
  }
  EXPECT_EQ(requests_, 0u);
}

TEST_P(FrontEndTest, AReplayedFrameClosesTheConnection) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  builder.add(request(8));
  const std::vector<std::byte> frame = frame_of(builder);
  client.send(frame);
  client.send(frame);
  EXPECT_TRUE(closed(client));
  EXPECT_EQ(requests_, 1u);
  EXPECT_EQ(
      metrics_.counter({"gcoord_server_client_frames_bad_total", "", "reason", "replayed"}).value(),
      1u);
}

TEST_P(FrontEndTest, AClientThatNeverReadsIsSlowedAndThenClosed) {
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(200'000));
  };
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  for (std::uint64_t id = 1; id <= 400; ++id) {
    builder.add(request(id));
  }
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return requests_ > 0; }));
  std::uint64_t now_ms = 0;
  EXPECT_TRUE(pump_until([&] {
    now_ms += 1000;
    frontend_->sweep(now_ms);
    return closed_count("slow_reader") == 1;
  }));
  EXPECT_LT(requests_, 400u) << "one frame asked for 80 MB";
  EXPECT_EQ(frontend_->connection_count(), 0u);
}

// It was an assertion, which a client could reach by what an entry tells a watch. That is measured
// by now (watch_long_entry_test.cc); who answers without measuring loses one connection.
TEST_P(FrontEndTest, WhatNoFrameHoldsClosesItsConnectionAndNoOther) {
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    const std::size_t bytes = slot.request_id == 9 ? protocol::kPayloadBytesMax + 1 : 1;
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(bytes));
  };
  RawClient client = connect();
  RawClient other = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  protocol::FrameBuilder other_builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  ASSERT_TRUE(welcome(other, other_builder));
  builder.add(request(9));
  client.send(frame_of(builder));
  EXPECT_TRUE(closed(client));
  other.replies.clear();
  other_builder.add(request(10));
  other.send(frame_of(other_builder));
  EXPECT_TRUE(pump_until([&] { return other.receive() && !other.replies.empty(); }));
}

TEST_P(FrontEndTest, ALargeFrameIsTakenInPartsAndAnsweredWhole) {
  std::vector<std::pair<protocol::ConnectionId, protocol::RequestSlot>> asked;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    asked.emplace_back(connection, slot);
  };
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.replies.clear();
  const std::size_t count = kOutstandingMax + 1'000;
  std::vector<std::byte> bytes;
  for (std::uint64_t id = 1; id <= count; ++id) {
    builder.add(request(id));
    if (id == 2'000) {
      builder.finish(bytes);  // The rest goes in one frame, which does not fit any more.
    }
  }
  builder.finish(bytes);
  std::size_t sent = 0;
  int rounds_after = 0;
  ASSERT_TRUE(pump_until([&] {
    sent += client.send(std::span(bytes).subspan(sent));
    rounds_after += sent == bytes.size() && requests_ >= kOutstandingMax ? 1 : 0;
    return rounds_after > 100;
  }));
  EXPECT_EQ(requests_, kOutstandingMax);
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->reply(connection, protocol::reply_to(slot), {});
  };
  for (const auto& [connection, slot] : asked) {
    frontend_->reply(connection, protocol::reply_to(slot), {});
  }
  EXPECT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == count; }));
  EXPECT_EQ(client.replies.back().request_id, count);
}

TEST_P(FrontEndTest, ReadingPausesWhileTooMuchIsUnanswered) {
  answer_ = nullptr;
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  std::vector<std::byte> bytes;
  for (std::uint64_t id = 1; id <= 4 * kOutstandingMax; ++id) {
    builder.add(request(id));
    if (builder.slot_count() == 256) {
      builder.finish(bytes);
    }
  }
  std::size_t sent = 0;
  std::size_t idle_rounds = 0;
  ASSERT_TRUE(pump_until([&] {
    const std::size_t now = client.send(std::span(bytes).subspan(sent));
    sent += now;
    const bool idle = now == 0 && frontend_->inputs_waiting() == 0;
    idle_rounds = idle ? idle_rounds + 1 : 0;
    return idle_rounds > 200;
  }));
  EXPECT_GE(requests_, kOutstandingMax);
  EXPECT_LE(requests_, kOutstandingMax);
}

TEST_P(FrontEndTest, RequestsThatWaitDoNotHoldUpReading) {
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot&, auto) {
    frontend_->park(connection);
  };
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  const std::size_t count = 2 * kOutstandingMax;
  std::vector<std::byte> bytes;
  for (std::uint64_t id = 1; id <= count; ++id) {
    builder.add(request(id));
    if (builder.slot_count() == 256) {
      builder.finish(bytes);
    }
  }
  std::size_t sent = 0;
  EXPECT_TRUE(pump_until([&] {
    sent += client.send(std::span(bytes).subspan(sent));
    return requests_ == count;
  }));
}

TEST_P(FrontEndTest, SilentConnectionsAreSweptAway) {
  RawClient silent = connect();
  RawClient welcomed = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(welcomed, builder));
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 2; }));
  frontend_->sweep(1'000);
  frontend_->sweep(6'000);
  EXPECT_EQ(frontend_->connection_count(), 2u);
  frontend_->sweep(6'001);
  EXPECT_EQ(frontend_->connection_count(), 1u);
  frontend_->sweep(700'000);
  EXPECT_EQ(frontend_->connection_count(), 0u);
}

// The node's clock is that of its machine, and it may have had no time for a sweep for long.
TEST_P(FrontEndTest, AConnectionIsAsOldAsTheFirstSweepThatSeesIt) {
  RawClient first = connect();
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 1; }));
  frontend_->sweep(90'000'000);
  EXPECT_EQ(frontend_->connection_count(), 1u) << "before the first sweep";
  RawClient second = connect();
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 2; }));
  frontend_->sweep(91'000'000);
  EXPECT_EQ(frontend_->connection_count(), 1u) << "long after the last sweep";
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  EXPECT_TRUE(welcome(second, builder));
}

TEST_P(FrontEndTest, ARepliesConnectionMayBeGone) {
  std::vector<protocol::ConnectionId> asked;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot&, auto) {
    asked.push_back(connection);
  };
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  builder.add(request(8));
  client.send(frame_of(builder));
  ASSERT_TRUE(pump_until([&] { return asked.size() == 1; }));
  client.reset();
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 0; }));
  RawClient other = connect();  // Takes the same place under another id.
  protocol::FrameBuilder other_builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(other, other_builder));
  other.replies.clear();
  frontend_->reply(asked[0], protocol::reply_to(request(8)), {});
  frontend_->flush();
  other.receive();
  EXPECT_TRUE(other.replies.empty());
}

TEST(FrontEndListenTest, APortInUseIsAClearFailure) {
  asio::io_context context;
  MetricsRegistry metrics;
  FrontEndOptions options;
  options.listen = {"127.0.0.1", 0};
  FrontEnd first(context, options, metrics);
  ASSERT_TRUE(first.listen().ok());
  options.listen.port = first.port();
  FrontEnd second(context, options, metrics);
  const Status status = second.listen();
  EXPECT_EQ(status.detail(), static_cast<std::uint32_t>(protocol::ErrorCode::ListenFailed));
  EXPECT_NE(status.message().find(std::to_string(first.port())), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Io, FrontEndTest, every_io(), io_name);

}  // namespace
}  // namespace gcoord::server
