// Bytes of cluster views in both versions, of tokens and of the payloads of MemberJoin.
#include "protocol/error_codes.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/cluster_view.h"
#include "protocol/members/join_messages.h"
#include "protocol/members/view_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

ClusterView plain() {
  ClusterView view{.epoch = 3, .settings = {.shards = 8, .tick_ms = 10}, .nodes = {}};
  for (std::uint32_t id = 1; id <= 3; ++id) {
    Member node;
    node.id = NodeId{id};
    node.name = default_member_name(node.id);
    view.nodes.push_back(node);
  }
  return view;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

TEST(ViewBytes, AViewWithoutNewFieldsIsInVersionOne) {
  ClusterView view = plain();
  EXPECT_EQ(encode_view(view).front(), std::byte{1});
  view.nodes[0].state = MemberState::Draining;
  view.nodes[1].state = MemberState::Joining;
  view.nodes[2].state = MemberState::Removed;
  EXPECT_EQ(encode_view(view).front(), std::byte{1});
  EXPECT_EQ(decode_view(encode_view(view)), view);
}

TEST(ViewBytes, EachNewFieldMakesItVersionTwoAndComesBack) {
  const std::vector<std::function<void(Member&)>> changes = {
      [](Member& node) { node.state = MemberState::Leaving; },
      [](Member& node) { node.directory = 7; },
      [](Member& node) { node.suspect = true; },
      [](Member& node) {
        node.suspect = true;
        node.suspect_since_ms = 5;
      },
      [](Member& node) {
        node.state = MemberState::Joining;
        node.auto_promote = true;
      },
      [](Member& node) {
        node.state = MemberState::Joining;
        node.replaces = NodeId{1};
      },
      [](Member& node) {
        node.state = MemberState::Joining;
        node.invitation = Invitation{.token_hash = join_token_hash({}), .deadline_ms = 9};
      },
  };
  for (const auto& change : changes) {
    ClusterView view = plain();
    change(view.nodes[1]);
    std::vector<std::byte> bytes = encode_view(view);
    EXPECT_EQ(bytes.front(), std::byte{2});
    EXPECT_EQ(decode_view(bytes), view);
    // No other bytes say the same, and none is left out.
    bytes.pop_back();
    EXPECT_FALSE(decode_view(bytes));
    // What a client of an earlier release gets.
    const ClusterView shown = plain_view(view);
    EXPECT_EQ(encode_view(shown).front(), std::byte{1});
    EXPECT_EQ(decode_view(encode_view(shown)), shown);
    EXPECT_EQ(
        shown.nodes[1].state,
        view.nodes[1].state == MemberState::Leaving ? MemberState::Draining : view.nodes[1].state);
  }
}

TEST(ViewBytes, AVersionTwoThatVersionOneCouldSayIsRefused) {
  ClusterView view = plain();
  view.nodes[2].directory = 1;
  std::vector<std::byte> bytes = encode_view(view);
  ASSERT_TRUE(decode_view(bytes));
  // The directory id of the last node: 8 bytes before the last 12.
  bytes[bytes.size() - 20] = std::byte{0};
  EXPECT_FALSE(decode_view(bytes));
}

TEST(ViewBytes, VersionTwoIsThese) {
  ClusterView view{.epoch = 2, .settings = {}, .nodes = {}};
  Member node;
  node.id = NodeId{4};
  node.name = "x";
  node.state = MemberState::Joining;
  node.auto_promote = true;
  node.replaces = NodeId{3};
  node.invitation = Invitation{.token_hash = join_token_hash({}), .deadline_ms = 0x0102};
  view.nodes.push_back(node);
  EXPECT_EQ(hex_of(encode_view(view)),
            "02"
            "0200000000000000" +
                std::string(56, '0') +
                "01000000"
                "0400000000000000"
                "0101"
                "0100000000"
                "010078"
                "00000000"
                "00000000"
                "03"
                "81fc492561da56832f9a3ce1d0569ea100c76949545d3b6254f1086a33b71413"
                "0201000000000000"
                "0000000000000000"
                "03000000"
                "0000000000000000");
}

TEST(ViewBytes, NewFieldsStandOnlyWhereTheyMeanSomething) {
  const std::vector<std::function<void(Member&)>> mistakes = {
      [](Member& node) { node.auto_promote = true; },
      [](Member& node) { node.replaces = NodeId{1}; },
      [](Member& node) { node.invitation.emplace(); },
      [](Member& node) { node.suspect_since_ms = 5; },
      [](Member& node) {
        node.state = MemberState::Joining;
        node.replaces = node.id;
      },
      [](Member& node) {
        node.state = MemberState::Removed;
        node.suspect = true;
      },
      [](Member& node) {
        node.state = MemberState::Joining;
        node.invitation.emplace();
        node.directory = 1;
      },
  };
  for (const auto& mistake : mistakes) {
    ClusterView view = plain();
    mistake(view.nodes[1]);
    EXPECT_FALSE(decode_view(encode_view(view)));
  }
}

TEST(ViewBytes, NoIdIsLongerThanBetweenNodes) {
  ClusterView view = plain();
  view.nodes.back().id = NodeId{kMemberIdMax};
  view.nodes.back().name = "last";
  EXPECT_EQ(decode_view(encode_view(view)), view);
  view.nodes.back().id = NodeId{kMemberIdMax + 1};
  EXPECT_FALSE(decode_view(encode_view(view)));
}

TEST(JoinToken, IsThirtyTwoDigits) {
  JoinToken token{};
  for (std::size_t k = 0; k < token.size(); ++k) {
    token[k] = static_cast<std::byte>(17 * k);
  }
  EXPECT_EQ(join_token_text(token), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(parse_join_token(join_token_text(token)), token);
  EXPECT_EQ(parse_join_token("00112233445566778899AABBCCDDEEFF"), token);
  EXPECT_FALSE(parse_join_token("00112233445566778899aabbccddeef"));
  EXPECT_FALSE(parse_join_token("00112233445566778899aabbccddeefg"));
  EXPECT_FALSE(parse_join_token(""));
  // sha256sum says so.
  EXPECT_EQ(hex_of(join_token_proof({})),
            "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb");
  EXPECT_EQ(hex_of(join_token_proof(token)),
            "a8faed6abbf35c12a4b26e40f6feb19d736d90045c83b9f9a31f638d323e6811");
  EXPECT_EQ(hex_of(join_token_hash({})),
            "81fc492561da56832f9a3ce1d0569ea100c76949545d3b6254f1086a33b71413");
  EXPECT_EQ(hex_of(join_token_hash(token)),
            "c2979480e810cb17436e22b34782a5b5246c091a0c2cb223aa00baa4dd6350cc");
}

JoinRequest request() {
  return {.token = *parse_join_token("00112233445566778899aabbccddeeff"),
          .directory = 99,
          .name = "db",
          .peer_address = "10.0.0.4:7500",
          .client_address = "10.0.0.4:7400",
          .labels = {{"rack", "7"}, {"zone", "a"}},
          .features = 1};
}

TEST(JoinMessages, ComeBackAsTheyWere) {
  const auto read = decode_join_request(encode_join_request(request()));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), request());
  const JoinAnswer answer{.cluster = ClusterId{7}, .node = NodeId{2}, .view = plain()};
  std::vector<std::byte> bytes = encode_join_answer(answer);
  ASSERT_TRUE(decode_join_answer(bytes).ok());
  EXPECT_EQ(decode_join_answer(bytes).value(), answer);
  bytes.push_back(std::byte{1});  // Of a later release.
  EXPECT_TRUE(decode_join_answer(bytes).ok());
  for (std::size_t size = 0; size + 1 < bytes.size(); ++size) {
    EXPECT_FALSE(decode_join_answer(std::span{bytes}.first(size)).ok());
  }
}

TEST(JoinMessages, ASealedSecretStandsBehindWhatEarlierReleasesSay) {
  JoinAnswer answer{.cluster = ClusterId{7}, .node = NodeId{2}, .view = plain()};
  const std::vector<std::byte> earlier = encode_join_answer(answer);
  answer.sealed_secret = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::byte> bytes = encode_join_answer(answer);
  ASSERT_GT(bytes.size(), earlier.size());
  EXPECT_TRUE(std::equal(earlier.begin(), earlier.end(), bytes.begin()));
  EXPECT_EQ(decode_join_answer(bytes).value(), answer);
  // Cut off, or too long, it counts as none.
  EXPECT_TRUE(
      decode_join_answer(std::span{bytes}.first(bytes.size() - 1)).value().sealed_secret.empty());
  answer.sealed_secret.resize(kSealedSecretBytesMax + 1);
  EXPECT_TRUE(decode_join_answer(encode_join_answer(answer)).value().sealed_secret.empty());
}

TEST(JoinMessages, WhatNoNodeAsksIsRefused) {
  const std::vector<std::function<void(JoinRequest&)>> mistakes = {
      [](JoinRequest& asked) { asked.directory = 0; },
      [](JoinRequest& asked) { asked.name = std::string(65, 'a'); },
      [](JoinRequest& asked) { asked.peer_address = "a b:1"; },
      [](JoinRequest& asked) { asked.client_address = std::string(256, 'a'); },
      [](JoinRequest& asked) { std::ranges::reverse(asked.labels); },
      [](JoinRequest& asked) { asked.labels.front().value.clear(); },
  };
  for (const auto& mistake : mistakes) {
    JoinRequest asked = request();
    mistake(asked);
    EXPECT_EQ(decode_join_request(encode_join_request(asked)).status().detail(),
              static_cast<std::uint32_t>(ErrorCode::PayloadMalformed));
  }
  const std::vector<std::byte> bytes = encode_join_request(request());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_join_request(std::span{bytes}.first(size)).ok());
  }
  EXPECT_FALSE(decode_join_answer(encode_join_answer({.node = NodeId{9}, .view = plain()})).ok());
}

MemberActionOrder adding() {
  MemberActionOrder order;
  order.number = 5;
  order.replaces = NodeId{2};
  order.weight = 3;
  order.auto_promote = true;
  order.token_ms = 60'000;
  order.name = "db";
  order.labels = {{"zone", "a"}};
  order.who = "ann@build";
  return order;
}

TEST(ChangeMessages, ComeBackAsTheyWere) {
  MemberActionOrder order = adding();
  EXPECT_EQ(decode_member_action(encode_member_action(order)).value(), order);
  for (int action = 2; action <= 7; ++action) {
    order = {.action = static_cast<MemberAction>(action),
             .dry_run = true,
             .force = true,
             .expected = 9,
             .number = 1,
             .node = NodeId{4}};
    EXPECT_EQ(decode_member_action(encode_member_action(order)).value(), order);
    EXPECT_NE(member_action_name(order.action), "unknown");
  }
  const MemberActionAnswer answer{
      .view = plain(),
      .node = NodeId{3},
      .token = JoinToken{},
      .deadline_ms = 8,
      .before = {.votes = 3, .alive = 2, .needed = 2},
      .after = {.votes = 4, .alive = 3, .needed = 3},
      .moves = {.epoch = 3, .shards = 8, .led = 7, .settled = 6, .ready = 5},
      .handed_over = 2};
  std::vector<std::byte> bytes = encode_member_action_answer(answer);
  EXPECT_EQ(decode_member_action_answer(bytes).value(), answer);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_member_action_answer(std::span{bytes}.first(size)).ok());
  }
  EXPECT_EQ(decode_member_moves(encode_member_moves(answer.moves)).value(), answer.moves);
  EXPECT_FALSE(decode_member_moves({}).ok());
}

TEST(ChangeMessages, WhatNoClientAsksIsRefused) {
  const std::vector<std::function<void(MemberActionOrder&)>> mistakes = {
      [](MemberActionOrder& order) { order.number = 0; },
      [](MemberActionOrder& order) { order.node = NodeId{1}; },
      [](MemberActionOrder& order) { order.token_ms = 999; },
      [](MemberActionOrder& order) { order.token_ms = kJoinTokenMsMax + 1; },
      [](MemberActionOrder& order) { order.role = static_cast<MemberRole>(4); },
      [](MemberActionOrder& order) { order.action = static_cast<MemberAction>(0); },
      [](MemberActionOrder& order) { order.action = MemberAction::Promote; },
      [](MemberActionOrder& order) { order.who = std::string(129, 'w'); },
      [](MemberActionOrder& order) { order.name = std::string(65, 'w'); },
  };
  for (const auto& mistake : mistakes) {
    MemberActionOrder order = adding();
    mistake(order);
    EXPECT_FALSE(decode_member_action(encode_member_action(order)).ok());
  }
  const std::vector<std::byte> bytes = encode_member_action(adding());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_member_action(std::span{bytes}.first(size)).ok());
  }
}

TEST(ViewQueryBytes, SayWhetherTheAskerReadsVersionTwo) {
  std::vector<std::byte> bytes = encode_view_query({});
  EXPECT_TRUE(decode_view_query(bytes).value().members);
  bytes[1] = std::byte{0};  // As earlier releases write it.
  EXPECT_FALSE(decode_view_query(bytes).value().members);
}

TEST(ViewAnswers, VerdictsComeBackAndMayBeAbsent) {
  ViewAnswer answer{.view = plain(), .newest = 3, .sights = {}};
  const std::vector<std::byte> without = encode_view_answer(answer);
  EXPECT_TRUE(decode_view_answer(without).value().verdicts.empty());
  answer.verdicts = {{.node = NodeId{2},
                      .verdict = 2,
                      .cause = 1,
                      .level = 3,
                      .phi_milli = 8100,
                      .since_ms = 40,
                      .direct_ms = 2600,
                      .indirect_ms = std::nullopt},
                     {.node = NodeId{3}, .direct_ms = std::nullopt, .indirect_ms = 7}};
  for (const std::uint64_t settled : {0u, 2u}) {
    answer.settled = settled;
    std::vector<std::byte> bytes = encode_view_answer(answer);
    // Earlier releases read so far.
    EXPECT_TRUE(std::ranges::equal(std::span{bytes}.first(without.size()), without));
    const auto read = decode_view_answer(bytes);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value().verdicts, answer.verdicts);
    EXPECT_EQ(read.value().settled, settled);
    for (std::size_t size = bytes.size() - 1; size > bytes.size() - 28; --size) {
      EXPECT_FALSE(decode_view_answer(std::span{bytes}.first(size)).ok());
    }
    bytes.push_back(std::byte{1});  // Of a later release.
    EXPECT_EQ(decode_view_answer(bytes).value().verdicts, answer.verdicts);
  }
}

TEST(AlarmMessages, ComeBackAsTheyWere) {
  for (const AlarmOrder& order :
       {AlarmOrder{},
        AlarmOrder{.action = AlarmAction::Disarm, .kind = AlarmKind::SuspectForLong, .who = "ann"},
        AlarmOrder{.action = AlarmAction::Disarm, .kind = std::nullopt, .node = NodeId{3}}}) {
    EXPECT_EQ(decode_alarm_order(encode_alarm_order(order)).value(), order);
  }
  const std::vector<AlarmRow> rows = {
      {AlarmKind::NotConverged, NodeId{4}, 1'700'000'000'000, true, "node 4 is joining"},
      {AlarmKind::SuspectForLong, NodeId{2}, 5, false, ""}};
  std::vector<std::byte> bytes = encode_alarm_rows(rows);
  EXPECT_EQ(decode_alarm_rows(bytes).value(), rows);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_alarm_rows(std::span{bytes}.first(size)).ok());
  }
  bytes.push_back(std::byte{1});  // Of a later release.
  EXPECT_TRUE(decode_alarm_rows(bytes).ok());
  EXPECT_TRUE(decode_alarm_rows(encode_alarm_rows({})).value().empty());
}

TEST(AlarmMessages, AreBounded) {
  AlarmRow row{AlarmKind::NotConverged, NodeId{4}, 1, true, std::string(600, 't')};
  const std::vector<AlarmRow> many(kAlarmsMax + 1, row);
  const auto read = decode_alarm_rows(encode_alarm_rows(many)).value();
  EXPECT_EQ(read.size(), kAlarmsMax);
  EXPECT_EQ(read.front().text.size(), kAlarmTextBytesMax);
  const auto refused = [](const std::vector<std::byte>& bytes) {
    return !decode_alarm_order(bytes).ok();
  };
  EXPECT_TRUE(refused({}));
  const auto bytes = encode_alarm_order({});
  EXPECT_TRUE(refused({bytes.begin(), bytes.end() - 1}));
  EXPECT_TRUE(refused(encode_alarm_order({.action = static_cast<AlarmAction>(3)})));
  EXPECT_TRUE(refused(encode_alarm_order({.who = std::string(kAlarmWhoBytesMax + 1, 'w')})));
}

TEST(AlarmMessages, KindsHaveNames) {
  for (const AlarmKind kind : {AlarmKind::NotConverged, AlarmKind::SuspectForLong}) {
    EXPECT_EQ(parse_alarm_kind(alarm_kind_name(kind)), kind);
  }
  EXPECT_EQ(parse_alarm_kind("unknown"), std::nullopt);
  EXPECT_EQ(alarm_kind_name(static_cast<AlarmKind>(9)), "unknown");
}

}  // namespace
}  // namespace gcoord::protocol
