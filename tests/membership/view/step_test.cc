// Nodes that come and go, as commands of the view: what each step does, and what is refused.
#include "common/crc32c.h"
#include "common/incarnation.h"
#include "membership/view/restored_view.h"
#include "protocol/members/voters.h"
#include "tests/membership/view/member_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace gcoord::membership {
namespace {

using Kind = ViewCommandKind;

TEST(MemberSteps, ANodeIsAddedAdmittedAndPromoted) {
  Views views{3};
  MemberStep step = Views::added();
  step.auto_promote = true;
  step.labels = {{"zone", "b"}};
  ASSERT_EQ(views.take(Kind::Add, step), ViewCode::Applied);
  const Member& invited = views.node(4);
  EXPECT_EQ(invited.state, MemberState::Joining);
  EXPECT_EQ(invited.name, "node-4");
  EXPECT_EQ(invited.weight, 1u);
  EXPECT_TRUE(invited.invitation.has_value());
  EXPECT_TRUE(invited.auto_promote);
  EXPECT_EQ(views.take(Kind::Promote, 4), ViewCode::StateWrong);  // Nobody is there yet.
  MemberStep admission = Views::admitted(4);
  admission.name = "db";
  ASSERT_EQ(views.take(Kind::Admit, admission), ViewCode::Applied);
  EXPECT_FALSE(views.node(4).invitation.has_value());
  EXPECT_EQ(views.node(4).directory, 101u);
  EXPECT_EQ(views.node(4).name, "db");
  EXPECT_EQ(views.node(4).peer_address, "joiner4:1");
  EXPECT_EQ(protocol::member_labels_text(views.node(4).labels), "zone=b");
  EXPECT_EQ(views.node(4).state, MemberState::Joining);
  EXPECT_TRUE(views.state.has_spent(token_of(1)));
  EXPECT_FALSE(views.state.has_spent(token_of(2)));
  ASSERT_EQ(views.take(Kind::Promote, 4), ViewCode::Applied);
  EXPECT_EQ(views.node(4).state, MemberState::Active);
  EXPECT_FALSE(views.node(4).auto_promote);
  EXPECT_EQ(views.take(Kind::Promote, 4), ViewCode::StateWrong);
}

TEST(MemberSteps, AnObserverIsNoVoter) {
  Views views{1};
  MemberStep step = Views::added();
  step.role = MemberRole::Observer;
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::WeightInvalid);
  step.weight = 0;
  EXPECT_EQ(views.grown(step), 2u);
  EXPECT_EQ(views.take(Kind::Reweigh, {.node = NodeId{2}, .weight = 3}), ViewCode::RoleWrong);
  EXPECT_EQ(views.take(Kind::Leave, 1), ViewCode::LastVoter);
  EXPECT_EQ(views.take(Kind::Leave, 2), ViewCode::Applied);
}

TEST(MemberSteps, OneTakesThePlaceOfAnotherInOneView) {
  Views views{3};
  MemberStep step = Views::added();
  step.replaces = NodeId{2};
  ASSERT_EQ(views.take(Kind::Add, step), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::ReplaceInvalid);
  EXPECT_EQ(views.node(4).replaces, NodeId{2});
  ASSERT_EQ(views.take(Kind::Admit, Views::admitted(4)), ViewCode::Applied);
  EXPECT_EQ(views.node(2).state, MemberState::Active);
  ASSERT_EQ(views.take(Kind::Promote, 4), ViewCode::Applied);
  EXPECT_EQ(views.node(4).state, MemberState::Active);
  EXPECT_EQ(views.node(4).replaces, NodeId{});
  EXPECT_EQ(views.node(2).state, MemberState::Leaving);
  step.replaces = NodeId{2};
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::ReplaceInvalid);
  ASSERT_EQ(views.take(Kind::Gone, 2), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::NodeRemoved);
}

TEST(MemberSteps, OneThatJoinsTakesThePlaceThatPromoteNames) {
  Views views{3};
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Admit, Views::admitted(4)), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Promote, {.node = NodeId{4}, .replaces = NodeId{4}}),
            ViewCode::ReplaceInvalid);
  EXPECT_EQ(views.take(Kind::Promote, {.node = NodeId{4}, .replaces = NodeId{9}}),
            ViewCode::NodeUnknown);
  ASSERT_EQ(views.take(Kind::Promote, {.node = NodeId{4}, .replaces = NodeId{1}}),
            ViewCode::Applied);
  EXPECT_EQ(views.node(1).state, MemberState::Leaving);
}

// As resident nodes replace one: the number stays among the nodes, and does not vote meanwhile.
TEST(MemberSteps, ANumberIsGivenToAnotherDirectory) {
  Views views{3};
  const MemberStep renewal{
      .node = NodeId{2}, .invitation = Views::added().invitation, .name = "new"};
  ASSERT_EQ(views.take(Kind::Renew, renewal), ViewCode::Applied);
  EXPECT_EQ(views.node(2).state, MemberState::Joining);
  EXPECT_EQ(views.node(2).name, "new");
  EXPECT_EQ(views.node(2).incarnation, incarnation_of(1, 0));
  EXPECT_TRUE(protocol::is_renewed(views.node(2)));
  EXPECT_EQ(protocol::view_nodes(views.state.view()).size(), 3u);
  EXPECT_EQ(protocol::view_voters(views.state.view()).size(), 2u);
  EXPECT_EQ(protocol::decode_view(protocol::encode_view(views.state.view())), views.state.view());
  // Another token for the same life, since nobody has come.
  ASSERT_EQ(views.take(Kind::Renew, renewal), ViewCode::Applied);
  EXPECT_EQ(views.node(2).incarnation, incarnation_of(1, 0));
  ASSERT_EQ(views.take(Kind::Admit, Views::admitted(2)), ViewCode::Applied);
  EXPECT_FALSE(protocol::is_renewed(views.node(2)));
  // Somebody has come and is lost again: the next life.
  ASSERT_EQ(views.take(Kind::Renew, renewal), ViewCode::Applied);
  EXPECT_EQ(views.node(2).incarnation, incarnation_of(2, 0));
  EXPECT_EQ(views.node(2).directory, 0u);
  ASSERT_EQ(views.take(Kind::Admit, Views::admitted(2)), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Promote, 2), ViewCode::Applied);
  EXPECT_EQ(views.node(2).state, MemberState::Active);
  EXPECT_EQ(protocol::view_voters(views.state.view()).size(), 3u);
}

TEST(MemberSteps, NumbersThatNobodyHadAreNotGivenAgain) {
  Views views{3};
  MemberStep renewal{.node = NodeId{4}, .invitation = Views::added().invitation};
  EXPECT_EQ(views.take(Kind::Renew, renewal), ViewCode::NodeUnknown);
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Renew, renewal), ViewCode::StateWrong);
  ASSERT_EQ(views.take(Kind::Leave, 3), ViewCode::Applied);
  renewal.node = NodeId{3};
  EXPECT_EQ(views.take(Kind::Renew, renewal), ViewCode::StateWrong);
  ASSERT_EQ(views.take(Kind::Gone, 3), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Renew, renewal), ViewCode::NodeRemoved);
  renewal.node = NodeId{2};
  renewal.name = "node-1";
  EXPECT_EQ(views.take(Kind::Renew, renewal), ViewCode::NameInvalid);
}

TEST(MemberSteps, WhoIsReplacedMayLeaveBefore) {
  Views views{3};
  MemberStep step = Views::added();
  step.replaces = NodeId{3};
  ASSERT_EQ(views.take(Kind::Add, step), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Admit, Views::admitted(4)), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Leave, 3), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Promote, 4), ViewCode::Applied);
  EXPECT_EQ(views.node(4).state, MemberState::Active);
}

TEST(MemberSteps, RemovedOnesStayTombstonesAndIdsAreNotUsedAgain) {
  Views views{3};
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Leave, 4), ViewCode::Applied);  // Invited only: at once.
  EXPECT_EQ(views.node(4).state, MemberState::Removed);
  EXPECT_EQ(views.take(Kind::Admit, Views::admitted(4)), ViewCode::NodeRemoved);
  ASSERT_EQ(views.take(Kind::Leave, 3), ViewCode::Applied);
  EXPECT_EQ(views.node(3).state, MemberState::Leaving);
  EXPECT_EQ(views.take(Kind::Leave, 3), ViewCode::StateWrong);
  EXPECT_EQ(views.take(Kind::Gone, 2), ViewCode::StateWrong);
  ASSERT_EQ(views.take(Kind::Gone, 3), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Gone, 3), ViewCode::NodeRemoved);
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  EXPECT_EQ(views.state.view().nodes.back().id, NodeId{5});
}

TEST(MemberSteps, TheOldestTombstoneIsForgottenWhereThereIsNoRoom) {
  Views views{1};
  for (std::uint32_t round = 0; round < 2 * protocol::kViewNodesMax; ++round) {
    ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied) << round;
    const NodeId last = views.state.view().nodes.back().id;
    ASSERT_EQ(last, NodeId{round + 2});
    ASSERT_EQ(views.take(Kind::Leave, last.value), ViewCode::Applied);
  }
  EXPECT_EQ(views.state.view().nodes.size(), protocol::kViewNodesMax);
  EXPECT_EQ(views.node(1).state, MemberState::Active);
}

TEST(MemberSteps, DrainedOnesComeBack) {
  Views views{3};
  EXPECT_EQ(views.take(Kind::Undrain, 2), ViewCode::StateWrong);
  ASSERT_EQ(views.take(Kind::Drain, 2), ViewCode::Applied);
  EXPECT_EQ(views.node(2).state, MemberState::Draining);
  EXPECT_EQ(views.take(Kind::Drain, 2), ViewCode::StateWrong);
  ASSERT_EQ(views.take(Kind::Undrain, 2), ViewCode::Applied);
  EXPECT_EQ(views.node(2).state, MemberState::Active);
}

TEST(MemberSteps, ASuspectIsMarkedWithItsTimeAndNotTwice) {
  Views views{3};
  const MemberStep marked{.node = NodeId{2}, .suspect = true, .time_ms = 55};
  ASSERT_EQ(views.take(Kind::Suspect, marked), ViewCode::Applied);
  EXPECT_TRUE(views.node(2).suspect);
  EXPECT_EQ(views.node(2).suspect_since_ms, 55u);
  EXPECT_EQ(views.take(Kind::Suspect, marked), ViewCode::StateWrong);
  ASSERT_EQ(views.take(Kind::Suspect, {.node = NodeId{2}, .time_ms = 60}), ViewCode::Applied);
  EXPECT_FALSE(views.node(2).suspect);
  EXPECT_EQ(views.node(2).suspect_since_ms, 0u);
}

TEST(MemberSteps, WeightsAreThoseOfVoters) {
  Views views{2};
  ASSERT_EQ(views.take(Kind::Reweigh, {.node = NodeId{2}, .weight = 255}), ViewCode::Applied);
  EXPECT_EQ(views.node(2).weight, 255u);
  EXPECT_EQ(views.take(Kind::Reweigh, {.node = NodeId{2}, .weight = 0}), ViewCode::WeightInvalid);
  EXPECT_EQ(views.take(Kind::Reweigh, {.node = NodeId{2}, .weight = 256}), ViewCode::WeightInvalid);
}

TEST(MemberSteps, EachMistakeOfAJoinHasItsOwnCode) {
  Views views{2};
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  const auto code = [&views](auto change) {
    MemberStep step = Views::admitted(3);
    change(step);
    return views.take(Kind::Admit, step);
  };
  EXPECT_EQ(code([](MemberStep& step) { step.node = NodeId{9}; }), ViewCode::NodeUnknown);
  EXPECT_EQ(code([](MemberStep& step) { step.proof = protocol::join_token_proof(token_of(2)); }),
            ViewCode::TokenUnknown);
  EXPECT_EQ(code([](MemberStep& step) { step.time_ms = 1001; }), ViewCode::TokenLate);
  EXPECT_EQ(code([](MemberStep& step) { step.name = "node-1"; }), ViewCode::NameInvalid);
  EXPECT_EQ(code([](MemberStep& step) { step.labels = {{"A", "b"}}; }), ViewCode::LabelInvalid);
  EXPECT_EQ(code([](MemberStep& step) { step.peer_address.clear(); }), ViewCode::AddressInvalid);
  EXPECT_EQ(code([](MemberStep& step) { step.client_address = "a b"; }), ViewCode::AddressInvalid);
  EXPECT_EQ(code([](MemberStep& step) { step.peer_address = "founder1:1"; }),
            ViewCode::AddressTaken);
  ASSERT_EQ(code([](MemberStep&) {}), ViewCode::Applied);
  EXPECT_EQ(code([](MemberStep&) {}), ViewCode::StateWrong);  // The same directory again.
  EXPECT_EQ(code([](MemberStep& step) { step.directory = 7; }), ViewCode::TokenSpent);
  ASSERT_EQ(views.take(Kind::Add, Views::added(2)), ViewCode::Applied);
  MemberStep twin = Views::admitted(4, 2);
  twin.directory = 101;
  EXPECT_EQ(views.take(Kind::Admit, twin), ViewCode::DirectoryTaken);
  twin.directory = 102;
  twin.name = "node-4";
  EXPECT_EQ(views.take(Kind::Admit, twin), ViewCode::Applied);
}

TEST(MemberSteps, NoMoreVotersAndNodesThanFit) {
  Views views{5};
  EXPECT_EQ(views.grown(), 6u);
  MemberStep admission = Views::admitted(7, 2);
  ASSERT_EQ(views.take(Kind::Add, Views::added(2)), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Admit, admission), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Promote, 7), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Add, Views::added(3)), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Admit, Views::admitted(8, 3)), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Promote, 8), ViewCode::TooManyVoters);
  EXPECT_EQ(views.take(Kind::Add, Views::added(4)), ViewCode::TooManyNodes);
  // In the place of another there is room.
  MemberStep step = Views::added(4);
  step.replaces = NodeId{1};
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Promote, {.node = NodeId{8}, .replaces = NodeId{2}}),
            ViewCode::Applied);
}

// However slowly they leave: each view can be read.
TEST(MemberSteps, NodesThatLeaveHaveAPlaceUntilTheyHaveLeft) {
  Views views{1};
  for (std::uint32_t id = 2; id <= protocol::kViewNodesMax; ++id) {
    ASSERT_EQ(views.grown(Views::added(id), id), id);
    ASSERT_EQ(views.take(Kind::Leave, id), ViewCode::Applied);
  }
  EXPECT_EQ(views.take(Kind::Add, Views::added(65)), ViewCode::TooManyNodes);
  const ClusterView& view = views.state.view();
  EXPECT_EQ(protocol::decode_view(protocol::encode_view(view)), view);
  ASSERT_EQ(views.take(Kind::Gone, 40), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Add, Views::added(65)), ViewCode::Applied);
  EXPECT_EQ(view.nodes.size(), protocol::kViewNodesMax);
  EXPECT_EQ(view.nodes.back().id, NodeId{65});
  EXPECT_EQ(protocol::decode_view(protocol::encode_view(view)), view);
}

TEST(MemberSteps, IdsEndWhereTheyDoBetweenNodes) {
  Views views{1, protocol::kMemberIdMax - 1};
  ASSERT_EQ(views.take(Kind::Add, Views::added(1)), ViewCode::Applied);
  EXPECT_EQ(views.state.view().nodes.back().id, NodeId{protocol::kMemberIdMax});
  EXPECT_EQ(views.take(Kind::Add, Views::added(2)), ViewCode::TooManyNodes);
  ASSERT_EQ(views.take(Kind::Leave, protocol::kMemberIdMax), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Add, Views::added(2)), ViewCode::TooManyNodes);
}

TEST(MemberSteps, NamesLabelsAndUnknownRolesAreChecked) {
  Views views{2};
  MemberStep step = Views::added();
  step.name = "node-2";
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::NameInvalid);
  step.name = "db";
  ASSERT_EQ(views.take(Kind::Add, step), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::NameTaken);
  step.name = "other";
  step.labels = {{"Zone", "a"}};
  EXPECT_EQ(views.take(Kind::Add, step), ViewCode::LabelInvalid);
  ViewCommand command{.kind = Kind::Add, .expected = 2};
  command.step = Views::added();
  command.step.role = static_cast<MemberRole>(9);
  EXPECT_EQ(views.state.apply(encode_view_command(command)), ViewCode::Malformed);
}

TEST(MemberSteps, AnOrderIsKnownByItsNumber) {
  Views views{3};
  MemberStep step{.node = NodeId{2}};
  step.number = 42;
  ASSERT_EQ(views.take(Kind::Drain, step), ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Undrain, 2), ViewCode::Applied);
  EXPECT_EQ(views.state.made_by(Kind::Drain, 42), 2u);
  EXPECT_FALSE(views.state.made_by(Kind::Leave, 42).has_value());
  EXPECT_FALSE(views.state.made_by(Kind::Drain, 43).has_value());
}

TEST(MemberSteps, SeveralSuspectsAreMarkedAndClearedInOneView) {
  Views views{5};
  ASSERT_EQ(views.take(Kind::Suspect, {.node = NodeId{4}, .suspect = true, .time_ms = 55}),
            ViewCode::Applied);
  const std::uint64_t epoch = views.state.view().epoch;
  MemberStep step{.marks = {{NodeId{2}, true}, {NodeId{3}, true}, {NodeId{4}, false}},
                  .time_ms = 60};
  ASSERT_EQ(views.take(Kind::Marks, step), ViewCode::Applied);
  EXPECT_EQ(views.state.view().epoch, epoch + 1);
  for (const std::uint32_t id : {2u, 3u}) {
    EXPECT_TRUE(views.node(id).suspect);
    EXPECT_EQ(views.node(id).suspect_since_ms, 60u);
  }
  EXPECT_FALSE(views.node(4).suspect);
  EXPECT_EQ(views.node(4).suspect_since_ms, 0u);
  // All of them or none.
  EXPECT_EQ(views.take(Kind::Marks, {.marks = {{NodeId{1}, true}, {NodeId{2}, true}}}),
            ViewCode::StateWrong);
  EXPECT_EQ(views.take(Kind::Marks, {.marks = {{NodeId{1}, true}, {NodeId{9}, true}}}),
            ViewCode::NodeUnknown);
  EXPECT_FALSE(views.node(1).suspect);
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Marks, {.marks = {{NodeId{1}, true}, {NodeId{6}, true}}}),
            ViewCode::StateWrong)
      << "nobody has come";
  ASSERT_EQ(views.take(Kind::Leave, 6), ViewCode::Applied);
  EXPECT_EQ(views.take(Kind::Marks, {.marks = {{NodeId{1}, true}, {NodeId{6}, true}}}),
            ViewCode::NodeRemoved);
  const auto facts = view_command_facts({.kind = Kind::Marks, .expected = 1, .step = step});
  EXPECT_EQ(facts,
            (decltype(facts){
                {"kind", "view_marks"}, {"suspects", "2 3"}, {"cleared", "4"}, {"view", "1"}}));
}

TEST(MemberSteps, MarksThatNoNodeWritesAreRefused) {
  const auto is_read = [](const std::vector<SuspectMark>& marks) {
    const ViewCommand command{.kind = Kind::Marks, .expected = 1, .step = {.marks = marks}};
    return decode_view_command(encode_view_command(command)).has_value();
  };
  EXPECT_TRUE(is_read({{NodeId{1}, true}}));
  EXPECT_FALSE(is_read({}));
  EXPECT_FALSE(is_read({{NodeId{0}, true}}));
  EXPECT_FALSE(is_read({{NodeId{2}, true}, {NodeId{2}, false}}));
  EXPECT_FALSE(is_read({{NodeId{2}, true}, {NodeId{1}, true}}));
  std::vector<SuspectMark> marks;
  for (std::uint32_t id = 1; id <= protocol::kViewNodesMax; ++id) {
    marks.push_back({NodeId{id}, true});
  }
  EXPECT_TRUE(is_read(marks));
  marks.push_back({NodeId{100}, true});
  EXPECT_FALSE(is_read(marks));
  ViewCommand command{.kind = Kind::Marks, .expected = 9, .step = {.marks = {{NodeId{2}, true}}}};
  const std::vector<std::byte> bytes = encode_view_command(command);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_view_command(std::span{bytes}.first(length)));
  }
  EXPECT_EQ(crc32c(bytes), 1'368'888'923u) << "what stands in logs does not change";
}

// What stands in logs does not change from one release to the next.
TEST(MemberSteps, BytesStayAsTheyAre) {
  MemberStep step = Views::added();
  step.auto_promote = true;
  step.replaces = NodeId{2};
  step.name = "db";
  step.labels = {{"zone", "a"}};
  step.number = 7;
  step.who = "ann";
  std::uint32_t sum = 0;
  for (int kind = 5; kind <= 13; ++kind) {
    ViewCommand command{.kind = static_cast<Kind>(kind), .expected = 9};
    command.step = kind == 5 ? step : Views::admitted(3);
    command.step.replaces = NodeId{2};
    command.step.weight = 3;
    command.step.suspect = true;
    command.step.number = 7;
    const auto bytes = encode_view_command(command);
    EXPECT_LE(bytes.size(), kViewCommandBytesMax);
    EXPECT_EQ(bytes.front(), static_cast<std::byte>(kind));
    sum = sum * 31 + crc32c(bytes);
    EXPECT_EQ(view_command_facts(command).front().first, "kind");
  }
  EXPECT_EQ(sum, 2'073'105'640u);
}

TEST(MemberSteps, TheLongestAdmissionFitsAnEntry) {
  ViewCommand command{.kind = Kind::Admit, .expected = 9};
  command.step = Views::admitted(3);
  command.step.name = std::string(64, 'n');
  command.step.peer_address = std::string(255, 'p');
  command.step.client_address = std::string(255, 'c');
  command.step.who = std::string(128, 'w');
  for (char key = 'a'; key < 'i'; ++key) {
    command.step.labels.push_back({std::string(1, key), std::string(62, 'v')});
  }
  EXPECT_LE(encode_view_command(command).size(), kViewCommandBytesMax);
  EXPECT_EQ(decode_view_command(encode_view_command(command)), command);
}

TEST(MemberSteps, ARestoredClusterHasNobodyOnItsWay) {
  Views views{2};
  ASSERT_EQ(views.take(Kind::Suspect, {.node = NodeId{2}, .suspect = true, .time_ms = 1}),
            ViewCode::Applied);
  ASSERT_EQ(views.take(Kind::Add, Views::added()), ViewCode::Applied);
  MemberStep observer = Views::added(2);
  observer.role = MemberRole::Observer;
  observer.weight = 0;
  ASSERT_EQ(views.take(Kind::Add, observer), ViewCode::Applied);
  const std::vector<NodeId> all = {NodeId{1}, NodeId{2}, NodeId{3}};
  const ClusterView view = restored_view(views.state.view(), all);
  EXPECT_EQ(protocol::encode_view(view).front(), std::byte{1});
  EXPECT_EQ(view.nodes[3].state, MemberState::Removed);
  EXPECT_EQ(restored_view(views.state.view(), std::vector{NodeId{4}}).nodes[3].role,
            MemberRole::Voter);
}

}  // namespace
}  // namespace gcoord::membership
