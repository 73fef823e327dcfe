#include "server/node/dear_requests.h"

#include "protocol/error_codes.h"
#include "server/node/request_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ConnectionId;
using protocol::RequestKind;

class Sink final : public protocol::ReplySink {
 public:
  void park(ConnectionId) override {}

  void unpark(ConnectionId) override {}

  void reply(ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte>) override {
    replies.emplace_back(connection, slot);
  }

  std::optional<std::size_t> backlog_bytes(ConnectionId connection) const override {
    const auto found = backlogs.find(connection.value);
    return found == backlogs.end() ? std::optional<std::size_t>{0} : found->second;
  }

  std::vector<std::pair<ConnectionId, protocol::ReplySlot>> replies;
  std::map<std::uint64_t, std::optional<std::size_t>> backlogs;
};

const DearRequests::Others kAlone = [](ConnectionId) { return false; };
const DearRequests::Others kBeside = [](ConnectionId) { return true; };

class DearRequestsTest : public testing::Test {
 protected:
  DearRequestsTest() : dear_(sink_, slow_, metrics_) {
    dear_.set_handler([this](const ClientRequest& request) {
      served_.push_back(request.connection.value);
      payloads_.emplace_back(request.payload.begin(), request.payload.end());
    });
  }

  void add(std::uint64_t connection, std::size_t payload_bytes = 0) {
    protocol::RequestSlot slot;
    slot.kind = RequestKind::NodeStatus;
    const std::vector<std::byte> payload(payload_bytes, std::byte{7});
    dear_.add({ConnectionId{connection}, slot, payload}, now_us_);
  }

  Sink sink_;
  MetricsRegistry metrics_;
  SlowRequests slow_{1000, sink_, metrics_};
  DearRequests dear_;
  std::uint64_t now_us_ = 1;
  std::vector<std::uint64_t> served_;
  std::vector<std::vector<std::byte>> payloads_;
};

// Issue 23: 100 connections that flood with status requests stopped heartbeats and leases.
TEST_F(DearRequestsTest, APassServesAFewHoweverManyWait) {
  for (std::uint64_t connection = 1; connection <= 100; ++connection) {
    for (int k = 0; k < 30; ++k) {
      add(connection);
    }
  }
  EXPECT_TRUE(served_.empty()) << "not while the sockets are read";
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(served_.size(), kDearPerPass);
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(served_.size(), 2 * kDearPerPass);
  EXPECT_EQ(dear_.waiting(), 3000 - 2 * kDearPerPass);
}

TEST_F(DearRequestsTest, ConnectionsHaveTheirTurnOneAfterTheOther) {
  for (int k = 0; k < 200; ++k) {
    add(1);
    add(2);
  }
  add(3);
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(served_, (std::vector<std::uint64_t>{1, 2, 3, 1}));
}

TEST_F(DearRequestsTest, PayloadsAreKeptUntilTheirTurn) {
  add(1, 100);
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(payloads_[0], std::vector<std::byte>(100, std::byte{7}));
  EXPECT_FALSE(dear_.serve(now_us_, kAlone)) << "nothing waits";
}

TEST_F(DearRequestsTest, WhoDoesNotReadIsPassedOverUntilHeDoes) {
  add(1);
  add(2);
  sink_.backlogs[1] = kDearBacklogBytes;
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(served_, std::vector<std::uint64_t>{2});
  EXPECT_FALSE(dear_.serve(now_us_, kAlone)) << "the loop may sleep";
  EXPECT_GT(dear_.until_next_us(now_us_), 1'000'000'000u) << "however long";
  sink_.backlogs[1] = 0;
  dear_.on_room(ConnectionId{1});
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(served_, (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(DearRequestsTest, WhoStandsAsideKeepsItsRequestsInOrderAndLosesThemWithItsConnection) {
  add(1, 1);
  sink_.backlogs[1] = kDearBacklogBytes;
  EXPECT_FALSE(dear_.serve(now_us_, kAlone));
  add(1, 2);
  add(2, 3);
  dear_.on_room(ConnectionId{2});  // It did not stand aside.
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(dear_.waiting(), 2u);
  sink_.backlogs[1] = 0;
  dear_.on_room(ConnectionId{1});
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  ASSERT_EQ(payloads_.size(), 3u);
  EXPECT_EQ(payloads_[1].size(), 1u);
  EXPECT_EQ(payloads_[2].size(), 2u);
  add(3);
  sink_.backlogs[3] = kDearBacklogBytes;
  EXPECT_FALSE(dear_.serve(now_us_, kAlone));
  sink_.backlogs[3] = std::nullopt;
  dear_.on_room(ConnectionId{3});
  EXPECT_FALSE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(dear_.waiting(), 0u);
}

// Four of some milliseconds in each pass held up everybody else.
TEST_F(DearRequestsTest, BesideOthersItIsOneAndThenTheyHaveTheirPartOfTheTime) {
  for (int k = 0; k < 30; ++k) {
    add(1);
  }
  EXPECT_TRUE(dear_.serve(now_us_, kBeside));
  EXPECT_EQ(served_.size(), 1u);
  now_us_ += 1'000;  // So long that pass took.
  EXPECT_FALSE(dear_.serve(now_us_, kBeside));
  EXPECT_EQ(dear_.until_next_us(now_us_), (kDearParts - 1) * 1'000);
  now_us_ += (kDearParts - 1) * 1'000;
  EXPECT_TRUE(dear_.serve(now_us_, kBeside));
  EXPECT_EQ(served_.size(), 2u);
  now_us_ += 1'000;
  EXPECT_TRUE(dear_.serve(now_us_, kAlone)) << "nobody else is there any more";
  EXPECT_EQ(served_.size(), 2 + kDearPerPass);
}

// A list of all shards took tens of milliseconds in one pass.
TEST_F(DearRequestsTest, EachPartOfALongRequestIsATurnAndTheNextRequestIsBehindTheLast) {
  int parts = 0;
  dear_.set_parts({.under_way = [&] { return parts > 0; }, .go_on = [&] { --parts; }});
  dear_.set_handler([&](const ClientRequest& request) {
    served_.push_back(request.connection.value);
    parts = request.connection.value == 1 ? 6 : 0;
  });
  add(1);
  add(2);
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(parts, 3) << "its beginning and three parts";
  EXPECT_EQ(dear_.until_next_us(now_us_), 0u);
  EXPECT_TRUE(dear_.serve(now_us_, kBeside));
  EXPECT_EQ(parts, 2) << "beside others";
  EXPECT_TRUE(dear_.serve(now_us_ + 1, kAlone));
  EXPECT_EQ(parts, 0);
  EXPECT_EQ(served_, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(dear_.serve(now_us_ + 2, kAlone));
}

TEST_F(DearRequestsTest, RequestsOfAConnectionThatIsGoneAreDropped) {
  add(1);
  add(1);
  sink_.backlogs[1] = std::nullopt;
  EXPECT_FALSE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(dear_.waiting(), 0u);
  EXPECT_TRUE(sink_.replies.empty());
}

TEST_F(DearRequestsTest, WhatFindsNoPlaceIsRefusedAsOverload) {
  for (std::size_t k = 0; k <= kDearPerConnection; ++k) {
    add(1);
  }
  ASSERT_EQ(sink_.replies.size(), 1u);
  EXPECT_EQ(sink_.replies[0].second.detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::Overloaded));
  EXPECT_EQ(dear_.waiting(), kDearPerConnection);
}

TEST_F(DearRequestsTest, AFullQueueHasPlacesForNewcomers) {
  for (std::uint64_t connection = 1; connection <= 40; ++connection) {
    for (std::size_t k = 0; k < kDearPerConnection; ++k) {
      add(connection);
    }
  }
  EXPECT_GE(dear_.waiting(), kDearMax);
  EXPECT_LE(dear_.waiting(), 2 * kDearMax);
  sink_.replies.clear();
  add(99);
  EXPECT_TRUE(sink_.replies.empty());
}

// It once went to its owner without a turn, so that padding was a way past the queue.
TEST_F(DearRequestsTest, WhatIsTooLongToBeServedIsRefusedAtOnce) {
  add(1, kDearPayloadBytesMax + 1);
  EXPECT_TRUE(served_.empty());
  EXPECT_EQ(dear_.waiting(), 0u);
  ASSERT_EQ(sink_.replies.size(), 1u);
}

TEST(RequestCostTest, HeartbeatsLeasesAndLocksAreCheapAndStatusListsSavesAndThePastAreDear) {
  for (const RequestKind kind : {RequestKind::KeepAlive,
                                 RequestKind::LockAcquire,
                                 RequestKind::LockRelease,
                                 RequestKind::LockCheck,
                                 RequestKind::LockGet,
                                 RequestKind::SessionGrant}) {
    EXPECT_EQ(find_request(kind)->cost, RequestCost::Cheap) << protocol::request_kind_name(kind);
  }
  for (const RequestKind kind : {RequestKind::NodeStatus,
                                 RequestKind::ShardList,
                                 RequestKind::LeaderMap,
                                 RequestKind::LockList,
                                 RequestKind::LockReadList,
                                 RequestKind::SessionList,
                                 RequestKind::SnapshotOpen,
                                 RequestKind::SnapshotRead,
                                 RequestKind::LockGetAt}) {
    EXPECT_EQ(find_request(kind)->cost, RequestCost::Dear) << protocol::request_kind_name(kind);
  }
}

// What waits for its turn longer than a request may take is counted as slow.
TEST_F(DearRequestsTest, ARequestThatWaitedTooLongIsSlow) {
  const auto slow_count = [this] {
    return metrics_.counter({"gcoord_server_slow_requests_total", "", "", ""}).value();
  };
  add(1);
  now_us_ += 999'999;
  add(2);
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(slow_count(), 0u);
  add(3);
  now_us_ += 1'000'000;
  EXPECT_TRUE(dear_.serve(now_us_, kAlone));
  EXPECT_EQ(slow_count(), 1u);
}

}  // namespace
}  // namespace gcoord::server
