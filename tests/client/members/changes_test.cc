// Changes of members, as the client asks for them: what it sends, once however often it is sent,
// and what it makes of the answers.
#include "protocol/lock_messages.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/view_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

protocol::ClusterView view_of(std::uint64_t epoch) {
  protocol::ClusterView view{.epoch = epoch, .settings = {}, .nodes = {}};
  for (std::uint32_t id = 1; id <= 2; ++id) {
    protocol::Member node;
    node.id = NodeId{id};
    node.name = protocol::default_member_name(node.id);
    view.nodes.push_back(node);
  }
  view.nodes[1].state = protocol::MemberState::Joining;
  view.nodes[1].auto_promote = true;
  view.nodes[1].replaces = NodeId{1};
  view.nodes[1].invitation = protocol::Invitation{.token_hash = {}, .deadline_ms = 9000};
  view.nodes[0].suspect = true;
  view.nodes[0].suspect_since_ms = 7000;
  return view;
}

protocol::MemberActionAnswer changed(bool with_token) {
  protocol::MemberActionAnswer answer;
  answer.view = view_of(4);
  answer.node = NodeId{2};
  answer.token =
      with_token ? protocol::parse_join_token("00112233445566778899aabbccddeeff") : std::nullopt;
  answer.deadline_ms = 9000;
  answer.before = {.votes = 3, .alive = 3, .needed = 2};
  answer.after = {.votes = 3, .alive = 2, .needed = 2};
  answer.moves = {.epoch = 4, .shards = 16, .led = 16, .settled = 5, .ready = 6};
  answer.handed_over = 8;
  return answer;
}

class MembersTest : public ClientTest {
 protected:
  void answer(bool with_token = true) {
    cluster_.answer_with([with_token](const FakeRequest& request) -> std::optional<FakeReply> {
      FakeReply reply = ok_reply(request);
      if (request.slot.kind == RequestKind::MemberChange) {
        reply.payload =
            protocol::text_of(protocol::encode_member_action_answer(changed(with_token)));
      } else if (request.slot.kind == RequestKind::MemberProgress) {
        reply.payload = protocol::text_of(protocol::encode_member_moves(changed(false).moves));
      }
      return reply;
    });
  }

  void refuse_with(ErrorCode code) {
    cluster_.answer_with([code](const FakeRequest& request) {
      return request.slot.kind == RequestKind::MemberChange ? error_reply(request, code)
                                                            : friendly_reply(request);
    });
  }

  std::vector<protocol::MemberActionOrder> sent() const {
    std::vector<protocol::MemberActionOrder> orders;
    for (const FakeRequest& request : cluster_.requests(RequestKind::MemberChange)) {
      auto order = protocol::decode_member_action(
          std::as_bytes(std::span{request.payload.data(), request.payload.size()}));
      EXPECT_TRUE(order.ok());
      if (order.ok()) {
        orders.push_back(std::move(order).value());
      }
    }
    return orders;
  }
};

TEST_F(MembersTest, AnAdditionSaysAllOfTheNodeAndGivesItsToken) {
  answer();
  Client client = connect();
  const auto added = client.add_member({.role = MemberRole::Observer,
                                        .weight = 5,
                                        .auto_promote = false,
                                        .replaces = 1,
                                        .name = "db",
                                        .labels = {{"zone", "b"}, {"rack", "7"}},
                                        .token_ttl = 90s,
                                        .view = 3,
                                        .dry_run = true,
                                        .force = true,
                                        .who = "ann@build"});
  ASSERT_TRUE(added.ok()) << added.status().to_string();
  ASSERT_EQ(sent().size(), 1u);
  const protocol::MemberActionOrder order = sent().front();
  EXPECT_EQ(order.action, protocol::MemberAction::Add);
  EXPECT_EQ(order.role, protocol::MemberRole::Observer);
  EXPECT_EQ(order.weight, 0u);  // An observer has none.
  EXPECT_FALSE(order.auto_promote);
  EXPECT_EQ(order.replaces, NodeId{1});
  EXPECT_EQ(order.name, "db");
  EXPECT_EQ(protocol::member_labels_text(order.labels), "rack=7,zone=b");
  EXPECT_EQ(order.token_ms, 90'000u);
  EXPECT_EQ(order.expected, 3u);
  EXPECT_TRUE(order.dry_run && order.force);
  EXPECT_EQ(order.who, "ann@build");
  EXPECT_NE(order.number, 0u);
  EXPECT_EQ(added.value().node_id, 2u);
  EXPECT_EQ(added.value().token, "00112233445566778899aabbccddeeff");
  EXPECT_EQ(added.value().token_deadline.time_since_epoch(), 9s);
  EXPECT_EQ(added.value().after.alive, 2u);
  EXPECT_EQ(added.value().progress.settled, 5u);
  const MembershipView& view = added.value().view;
  EXPECT_EQ(view.epoch, 4u);
  ASSERT_EQ(view.members.size(), 2u);
  EXPECT_TRUE(view.members[0].suspect);
  EXPECT_EQ(view.members[0].suspect_since.time_since_epoch(), 7s);
  EXPECT_TRUE(view.members[1].invited);
  EXPECT_EQ(view.members[1].invited_until.time_since_epoch(), 9s);
  EXPECT_TRUE(view.members[1].auto_promote);
  EXPECT_EQ(view.members[1].replaces, 1u);
}

TEST_F(MembersTest, ATokenThatNobodyHasAnyMoreIsEmpty) {
  answer(false);
  Client client = connect();
  const auto added = client.add_member({});
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added.value().token, "");
  EXPECT_EQ(sent().front().weight, 1u);
  EXPECT_TRUE(sent().front().auto_promote);
}

TEST_F(MembersTest, AChangeGoesToTheLeaderAndHandingOverToTheNode) {
  answer();
  Client client = connect();
  for (const MemberAction action : {MemberAction::Promote,
                                    MemberAction::Remove,
                                    MemberAction::Drain,
                                    MemberAction::Undrain,
                                    MemberAction::Reweigh}) {
    const auto done = client.change_member(
        {.action = action, .node_id = 2, .replaces = 1, .weight = 3, .view = 3});
    ASSERT_TRUE(done.ok()) << done.status().to_string();
    const protocol::MemberActionOrder order = sent().back();
    EXPECT_EQ(static_cast<int>(order.action), static_cast<int>(action));
    EXPECT_EQ(order.node, NodeId{2});
    EXPECT_EQ(order.replaces.value, action == MemberAction::Promote ? 1u : 0u);
    EXPECT_EQ(order.weight, action == MemberAction::Reweigh ? 3u : 0u);
  }
  const auto moved = client.change_member({.action = MemberAction::MoveLeaders, .node_id = 2});
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved.value().handed_over, 8u);
  EXPECT_EQ(cluster_.requests(RequestKind::MemberChange).back().node, NodeId{2});
}

TEST_F(MembersTest, WhatIsSentAgainHasItsNumber) {
  const auto asked = std::make_shared<std::atomic<int>>(0);  // Of all nodes together.
  cluster_.answer_with([asked](const FakeRequest& request) {
    FakeReply reply = ok_reply(request);
    if (request.slot.kind == RequestKind::MemberChange) {
      reply.hang_up = ++*asked == 1;
      reply.payload = protocol::text_of(protocol::encode_member_action_answer(changed(true)));
    }
    return std::optional(reply);
  });
  Client client = connect();
  auto done = client.change_member_async({.action = MemberAction::Drain, .node_id = 2});
  advance_until(client, 10ms, [&](const ClientStatistics&) { return sent().size() >= 2; });
  EXPECT_TRUE(done.get().ok());
  EXPECT_EQ(sent()[0], sent()[1]);
}

TEST_F(MembersTest, MistakesAreRefusedWithoutANode) {
  answer();
  Client client = connect();
  EXPECT_EQ(client.add_member({.token_ttl = 999ms}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::OptionInvalid));
  EXPECT_EQ(client.add_member({.token_ttl = 24h * 8}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::OptionInvalid));
  EXPECT_EQ(client.add_member({.labels = {{"Zone", "a"}}}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::MemberLabelInvalid));
  EXPECT_EQ(client.add_member({.labels = {{"zone", "a"}, {"zone", "b"}}}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::MemberLabelInvalid));
  EXPECT_EQ(client.change_member({.action = MemberAction::Drain}).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::MemberUnknown));
  EXPECT_EQ(client.change_member({.action = static_cast<MemberAction>(9), .node_id = 1})
                .status()
                .detail(),
            static_cast<std::uint32_t>(ErrorCode::OptionInvalid));
  EXPECT_TRUE(sent().empty());
}

TEST_F(MembersTest, RefusalsKeepTheirNumberAndEarlierReleasesLackTheFeature) {
  refuse_with(ErrorCode::LastVoter);
  Client client = connect();
  const MemberChange removal{.action = MemberAction::Remove, .node_id = 1};
  EXPECT_EQ(client.change_member(removal).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::LastVoter));
  refuse_with(ErrorCode::KindUnknown);
  EXPECT_EQ(client.change_member(removal).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::FeatureMissing));
}

TEST_F(MembersTest, ProgressComesFromTheLeader) {
  answer();
  Client client = connect();
  const auto progress = client.member_progress();
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress.value().epoch, 4u);
  EXPECT_EQ(progress.value().shards, 16u);
  EXPECT_EQ(progress.value().ready, 6u);
}

// Of one node, as it was asked.
TEST_F(MembersTest, AlarmsAreReadAndDisarmedAtOneNode) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = ok_reply(request);
    const std::vector<protocol::AlarmRow> rows = {
        {protocol::AlarmKind::SuspectForLong, NodeId{2}, 7000, false, "node 2 is suspect"}};
    reply.payload = protocol::text_of(protocol::encode_alarm_rows(rows));
    return reply;
  });
  Client client = connect();
  const auto alarms = client.alarms(
      1, {.disarm = true, .kind = AlarmKind::SuspectForLong, .about = 2, .who = "ann"});
  ASSERT_TRUE(alarms.ok()) << alarms.status().to_string();
  ASSERT_EQ(alarms.value().size(), 1u);
  const ClusterAlarm& alarm = alarms.value().front();
  EXPECT_EQ(alarm.kind, AlarmKind::SuspectForLong);
  EXPECT_EQ(alarm.node_id, 2u);
  EXPECT_EQ(alarm.since.time_since_epoch(), 7s);
  EXPECT_FALSE(alarm.armed);
  EXPECT_EQ(alarm.text, "node 2 is suspect");
  const auto sent = cluster_.requests(RequestKind::MemberAlarms);
  ASSERT_EQ(sent.size(), 1u);
  const auto order = protocol::decode_alarm_order(
      std::as_bytes(std::span{sent.front().payload.data(), sent.front().payload.size()}));
  EXPECT_EQ(order.value(),
            (protocol::AlarmOrder{.action = protocol::AlarmAction::Disarm,
                                  .kind = protocol::AlarmKind::SuspectForLong,
                                  .node = NodeId{2},
                                  .who = "ann"}));
  ASSERT_TRUE(client.alarms_async(1, {}).get().ok());
}

TEST_F(MembersTest, ANodeOfAnEarlierReleaseHasNoAlarms) {
  cluster_.answer_with([](const FakeRequest& request) {
    return request.slot.kind == RequestKind::MemberAlarms
               ? error_reply(request, ErrorCode::KindUnknown)
               : friendly_reply(request);
  });
  Client client = connect();
  EXPECT_EQ(client.alarms(1).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::FeatureMissing));
}

TEST_F(MembersTest, AViewSaysHowDetectorsHoldItsNodes) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = ok_reply(request);
    protocol::ViewAnswer answer{.view = view_of(4),
                                .newest = 4,
                                .sights = {{.node = NodeId{1}, .alive = true, .phi_milli = {}},
                                           {.node = NodeId{2}, .alive = true, .phi_milli = {}}}};
    answer.verdicts = {{.node = NodeId{2},
                        .verdict = 2,
                        .cause = 9,  // Of a later release.
                        .level = 2,
                        .phi_milli = 8100,
                        .since_ms = 40,
                        .direct_ms = 2600,
                        .indirect_ms = std::nullopt},
                       {.node = NodeId{7}, .direct_ms = {}, .indirect_ms = {}}};
    reply.payload = protocol::text_of(protocol::encode_view_answer(answer));
    return reply;
  });
  Client client = connect();
  const auto view = client.view();
  ASSERT_TRUE(view.ok()) << view.status().to_string();
  ASSERT_EQ(view.value().sightings.size(), 2u);
  EXPECT_FALSE(view.value().sightings[0].suspicion.has_value());
  const MemberSuspicion suspicion = view.value().sightings[1].suspicion.value();
  EXPECT_EQ(suspicion.verdict, MemberVerdict::Suspect);
  EXPECT_EQ(suspicion.cause, SuspicionCause::None);
  EXPECT_EQ(suspicion.level, FailureLevel::Process);
  EXPECT_EQ(suspicion.phi_milli, 8100u);
  EXPECT_EQ(suspicion.since, 40ms);
  EXPECT_EQ(suspicion.direct, 2600ms);
  EXPECT_FALSE(suspicion.indirect.has_value());
}

}  // namespace
}  // namespace gcoord::client
