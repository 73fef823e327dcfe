// The lock service with requests that an I/O thread has prepared: what it proposes and refuses is
// what it makes of the same requests itself, in one order per session.
#include "server/ingress/prepared_requests.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

// An engine that keeps what it was given beside the bytes.
class DeviceEngine final : public ReplicatedLog {
 public:
  struct Given {
    ShardId shard;
    std::size_t byte_count = 0;
    locks::LockCommand command;
    std::vector<locks::LockEntry> entries;
    Authority authority;
    std::uint64_t cookie = 0;
  };

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    given.push_back({shard,
                     proposed.bytes.size(),
                     *proposed.command,
                     {proposed.entries.begin(), proposed.entries.end()},
                     proposed.authority,
                     cookie});
  }

  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId shard) const override {
    ShardView result;
    result.shard = shard;
    result.role = consensus::Role::Leader;
    result.leader = NodeId{1};
    result.term = Term{3};
    return result;
  }

  NodeView view() const override { return {}; }

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return true; }

  Abilities abilities() const override {
    return {.moves = false, .on_device = true, .keeps_bytes = keeps_bytes};
  }

  std::vector<Given> given;
  bool keeps_bytes = false;
};

class PreparedService : public testing::Test {
 protected:
  PreparedService() {
    LockServiceOptions options;
    options.node = NodeId{1};
    options.nodes = {NodeId{1}};
    options.tick_ms = 10;
    options.election_ticks = 10;
    options.limits = {4, 100, 60'000};
    options.on_device = true;
    service_ = std::make_unique<LockService>(options, sink_, metrics_);
    router_ = std::make_unique<RequestRouter>(RequestOwners{.service = *service_});
    service_->set_time(1'000'000);
    service_->start(engine_, Incarnation{7}, reports_);
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      service_->on_role(ShardId{shard}, consensus::Role::Leader, Term{3}, NodeId{1});
    }
    engine_.given.clear();
  }

  void add(protocol::RequestSlot slot, std::string_view name) {
    slot.request_id = ++request_last_;
    builder_.add(slot, protocol::bytes_of(name));
  }

  void acquire(std::uint64_t sequence, std::string_view name, std::uint32_t ttl_ms = 1000) {
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{9}, RequestSequence{sequence}, RequestSequence{1}};
    acquire.ttl_ms = ttl_ms;
    add(protocol::to_slot(acquire), name);
  }

  void cancel(std::uint64_t sequence, std::string_view name) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LockCancel;
    slot.session = 9;
    slot.sequence = sequence;
    slot.acked_below = 1;
    add(slot, name);
  }

  // One frame, as a connection takes it.
  void serve(bool prepares) {
    std::vector<std::byte> bytes;
    builder_.finish(bytes);
    protocol::FrameDecoder decoder{protocol::FrameDirection::Requests};
    decoder.append(bytes);
    protocol::FrameView frame;
    ASSERT_EQ(decoder.next(frame), protocol::DecodeStep::Frame);
    PreparedRequests prepared{prepares ? std::optional{IngressRules{{4, 100, 60'000}, true}}
                                       : std::nullopt};
    prepared.add(frame);
    prepared.seal();
    prepared.next_frame();
    for (std::size_t k = 0; k < frame.slot_count(); ++k) {
      const protocol::RequestSlot slot = frame.request(k);
      router_->on_request({protocol::ConnectionId{1}, slot, frame.payload(slot), prepared.at(k)});
    }
    builder_.restart();
  }

  std::uint64_t proposed(IngressWay way) {
    return metrics_
        .counter(
            {"gcoord_server_ingress_commands_total", "", "way", std::string(ingress_way_name(way))})
        .value();
  }

  MetricsRegistry metrics_;
  KeepingSink sink_;
  DeviceEngine engine_;
  NoReports reports_;
  std::unique_ptr<LockService> service_;
  std::unique_ptr<RequestRouter> router_;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  std::uint64_t request_last_ = 0;
};

// Else others would sign their votes for it, and it would drop each.
TEST_F(PreparedService, ANodeWhoseTurnIsResidentSaysThatItTakesNoStatementsOfVotes) {
  EXPECT_FALSE(service_->all_have(protocol::Feature::VoteSignatures));
  EXPECT_TRUE(service_->all_have(protocol::Feature::DeviceGroups));
  LockServiceOptions options;
  options.node = NodeId{1};
  options.nodes = {NodeId{1}};
  options.election_ticks = 10;
  options.limits = {4, 100, 60'000};
  MetricsRegistry metrics;
  LockService on_host{options, sink_, metrics};
  on_host.set_time(1'000'000);
  on_host.start(engine_, Incarnation{7}, reports_);
  EXPECT_TRUE(on_host.all_have(protocol::Feature::VoteSignatures));
}

TEST_F(PreparedService, APreparedAcquireIsProposedWithItsEntriesAndNoBytes) {
  acquire(1, "orders");
  serve(true);
  ASSERT_EQ(engine_.given.size(), 1u);
  const DeviceEngine::Given& given = engine_.given.front();
  EXPECT_EQ(given.shard, shard_of(hash_name("orders"), 4));
  EXPECT_EQ(given.byte_count, 0u);
  EXPECT_EQ(given.entries.size(), 1u);
  EXPECT_EQ(given.command.name_hash, hash_name("orders"));
  EXPECT_EQ(given.authority, Authority{});
  EXPECT_EQ(proposed(IngressWay::Prepared), 1u);
}

TEST_F(PreparedService, BothWaysKeepOneOrderPerSession) {
  acquire(1, "a");
  cancel(1, "a");
  acquire(2, std::string(200, 'x'));
  acquire(3, "a");
  serve(true);
  ASSERT_EQ(engine_.given.size(), 4u);
  EXPECT_EQ(engine_.given[0].command.sequence, RequestSequence{1});
  EXPECT_EQ(engine_.given[1].command.kind, locks::LockCommandKind::CancelWait);
  EXPECT_EQ(engine_.given[2].command.sequence, RequestSequence{2});
  EXPECT_TRUE(engine_.given[2].entries.empty());
  EXPECT_EQ(engine_.given[3].command.sequence, RequestSequence{3});
  EXPECT_EQ(engine_.given[3].entries.size(), 1u);
  EXPECT_EQ(proposed(IngressWay::Prepared), 2u);
  EXPECT_EQ(proposed(IngressWay::OtherKind), 1u);
  EXPECT_EQ(proposed(IngressWay::LongName), 1u);
}

TEST_F(PreparedService, AMistakeFoundBeforehandIsAnsweredAsTheLoopWould) {
  for (const bool prepares : {true, false}) {
    acquire(1, "a", 1);
    acquire(0, "a");
    serve(prepares);
  }
  EXPECT_TRUE(engine_.given.empty());
  ASSERT_EQ(sink_.replies.size(), 4u);
  EXPECT_EQ(sink_.replies[0].slot.detail, sink_.replies[2].slot.detail);
  EXPECT_EQ(sink_.replies[1].slot.detail, sink_.replies[3].slot.detail);
  EXPECT_EQ(sink_.replies[1].slot.detail, static_cast<std::uint32_t>(ErrorCode::SequenceZero));
}

TEST_F(PreparedService, WithoutAnIoThreadTheLoopMakesTheSameCommand) {
  acquire(1, "orders");
  serve(false);
  acquire(1, "orders");
  serve(true);
  ASSERT_EQ(engine_.given.size(), 2u);
  EXPECT_EQ(engine_.given[0].command.name_hash, engine_.given[1].command.name_hash);
  EXPECT_EQ(engine_.given[0].shard, engine_.given[1].shard);
  EXPECT_TRUE(engine_.given[0].entries.empty());
  EXPECT_EQ(proposed(IngressWay::Loop), 1u);
}

// A command that the device refused is an error of its own, and no other node is named.
TEST_F(PreparedService, WhatTheDeviceRefusesIsAnsweredWithItsNumber) {
  acquire(1, "orders");
  serve(true);
  service_->on_proposal_failed(
      engine_.given.front().cookie, {StatusCode::InvalidArgument, "refused"}, NodeId{1});
  ASSERT_EQ(sink_.replies.size(), 1u);
  EXPECT_EQ(sink_.replies[0].slot.detail, static_cast<std::uint32_t>(ErrorCode::DeviceRefused));
}

TEST_F(PreparedService, ALogThatKeepsBytesGetsThem) {
  engine_.keeps_bytes = true;
  acquire(1, "orders");
  serve(true);
  ASSERT_EQ(engine_.given.size(), 1u);
  EXPECT_GT(engine_.given.front().byte_count, 6u);
}

}  // namespace
}  // namespace gcoord::server
