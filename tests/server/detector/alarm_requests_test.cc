// Requests for alarms: any node answers for itself, and who disarms what is judged here.
#include "server/detector/alarm_requests.h"

#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "tests/server/last_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::AlarmAction;
using protocol::AlarmOrder;
using protocol::AlarmRow;
using protocol::ErrorCode;

constexpr std::uint64_t kWall = 1'700'000'000'000;

// Node 2 is suspect for long, node 3 joins for long.
class AlarmRequestsTest : public testing::Test {
 protected:
  AlarmRequestsTest() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      protocol::Member member;
      member.id = NodeId{id};
      view_.nodes.push_back(member);
    }
    view_.nodes[1].suspect = true;
    view_.nodes[1].suspect_since_ms = kWall - 5000;
    view_.nodes[2].state = protocol::MemberState::Joining;
    alarms_.refresh(view_, 1, kWall - 2000);
    alarms_.refresh(view_, 2001, kWall);
  }

  // The number of the error.
  ErrorCode send(std::span<const std::byte> payload, std::uint16_t flags = 0) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::MemberAlarms;
    slot.flags = flags;
    const int before = replies_.count;
    requests_.on_request({}, slot, payload);
    EXPECT_EQ(replies_.count, before + 1);
    return static_cast<ErrorCode>(replies_.last.detail);
  }

  ErrorCode send(const AlarmOrder& order) { return send(protocol::encode_alarm_order(order)); }

  std::vector<AlarmRow> rows() const { return protocol::decode_alarm_rows(replies_.bytes).value(); }

  protocol::ClusterView view_{.epoch = 4, .settings = {}, .nodes = {}};
  Alarms alarms_{{.converge_after_ms = 1000, .replace_after_ms = 1000}};
  LastAnswer replies_;
  AlarmRequests requests_{{.replies = replies_,
                           .alarms = alarms_,
                           .view = [this]() -> const protocol::ClusterView& { return view_; },
                           .wall_ms = [] { return kWall; }}};
};

TEST_F(AlarmRequestsTest, ListSaysAllThatIsKnown) {
  ASSERT_EQ(send(AlarmOrder{}), ErrorCode::None);
  const std::vector<AlarmRow> expected = {
      {AlarmKind::SuspectForLong,
       NodeId{2},
       kWall - 5000,
       true,
       "node 2 is suspect for 5 s: start it again, or replace it"},
      {AlarmKind::NotConverged,
       NodeId{3},
       kWall - 2000,
       true,
       "node 3 is joining for 2 s: see whether all nodes live and have room"}};
  EXPECT_EQ(rows(), expected);
  EXPECT_EQ(alarms_.armed_count(), 2u);
}

TEST_F(AlarmRequestsTest, DisarmedAreThoseThatMatch) {
  const AlarmOrder order{
      .action = AlarmAction::Disarm, .kind = AlarmKind::NotConverged, .node = {}, .who = "ann"};
  ASSERT_EQ(send(order), ErrorCode::None);
  EXPECT_TRUE(rows()[0].armed);
  EXPECT_FALSE(rows()[1].armed);
  EXPECT_EQ(send(order), ErrorCode::None) << "once more";
  ASSERT_EQ(send(AlarmOrder{.action = AlarmAction::Disarm, .kind = {}, .node = NodeId{2}}),
            ErrorCode::None);
  EXPECT_FALSE(rows()[0].armed);
}

TEST_F(AlarmRequestsTest, AnUnknownAlarmIsRefusedWithItsNumber) {
  EXPECT_EQ(send(AlarmOrder{
                .action = AlarmAction::Disarm, .kind = AlarmKind::NotConverged, .node = NodeId{2}}),
            ErrorCode::AlarmUnknown);
  const std::string text{reinterpret_cast<const char*>(replies_.bytes.data()),
                         replies_.bytes.size()};
  EXPECT_NE(text.find("not-converged:2"), std::string::npos) << text;
  EXPECT_EQ(send(AlarmOrder{.action = AlarmAction::Disarm, .kind = static_cast<AlarmKind>(77)}),
            ErrorCode::AlarmUnknown)
      << "of a later release";
  EXPECT_EQ(alarms_.armed_count(), 2u);
}

TEST_F(AlarmRequestsTest, WhatNoClientSendsIsRefused) {
  EXPECT_EQ(send(std::span<const std::byte>{}), ErrorCode::PayloadMalformed);
  EXPECT_EQ(send(AlarmOrder{.action = AlarmAction::Disarm, .kind = {}, .who = "a\x1b[2J"}),
            ErrorCode::SlotInvalid);
  EXPECT_EQ(send(protocol::encode_alarm_order({}), 1), ErrorCode::SlotInvalid);
  EXPECT_EQ(alarms_.armed_count(), 2u);
}

}  // namespace
}  // namespace gcoord::server
