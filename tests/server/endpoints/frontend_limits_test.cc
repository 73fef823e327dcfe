// What hostile clients hold of a node, over real loopback sockets: connections that do not read,
// that idle, that never end a frame. All figures are those of the account.
#include "tests/server/endpoints/frontend_bench.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

namespace gcoord::server {
namespace {

constexpr const char* kAttacker = "127.0.0.66";

class FrontEndLimitsTest : public FrontEndTest {
 protected:
  std::size_t held(HeldBytes kind) const { return frontend_->account().held(kind); }

  RawClient& add(const char* from = kAttacker) {
    clients_.push_back(std::make_unique<RawClient>(context_, frontend_->port(), from));
    return *clients_.back();
  }

  // Connections that are welcomed, each with its builder.
  void welcome_many(std::size_t count, const char* from = kAttacker) {
    for (std::size_t k = 0; k < count; ++k) {
      builders_.emplace_back(protocol::FrameDirection::Requests);
      ASSERT_TRUE(welcome(add(from), builders_.back()));
    }
  }

  // The first bytes of a frame of the largest size, which is announced and never sent.
  static std::vector<std::byte> largest_frame() {
    protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
    builder.add(request(1), std::vector<std::byte>(protocol::kPayloadBytesMax));
    return frame_of(builder);
  }

  std::vector<std::unique_ptr<RawClient>> clients_;
  std::deque<protocol::FrameBuilder> builders_;
};

// Issue 23: 1,000 of them held a gigabyte.
TEST_P(FrontEndLimitsTest, AFrameTakesMemoryAsItsBytesCome) {
  const std::vector<std::byte> frame = largest_frame();
  constexpr std::size_t kCount = 100;
  for (std::size_t k = 0; k < kCount; ++k) {
    ASSERT_EQ(add().send(std::span(frame).first(1000)), 1000u);
  }
  ASSERT_TRUE(pump_until([&] { return held(HeldBytes::Begun) >= kCount * 1000; }));
  EXPECT_LE(held(HeldBytes::Begun), kCount * 2048);
  EXPECT_EQ(held(HeldBytes::In), 0u);
}

TEST_P(FrontEndLimitsTest, UnfinishedFramesAreBoundedInAllAndTheLargestGoesFirst) {
  FrontEndOptions options;
  options.limits.bytes_max = std::size_t{16} << 20;  // Four for frames, three of one source.
  start(options);
  RawClient other = connect();
  const std::vector<std::byte> frame = largest_frame();
  ASSERT_EQ(other.send(std::span(frame).first(5000)), 5000u);
  ASSERT_TRUE(pump_until([&] { return held(HeldBytes::Begun) > 0; }));
  std::size_t most = 0;
  for (std::size_t k = 1; k <= 20; ++k) {
    RawClient& client = add();
    std::size_t sent = 0;
    ASSERT_TRUE(pump_until([&] {
      most = std::max(most, held(HeldBytes::Begun));
      if (!client.receive() || sent + 1 == frame.size()) {
        return true;
      }
      sent += client.send(std::span(frame).subspan(sent, frame.size() - 1 - sent));
      return false;
    }));
  }
  ASSERT_TRUE(pump_until([&] { return closed_count("memory") >= 17; }));
  EXPECT_LE(most, std::size_t{4} << 20);
  EXPECT_TRUE(other.receive()) << "another source";
}

// The loop reads nothing before a turn; I/O threads do.
TEST_P(FrontEndLimitsTest, WholeFramesThatWaitForTheirTurnAreOnTheAccount) {
  FrontEndOptions options;
  options.limits.bytes_max = std::size_t{4} << 20;  // One for requests.
  start(options);
  constexpr std::size_t kMost = std::size_t{3} << 18;  // Of one source.
  constexpr std::size_t kCount = 30;
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  builder.add(request(1), std::vector<std::byte>(60'000));
  const std::vector<std::byte> frame = frame_of(builder);
  for (std::size_t k = 0; k < kCount; ++k) {
    ASSERT_EQ(add().send(frame), frame.size());
  }
  const bool ahead = GetParam().thread_count > 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (ahead ? closed_count("memory") < kCount - kMost / frame.size()
               : frontend_->inputs_waiting() < kCount) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    poll();
    frontend_->flush();
    ASSERT_LE(held(HeldBytes::In) + held(HeldBytes::Begun), kMost);
  }
  EXPECT_EQ(held(HeldBytes::In) > 0, ahead);
  EXPECT_EQ(requests_, 0u);
}

TEST_P(FrontEndLimitsTest, AFrameThatDoesNotEndInTimeClosesItsConnection) {
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  RawClient client = connect();
  ASSERT_TRUE(welcome(client, builder));
  builder.add(request(8), std::vector<std::byte>(3000));
  const std::vector<std::byte> frame = frame_of(builder);
  std::size_t sent = 0;
  const auto trickle = [&](std::uint64_t now_ms) {
    sent += client.send(std::span(frame).subspan(sent, 1));
    EXPECT_TRUE(pump_until([&] { return held(HeldBytes::Begun) >= sent; }));
    frontend_->sweep(now_ms);
  };
  for (std::uint64_t now_ms = 1000; now_ms <= 31'000; now_ms += 1000) {
    trickle(now_ms);
  }
  EXPECT_EQ(frontend_->connection_count(), 1u) << "30 seconds from the first byte";
  trickle(32'000);
  EXPECT_EQ(closed_count("slow_frame"), 1u);
  EXPECT_TRUE(closed(client));
  EXPECT_EQ(held(HeldBytes::Begun), 0u);
}

TEST_P(FrontEndLimitsTest, FramesThatFollowEachOtherAreNotOneSlowFrame) {
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  RawClient client = connect();
  ASSERT_TRUE(welcome(client, builder));
  std::vector<std::byte> rest;
  for (std::uint64_t k = 0; k < 40; ++k) {
    builder.add(request(k), std::vector<std::byte>(100));
    const std::vector<std::byte> frame = frame_of(builder);
    rest.insert(rest.end(), frame.begin(), frame.begin() + 50);
    client.send(rest);
    rest.assign(frame.begin() + 50, frame.end());
    ASSERT_TRUE(pump_until([&] { return requests_ == k && held(HeldBytes::Begun) > 0; }));
    frontend_->sweep(1000 * (k + 1));
  }
  EXPECT_EQ(frontend_->connection_count(), 1u);
}

// Issue 23: 20 stopped everybody for seconds, 100 refused newcomers.
TEST_P(FrontEndLimitsTest, ConnectionsThatDoNotReadAreBoundedInAllAndOthersAreServed) {
  FrontEndOptions options;
  options.limits.bytes_max = std::size_t{32} << 20;  // Sixteen for replies, twelve of one source.
  start(options);
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->reply(connection,
                     protocol::reply_to(slot),
                     std::vector<std::byte>(slot.request_id == 1 ? 0 : 100'000));
  };
  RawClient reader = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(reader, builder));
  welcome_many(100);
  std::size_t most = 0;
  for (std::size_t k = 0; k < clients_.size(); ++k) {
    for (std::uint64_t id = 2; id < 66; ++id) {
      builders_[k].add(request(id));
    }
    clients_[k]->send(frame_of(builders_[k]));
    const std::size_t before = requests_;
    ASSERT_TRUE(pump_until([&] { return requests_ > before; }));
    most = std::max(most, held(HeldBytes::Out));
    reader.replies.clear();
    builder.add(request(1));
    reader.send(frame_of(builder));
    ASSERT_TRUE(pump_until([&] { return reader.receive() && !reader.replies.empty(); })) << k;
  }
  EXPECT_GT(closed_count("memory"), 0u);
  EXPECT_LE(most, std::size_t{12} << 20);
  EXPECT_LT(frontend_->connection_count(), 20u) << "each would hold a megabyte and more";
}

TEST_P(FrontEndLimitsTest, MemoryIsGivenBackAfterABurst) {
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(100'000));
  };
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  client.replies.clear();
  for (std::uint64_t id = 1; id <= 10; ++id) {
    builder.add(request(id), std::vector<std::byte>(50'000));
  }
  const std::vector<std::byte> frame = frame_of(builder);
  std::size_t sent = 0;
  ASSERT_TRUE(pump_until([&] {
    sent += client.send(std::span(frame).subspan(sent));
    return client.receive() && client.replies.size() == 10;
  }));
  EXPECT_LE(held(HeldBytes::Out), 3 * ReplyOutbox::kKeptBytes);
  frontend_->sweep(1000);
  frontend_->sweep(2000);
  EXPECT_EQ(held(HeldBytes::In) + held(HeldBytes::Begun) + held(HeldBytes::Out), 0u);
}

// Turns of many replies allocated their buffers anew each time.
TEST_P(FrontEndLimitsTest, MemoryIsKeptFromTurnToTurnWhileItIsUsedAndGivenBackAfterwards) {
  RawClient client = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(client, builder));
  const auto turn = [&](std::uint64_t count) {
    client.replies.clear();
    for (std::uint64_t id = 1; id <= count; ++id) {
      builder.add(request(id));
    }
    client.send(frame_of(builder));
    ASSERT_TRUE(pump_until([&] { return client.receive() && client.replies.size() == count; }));
  };
  turn(1000);
  turn(1000);  // Two buffers change places.
  const std::size_t kept = held(HeldBytes::Out);
  EXPECT_GE(kept, 1000 * sizeof(protocol::ReplySlot));
  EXPECT_LE(kept, 3 * ReplyOutbox::kKeptBytes);
  for (int k = 0; k < 3; ++k) {
    turn(1000);
    EXPECT_EQ(held(HeldBytes::Out), kept) << k;
    frontend_->sweep(1000);
  }
  turn(1);  // It is active, and uses little.
  EXPECT_EQ(held(HeldBytes::Out), kept);
  EXPECT_TRUE(pump_until([&] {  // An I/O thread may have some of it yet.
    frontend_->sweep(2000);
    return held(HeldBytes::Out) <= 3 * ReplyOutbox::kLeftBytes;
  }));
}

// A14: memory that is only kept costs nobody the connection.
TEST_P(FrontEndLimitsTest, KeptMemoryIsGivenBackBeforeAnybodyIsClosed) {
  FrontEndOptions options;
  options.limits.bytes_max = std::size_t{4}
                             << 20;  // Two for replies, one and a half of one source.
  start(options);
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(10'000));
  };
  welcome_many(30);
  std::size_t most = 0;
  for (std::size_t k = 0; k < clients_.size(); ++k) {
    clients_[k]->replies.clear();
    for (std::uint64_t id = 1; id <= 10; ++id) {
      builders_[k].add(request(id));
    }
    clients_[k]->send(frame_of(builders_[k]));
    ASSERT_TRUE(pump_until([&] {
      return clients_[k]->receive() && clients_[k]->replies.size() == 10;
    })) << k;
    most = std::max(most, held(HeldBytes::Out));
  }
  EXPECT_GT(most, std::size_t{1} << 20) << "more than a few keep some";
  EXPECT_LE(most, std::size_t{3} << 19);
  EXPECT_EQ(closed_count("memory"), 0u);
  EXPECT_EQ(frontend_->connection_count(), 30u);
}

// Issue 23: 4,096 of them shut a node to newcomers for ten minutes. Here it has places for 64.
TEST_P(FrontEndLimitsTest, IdleConnectionsOfOneSourceShutOutNeitherOthersNorTheirOwnHost) {
  FrontEndOptions options;
  options.limits.connections_max = 64;
  start(options);
  welcome_many(48);
  RawClient& refused = add();
  EXPECT_TRUE(closed(refused)) << "the 49th of one source, and the others are not idle yet";
  ASSERT_EQ(refused.replies.size(), 1u);
  EXPECT_EQ(refused.replies[0].detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::ConnectionsExhausted));
  RawClient other = connect();
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  EXPECT_TRUE(welcome(other, builder)) << "another source";
  frontend_->sweep(1'000);
  frontend_->sweep(11'000);
  builders_.emplace_back(protocol::FrameDirection::Requests);
  EXPECT_TRUE(welcome(add(), builders_.back())) << "an operator on the host of the idle ones";
  EXPECT_EQ(closed_count("gave_way"), 1u);
  EXPECT_EQ(closed_count("full"), 1u);
}

TEST_P(FrontEndLimitsTest, ConnectionsWithWorkUnderWayDoNotGiveWay) {
  FrontEndOptions options;
  options.limits = {.connections_max = 8, .source_connections_max = 2};
  start(options);
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot&, auto) {
    frontend_->park(connection);
  };
  welcome_many(2);
  for (std::size_t k = 0; k < 2; ++k) {
    builders_[k].add(request(8));
    clients_[k]->send(frame_of(builders_[k]));
  }
  ASSERT_TRUE(pump_until([&] { return requests_ == 2; }));
  frontend_->sweep(1'000);
  frontend_->sweep(100'000);
  EXPECT_TRUE(closed(add()));
  EXPECT_EQ(closed_count("full"), 1u);
  EXPECT_EQ(frontend_->connection_count(), 2u);
}

TEST_P(FrontEndLimitsTest, WhoNeverSaidHelloGivesWayAtOnceTheOldestFirst) {
  FrontEndOptions options;
  options.limits = {.connections_max = 8, .source_connections_max = 2};
  start(options);
  RawClient& oldest = add();
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 1; }));
  RawClient& second = add();
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 2; }));
  welcome_many(1);
  EXPECT_FALSE(oldest.receive());
  EXPECT_TRUE(second.receive());
  EXPECT_EQ(closed_count("gave_way"), 1u);
}

class ProvenOnly final : public ReplyFilter {
 public:
  std::optional<std::vector<std::byte>> masked(protocol::ConnectionId,
                                               const protocol::ReplySlot&,
                                               std::span<const std::byte>) override {
    return std::nullopt;
  }

  bool lists(protocol::ConnectionId, std::string_view) override { return true; }

  bool proven_only() const override { return true; }

  bool is_operator(protocol::ConnectionId connection) override {
    return frontend != nullptr && frontend->principal(connection).name == "root";
  }

  const FrontEnd* frontend = nullptr;
};

// With rights switched on they may ask for nothing, and asked all the time to keep their places.
TEST_P(FrontEndLimitsTest, WhoProvesNothingGivesWayToANewcomerThoughItAsks) {
  FrontEndOptions options;
  options.limits = {.connections_max = 8, .source_connections_max = 2};
  start(options);
  ProvenOnly filter;
  frontend_->set_filter(filter);
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot&, auto) {
    frontend_->park(connection);
    if (requests_ == 1) {
      frontend_->identity(connection)->principal = {security::PrincipalKind::User, "ann"};
    }
  };
  welcome_many(2);
  for (std::size_t k = 0; k < 2; ++k) {
    builders_[k].add(request(8));
    clients_[k]->send(frame_of(builders_[k]));
    ASSERT_TRUE(pump_until([&] { return requests_ == k + 1; }));
  }
  welcome_many(1);
  EXPECT_TRUE(clients_[0]->receive()) << "it is ann";
  EXPECT_FALSE(clients_[1]->receive());
  EXPECT_EQ(closed_count("gave_way"), 1u);
}

// Its source has all that it may have, and all of it is busy.
TEST_P(FrontEndLimitsTest, AnOperatorProvesItOnAPlaceThatNobodyElseKeeps) {
  FrontEndOptions options;
  options.limits = {.connections_max = 64, .source_connections_max = 2};
  start(options);
  ProvenOnly filter;
  filter.frontend = &*frontend_;
  frontend_->set_filter(filter);
  std::string who = "ann";
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->identity(connection)->principal = {security::PrincipalKind::User, who};
    protocol::ReplySlot reply = protocol::reply_to(slot);
    reply.kind = protocol::RequestKind::Authenticate;
    frontend_->reply(connection, reply, {});
  };
  const auto log_in = [&](std::size_t client) {
    const std::size_t before = requests_;
    builders_[client].add(request(8));
    clients_[client]->send(frame_of(builders_[client]));
    return pump_until([&] { return requests_ > before; });
  };
  welcome_many(2);
  ASSERT_TRUE(log_in(0) && log_in(1));
  who = "root";
  welcome_many(1);
  ASSERT_TRUE(log_in(2));
  who = "bob";
  welcome_many(1);
  const std::size_t answers = clients_[3]->replies.size();
  ASSERT_TRUE(log_in(3));
  EXPECT_TRUE(closed(*clients_[3]));
  // Clients would take an answer for a refused login, and stay away for long.
  EXPECT_EQ(clients_[3]->replies.size(), answers);
  EXPECT_EQ(closed_count("full"), 1u);
  welcome_many(1);  // Who proves nothing has the time of a handshake.
  frontend_->sweep(1'000);
  EXPECT_EQ(frontend_->connection_count(), 4u);
  frontend_->sweep(7'000);
  EXPECT_TRUE(closed(*clients_[4]));
  EXPECT_EQ(closed_count("full"), 2u);
  EXPECT_TRUE(clients_[2]->receive()) << "the operator";
  EXPECT_EQ(frontend_->connection_count(), 3u);
}

// Each newcomer that is turned away would end the login that is under way.
TEST_P(FrontEndLimitsTest, NewcomersDoNotTakeThePlaceOnWhichAnOperatorProvesIt) {
  FrontEndOptions options;
  options.limits = {.connections_max = 64, .source_connections_max = 2};
  start(options);
  ProvenOnly filter;
  filter.frontend = &*frontend_;
  frontend_->set_filter(filter);
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->identity(connection)->principal = {security::PrincipalKind::User, "root"};
    protocol::ReplySlot reply = protocol::reply_to(slot);
    reply.kind = protocol::RequestKind::Authenticate;
    frontend_->reply(connection, reply, {});
  };
  const auto log_in = [&](std::size_t client) {
    const std::size_t before = requests_;
    builders_[client].add(request(8));
    clients_[client]->send(frame_of(builders_[client]));
    return pump_until([&] { return requests_ > before; });
  };
  welcome_many(2);
  ASSERT_TRUE(log_in(0) && log_in(1));
  welcome_many(1);  // The operator, who has not logged in yet.
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(closed(add()));
  }
  EXPECT_EQ(closed_count("gave_way"), 0u);
  EXPECT_EQ(closed_count("full"), 3u);
  ASSERT_TRUE(log_in(2));
  EXPECT_TRUE(clients_[2]->receive());
  EXPECT_EQ(frontend_->connection_count(), 3u);
}

// Four addresses that only said Hello kept operators out.
TEST_P(FrontEndLimitsTest, WhoOnlySaysHelloOnAPlaceOfOperatorsGivesItToTheNextOne) {
  FrontEndOptions options;
  options.limits = {.connections_max = 64, .source_connections_max = 2};
  start(options);
  ProvenOnly filter;
  filter.frontend = &*frontend_;
  frontend_->set_filter(filter);
  std::vector<protocol::ConnectionId> logging_in;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    if (requests_ > 2) {
      logging_in.push_back(connection);
      return frontend_->park(connection);  // Its password is being checked.
    }
    frontend_->identity(connection)->principal = {security::PrincipalKind::User, "root"};
    protocol::ReplySlot reply = protocol::reply_to(slot);
    reply.kind = protocol::RequestKind::Authenticate;
    frontend_->reply(connection, reply, {});
  };
  const auto log_in = [&](std::size_t client, std::size_t welcomed) {
    const std::size_t before = requests_;
    builders_[welcomed].add(request(8));
    clients_[client]->send(frame_of(builders_[welcomed]));
    return pump_until([&] { return requests_ > before; });
  };
  welcome_many(2);
  ASSERT_TRUE(log_in(0, 0) && log_in(1, 1));
  welcome_many(1);  // It only says Hello.
  frontend_->sweep(1'000);
  EXPECT_TRUE(closed(add())) << "it has a second";
  frontend_->sweep(2'000);
  welcome_many(1);
  EXPECT_TRUE(closed(*clients_[2]));
  EXPECT_EQ(closed_count("gave_way"), 1u);
  ASSERT_TRUE(log_in(4, 3));
  frontend_->sweep(3'000);
  frontend_->sweep(5'000);
  EXPECT_TRUE(closed(add())) << "somebody logs in";
  EXPECT_EQ(closed_count("gave_way"), 1u);
  ASSERT_EQ(logging_in.size(), 1u);
  EXPECT_NE(frontend_->identity(logging_in[0]), nullptr);
  EXPECT_EQ(frontend_->connection_count(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Io, FrontEndLimitsTest, every_io(), io_name);

}  // namespace
}  // namespace gcoord::server
