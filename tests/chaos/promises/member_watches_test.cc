// What must hold while nodes come and go: the two watches, each with what it must find.
#include "chaos/promises/configuration_watch.h"
#include "chaos/promises/quorum_watch.h"
#include "common/tables/column_arena.h"
#include "consensus/step/shard_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace gcoord::chaos {
namespace {

using consensus::Configuration;
using consensus::ConfigurationInput;
using consensus::Message;
using consensus::MessageKind;

// Slot k has node k + 1; those of `outgoing` make it joint.
Configuration configuration_of(std::initializer_list<std::uint32_t> voters,
                               std::initializer_list<std::uint32_t> outgoing = {}) {
  Configuration result;
  const auto add = [&result](consensus::SlotMask& mask, std::uint32_t node) {
    mask = static_cast<consensus::SlotMask>(mask | consensus::slot_bit(node - 1));
    result.node[node - 1] = NodeId{node};
    result.weight[node - 1] = 1;
  };
  for (const std::uint32_t node : voters) {
    add(result.voters, node);
  }
  for (const std::uint32_t node : outgoing) {
    add(result.voters_outgoing, node);
  }
  return result;
}

// A node's row of shard 0, and steps of it.
class Row {
 public:
  explicit Row(std::uint32_t node)
      : node_(node), columns_(consensus::carve_shard_columns(arena_, 1, consensus::kReplicaSlots)) {
    row().configuration() = configuration_of({1, 2, 3});
  }

  consensus::ShardRef row() const { return {columns_, 0}; }

  consensus::Inbox in;

  template <typename Watch, typename... More>
  std::string step(Watch& watch, const More&... more) {
    const consensus::ShardRef now = row();
    return watch.on_step(SeenStep{NodeId{node_}, now, in, out_}, more...);
  }

 private:
  std::uint32_t node_;
  ColumnArena arena_{consensus::shard_columns_bytes(1, consensus::kReplicaSlots)};
  consensus::ShardColumns columns_;
  consensus::Outbox out_;
};

std::string apply(ConfigurationWatch& watch, std::uint64_t index, const Configuration& applied) {
  Row row(1);
  row.in.configuration_input = ConfigurationInput::Applied;
  row.in.configuration_index = LogIndex{index};
  row.in.configuration = applied;
  return row.step(watch, 0u);
}

TEST(ConfigurationWatch, ConfigurationsThatFollowAreRight) {
  ConfigurationWatch watch(1, 3);
  EXPECT_EQ(apply(watch, 5, configuration_of({1, 2, 3, 4})), "");
  EXPECT_EQ(apply(watch, 5, configuration_of({1, 2, 3, 4})), "") << "on another node";
  EXPECT_EQ(apply(watch, 9, configuration_of({1, 2, 5}, {1, 2, 3, 4})), "");
  EXPECT_EQ(apply(watch, 11, configuration_of({1, 2, 5})), "");
  EXPECT_EQ(watch.changes(), 3u);
  EXPECT_TRUE(watch.has_voter(ShardId{0}, NodeId{5}));
  EXPECT_FALSE(watch.has_voter(ShardId{0}, NodeId{4}));
}

TEST(ConfigurationWatch, TwoVotersAtOnceAreFound) {
  ConfigurationWatch watch(1, 3);
  EXPECT_NE(apply(watch, 5, configuration_of({1, 4, 5})), "");
}

TEST(ConfigurationWatch, AnotherConfigurationAtTheSameIndexIsFound) {
  ConfigurationWatch watch(1, 3);
  EXPECT_EQ(apply(watch, 5, configuration_of({1, 2, 3, 4})), "");
  EXPECT_NE(apply(watch, 5, configuration_of({1, 2, 3, 5})), "");
}

TEST(ConfigurationWatch, AReplacedVoterThatGoesFirstIsFound) {
  ConfigurationWatch watch(1, 3);
  Row row(1);
  row.in.configuration_input = ConfigurationInput::Proposed;
  row.in.configuration = configuration_of({1, 2});
  EXPECT_NE(row.step(watch, 3u), "") << "three are wanted";
  EXPECT_EQ(row.step(watch, 2u), "") << "two are";
  row.in.configuration = configuration_of({1, 2, 4}, {1, 2, 3});
  EXPECT_EQ(row.step(watch, 3u), "");
}

TEST(ConfigurationWatch, QuorumsAreCountedByWeights) {
  Configuration heavy = configuration_of({1, 2, 3});
  heavy.weight[2] = 3;  // Alone it is a quorum.
  EXPECT_TRUE(every_two_quorums_meet(heavy, heavy));
  EXPECT_FALSE(every_two_quorums_meet(heavy, configuration_of({1, 2, 3})));
  EXPECT_TRUE(every_two_quorums_meet(configuration_of({1, 2, 3, 4}), configuration_of({1, 2, 3})));
  EXPECT_FALSE(every_two_quorums_meet(configuration_of({1, 2, 3}), configuration_of({3, 4, 5})));
  EXPECT_TRUE(
      every_two_quorums_meet(configuration_of({1, 2, 3}), configuration_of({3, 4, 5}, {1, 2, 3})));
}

Message reply_of(MessageKind kind, std::uint32_t from) {
  Message message;
  message.kind = kind;
  message.from = NodeId{from};
  message.to = NodeId{1};
  message.term = Term{7};
  return message;
}

void vote(QuorumWatch& watch, std::uint32_t from) {
  watch.on_message(reply_of(MessageKind::VoteReply, from));
}

void acknowledge(QuorumWatch& watch, std::uint32_t from, std::uint64_t index) {
  Message message = reply_of(MessageKind::AppendReply, from);
  message.index = LogIndex{index};
  watch.on_message(message);
}

// Node 1 becomes leader in term 7.
std::string lead(QuorumWatch& watch, Row& row) {
  row.row().hot().role = consensus::Role::Leader;
  row.row().hot().term = Term{7};
  return row.step(watch);
}

TEST(QuorumWatch, ALeaderWithTheVotesOfItsVotersIsRight) {
  QuorumWatch watch(1);
  Row row(1);
  vote(watch, 2);
  EXPECT_EQ(lead(watch, row), "");
}

// Node 1 has its votes of term 7 and hears of the last one late.
TEST(QuorumWatch, VotesCountAlsoWhenALaterTermHasALeaderAlready) {
  QuorumWatch watch(1);
  Row late(1);
  vote(watch, 2);
  Row row(2);
  Message reply = reply_of(MessageKind::VoteReply, 3);
  reply.to = NodeId{2};
  reply.term = Term{8};
  watch.on_message(reply);
  row.row().hot().role = consensus::Role::Leader;
  row.row().hot().term = Term{8};
  ASSERT_EQ(row.step(watch), "");
  EXPECT_EQ(lead(watch, late), "");
}

TEST(QuorumWatch, AVoteOfANodeOutsideTheConfigurationIsFound) {
  QuorumWatch watch(1);
  Row row(1);
  vote(watch, 4);
  EXPECT_NE(lead(watch, row), "");
}

TEST(QuorumWatch, ADecisionThatCountsANodeOutsideTheConfigurationIsFound) {
  QuorumWatch watch(1);
  Row row(1);
  vote(watch, 2);
  ASSERT_EQ(lead(watch, row), "");
  row.row().storage().durable = LogIndex{9};
  acknowledge(watch, 2, 8);
  row.row().log().commit = LogIndex{8};
  EXPECT_EQ(row.step(watch), "");
  acknowledge(watch, 4, 9);
  row.row().log().commit = LogIndex{9};
  EXPECT_NE(row.step(watch), "");
}

TEST(QuorumWatch, WhatOthersKnowAsDecidedNeedsNoAnswers) {
  QuorumWatch watch(1);
  Row follower(2);
  follower.row().log().commit = LogIndex{5};
  ASSERT_EQ(follower.step(watch), "");
  Row row(1);
  vote(watch, 2);
  ASSERT_EQ(lead(watch, row), "");
  row.row().log().commit = LogIndex{5};
  EXPECT_EQ(row.step(watch), "");
}

}  // namespace
}  // namespace gcoord::chaos
