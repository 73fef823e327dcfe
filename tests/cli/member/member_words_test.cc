// Words of gcoordctl member: how nodes are named, how far a change is, and what starts a new node.
#include "cli/alarm/rows.h"
#include "cli/member/add.h"
#include "cli/member/change.h"
#include "cli/member/description.h"
#include "cli/member/join_command.h"
#include "cli/member/list.h"
#include "cli/member/named.h"
#include "cli/member/wait.h"
#include "protocol/error_codes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using client::MemberState;

client::MembershipView three() {
  client::MembershipView view;
  view.epoch = 7;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    client::MemberDescription member;
    member.node_id = id;
    member.name = "n" + std::to_string(id);
    member.client_address = "10.0.0." + std::to_string(id) + ":7400";
    view.members.push_back(member);
  }
  return view;
}

constexpr client::MemberProgress kSettled{
    .epoch = 7, .shards = 8, .led = 8, .settled = 8, .ready = 8};

TEST(MemberWords, NodesAreNamedByIdOrByName) {
  client::MembershipView view = three();
  EXPECT_EQ(find_named(view, "2")->node_id, 2u);
  EXPECT_EQ(find_named(view, "n3")->node_id, 3u);
  EXPECT_FALSE(find_named(view, "9").has_value());
  EXPECT_FALSE(find_named(view, "n9").has_value());
  view.members[2].state = MemberState::Removed;
  EXPECT_FALSE(find_named(view, "n3").has_value());
  EXPECT_EQ(find_named(view, "3")->state, MemberState::Removed);
  EXPECT_EQ(find_left(view, "n3")->node_id, 3u);
  EXPECT_FALSE(find_left(view, "n2").has_value()) << "it is there";
}

TEST(MemberWords, WhoTakesAPlaceJoinsAlreadyOrIsInvited) {
  using protocol::ErrorCode;
  client::MembershipView view = three();
  const auto error = [&view](const std::string& text) {
    return static_cast<ErrorCode>(successor_of(view, text).status().detail());
  };
  EXPECT_EQ(successor_of(view, "").value(), 0u);
  EXPECT_EQ(successor_of(view, "db5").value(), 0u);
  EXPECT_EQ(error("7"), ErrorCode::MemberUnknown) << "a number is no name";
  EXPECT_EQ(error("2"), ErrorCode::MemberStateWrong);
  EXPECT_EQ(error("n3"), ErrorCode::MemberStateWrong) << "an active node joins no more";
  view.members[2].state = MemberState::Joining;
  EXPECT_EQ(successor_of(view, "n3").value(), 3u);
  EXPECT_EQ(successor_of(view, "3").value(), 3u);
  view.members[2].invited = true;
  EXPECT_EQ(error("3"), ErrorCode::MemberStateWrong);
  EXPECT_NE(successor_of(view, "3").status().message().find("node 3 \"n3\" is invited"),
            std::string::npos);
  view.members[2].state = MemberState::Removed;
  EXPECT_EQ(error("3"), ErrorCode::MemberRemoved);
  EXPECT_EQ(successor_of(view, "n3").value(), 0u) << "its name is free";
}

client::ChangedMember fourth(client::MembershipView view) {
  client::ChangedMember added;
  added.node_id = 4;
  added.token = "00ff";
  added.view = std::move(view);
  return added;
}

TEST(MemberWords, TheCommandOfANewNodeNamesThoseThatServe) {
  client::MembershipView view = three();
  view.members[1].state = MemberState::Leaving;
  EXPECT_EQ(join_command(fourth(view), {}),
            "gcoordd --join 10.0.0.1:7400,10.0.0.3:7400 --join-token 00ff --data-dir "
            "/var/lib/gcoord --listen-peer ADDRESS:7500 --listen-client ADDRESS:7400 --insecure");
  for (client::MemberDescription& member : view.members) {
    member.client_address = "127.0.0.1:740" + std::to_string(member.node_id);
  }
  EXPECT_EQ(join_command(fourth(view), {}),
            "gcoordd --join 127.0.0.1:7401,127.0.0.1:7403 --join-token 00ff --data-dir "
            "/var/lib/gcoord --listen-peer ADDRESS:7500 --listen-client ADDRESS:7400");
  EXPECT_EQ(certificate_command(fourth(view), {}), "");
}

TEST(MemberWords, TheCommandOfANewNodeHasWhatTlsNeeds) {
  const std::string begin =
      "gcoordd --join 10.0.0.1:7400,10.0.0.2:7400,10.0.0.3:7400 --join-token 00ff --data-dir "
      "/var/lib/gcoord --listen-peer ADDRESS:7500 --listen-client ADDRESS:7400 --tls-ca "
      "/etc/gcoord/ca.crt --tls-crl /etc/gcoord/ca.crl --tls-cert /etc/gcoord/node-4.crt --tls-key "
      "/etc/gcoord/node-4.key";
  const client::ChangedMember added = fourth(three());
  EXPECT_EQ(join_command(added, {.clients = true, .peers = true}), begin + " --peer-tls required");
  EXPECT_EQ(join_command(added, {.clients = true, .peers = false}), begin + " --insecure");
  EXPECT_EQ(join_command(added, {.clients = false, .peers = true}),
            begin + " --client-tls off --peer-tls required --insecure");
  EXPECT_EQ(certificate_command(added, {.clients = true, .peers = true}),
            "gcoordctl cert issue node 4 --dir gcoord/ca --hosts ADDRESS,localhost,127.0.0.1,::1");
}

// Who reads them from left to right asks those first that answer.
TEST(MemberWords, TheCommandOfANewNodeNamesNoDeadNode) {
  client::MembershipView view = three();
  view.members[0].suspect = true;
  EXPECT_EQ(join_command(fourth(view), {}).find("gcoordd --join 10.0.0.2:7400,10.0.0.3:7400 "), 0u);
  view.members[1].suspect = view.members[2].suspect = true;
  EXPECT_EQ(join_command(fourth(view), {}).find("gcoordd --join 10.0.0.1:7400,10.0.0.2:7400,"), 0u)
      << "better than none";
}

TEST(MemberWords, ADryRunSaysWhatWouldMoveAndWhetherAsMuchMayFail) {
  client::ChangedMember changed;
  changed.node_id = 3;
  changed.view = three();
  changed.before = {.votes = 3, .alive = 3, .needed = 2};
  changed.after = {.votes = 2, .alive = 2, .needed = 2};
  changed.handed_over = 3;
  changed.progress = {.epoch = 8, .shards = 8, .led = 8, .settled = 0, .ready = 0};
  Json facts = *change_result(changed, true).facts;
  EXPECT_EQ(facts["before"].text(), "3 of 3 votes alive, 2 needed: 1 may fail");
  EXPECT_EQ(facts["after"].text(), "2 of 2 votes alive, 2 needed: none may fail");
  EXPECT_EQ(facts["tolerance"].text(), "FALLS from 1 to 0 votes that may fail");
  EXPECT_EQ(facts["would_move"].text(), "8 of 8 shards change nodes or votes");
  EXPECT_EQ(facts["would_hand_over"].text(), "3 of 8 shards led by the node");
  changed.before = changed.after;
  changed.progress.settled = 6;
  facts = *change_result(changed, false).facts;
  EXPECT_EQ(facts["tolerance"].text(), "holds");
  EXPECT_EQ(facts["moves"].text(), "6 of 8 shards settled");
  changed.after.alive = 1;
  EXPECT_EQ((*change_result(changed, false).facts)["after"].text(),
            "1 of 2 votes alive, 2 needed: NO QUORUM");
}

TEST(MemberWords, AViewThatIsATrapIsSaid) {
  client::MembershipView view = three();
  for (client::MemberDescription& member : view.members) {
    member.role = client::MemberRole::Voter;
    member.state = MemberState::Active;
    member.weight = 1;
  }
  EXPECT_TRUE(warnings_of(view).empty());
  view.members[1].weight = 255;
  ASSERT_EQ(warnings_of(view).size(), 1u);
  EXPECT_EQ(warnings_of(view)[0].find("node 2 has 255 of 257 votes: it decides alone"), 0u);
  view.members[1].weight = 2;
  EXPECT_TRUE(warnings_of(view).empty()) << "2 of 4 are no majority";
  for (client::MemberDescription& member : view.members) {
    member.state = MemberState::Draining;
  }
  ASSERT_EQ(warnings_of(view).size(), 1u);
  EXPECT_EQ(warnings_of(view)[0].find("every voter with state is draining"), 0u);
}

TEST(MemberWords, ALineOfAViewHasWhatChanges) {
  client::MembershipView view = three();
  view.members.resize(1);
  view.members[0].role = client::MemberRole::Voter;
  view.members[0].state = MemberState::Active;
  view.members[0].weight = 3;
  view.members[0].peer_address = "a:7500";
  EXPECT_EQ(view_line(view), "view 7: 1 n1 voter active weight=3 peer=a:7500 client=10.0.0.1:7400");
}

MemberOutlook outlook(const MemberWait& wait,
                      const client::MembershipView& view,
                      const client::MemberProgress& progress = kSettled) {
  return outlook_of(wait, view, progress);
}

TEST(MemberWords, AGoalIsReachedWhenTheNewestViewIsSettled) {
  client::MembershipView view = three();
  const MemberWait active{.node_id = 3, .replaces = 1};
  EXPECT_EQ(outlook({.node_id = 3}, view), MemberOutlook::Reached);
  client::MemberProgress progress = kSettled;
  progress.settled = 7;
  EXPECT_EQ(outlook({.node_id = 3}, view, progress), MemberOutlook::Open);
  progress = kSettled;
  progress.epoch = 6;
  EXPECT_EQ(outlook({.node_id = 3}, view, progress), MemberOutlook::Open);
  progress = kSettled;
  progress.led = 7;
  EXPECT_EQ(outlook({.node_id = 3}, view, progress), MemberOutlook::Open);
  view.members[0].state = MemberState::Leaving;
  EXPECT_EQ(outlook(active, view), MemberOutlook::Open);
  EXPECT_EQ(outlook({.node_id = 3}, view), MemberOutlook::Reached)
      << "of another node it is none's";
  EXPECT_EQ(outlook({.node_id = 1, .goal = MemberGoal::Gone}, view), MemberOutlook::Open);
  view.members[0].state = MemberState::Removed;
  EXPECT_EQ(outlook(active, view), MemberOutlook::Reached);
  EXPECT_EQ(outlook({.node_id = 1, .goal = MemberGoal::Gone}, view), MemberOutlook::Reached);
  EXPECT_EQ(outlook({.node_id = 9, .goal = MemberGoal::Gone}, view), MemberOutlook::Reached);
  view.members[2].state = MemberState::Joining;
  view.members[2].invited = true;
  EXPECT_EQ(outlook({.node_id = 3, .goal = MemberGoal::Joined}, view), MemberOutlook::Open);
  view.members[2].invited = false;
  EXPECT_EQ(outlook({.node_id = 3, .goal = MemberGoal::Joined}, view), MemberOutlook::Reached);
}

TEST(MemberWords, WhoHasLeftReachesNothingElse) {
  client::MembershipView view = three();
  for (const MemberState state : {MemberState::Leaving, MemberState::Removed}) {
    view.members[2].state = state;
    for (const MemberGoal goal : {MemberGoal::Joined, MemberGoal::Active}) {
      EXPECT_EQ(outlook({.node_id = 3, .goal = goal}, view), MemberOutlook::Left);
      EXPECT_EQ(outlook({.node_id = 9, .goal = goal}, view), MemberOutlook::Left);
    }
  }
  EXPECT_EQ(outlook({.node_id = 3, .goal = MemberGoal::Drained}, view), MemberOutlook::Left);
}

TEST(MemberWords, WhoIsInvitedComesInTimeOrNever) {
  using std::chrono::seconds;
  client::MembershipView view = three();
  view.members[2].state = MemberState::Joining;
  view.members[2].invited = true;
  MemberWait wait{.node_id = 3, .invited_until = Deadline{seconds{100}}};
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{99}}));
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{101}}));  // Under way.
  EXPECT_TRUE(is_late(wait, view, Deadline{seconds{102}}));
  view.members[2].invited = false;
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{102}}));
  view.members[2].invited = true;
  wait.invited_until = Deadline::max();
  EXPECT_FALSE(is_late(wait, view, Deadline{seconds{102}}));
}

TEST(MemberWords, ABarIsAsLongAsTheShardsThatAreDone) {
  client::MemberProgress progress = kSettled;
  EXPECT_EQ(progress_line({.node_id = 4}, progress, "active"),
            "[########################] 8 of 8 shards, node 4 active");
  progress.settled = 2;
  progress.ready = 4;
  EXPECT_EQ(progress_line({.node_id = 4}, progress, "joining"),
            "[######------------------] 2 of 8 shards, node 4 joining");
  EXPECT_EQ(progress_line({.node_id = 4, .goal = MemberGoal::Joined}, progress, "joining"),
            "[############------------] 4 of 8 shards, node 4 joining");
  EXPECT_EQ(progress_line({.node_id = 4}, {}, "joining"),
            "[------------------------] 0 of 0 shards, node 4 joining");
}

TEST(MemberWords, AListSaysWhoMovesAndWhoIsSuspect) {
  client::MembershipView view = three();
  EXPECT_FALSE(is_moving(view));
  view.members[1].state = MemberState::Leaving;
  view.members[2].suspect = true;
  EXPECT_TRUE(is_moving(view));
  MemberRows rows;
  rows.add(1, view);
  EXPECT_TRUE(rows.json()["moves"].is_null());
  client::MemberProgress progress = kSettled;
  progress.settled = 5;
  rows.set_progress(progress);
  const Json json = rows.json();
  EXPECT_EQ(unsigned_of(json["moves"]["settled"]), 5u);
  EXPECT_EQ(json["members"][1]["state"].text(), "leaving");
  EXPECT_TRUE(json["members"][2]["suspect"].truth());
  const Table table = rows.table(0);
  EXPECT_EQ(table.rows[2][4], "active suspect");
  ASSERT_EQ(table.notes.size(), 2u);
  EXPECT_EQ(table.notes[0].find("node 3 is suspect since 1970-01-01T00:00:00Z"), 0u);
  EXPECT_EQ(table.notes[1],
            "moving: 5 of 8 shards have the nodes of view 7, 8 are on all that join");
}

client::MemberSighting seen_as(client::MemberVerdict verdict, client::SuspicionCause cause) {
  client::MemberSighting sighting{.node_id = 3, .alive = true, .phi_milli = 9000};
  sighting.heard = std::chrono::milliseconds{4100};
  sighting.suspicion = client::MemberSuspicion{.verdict = verdict,
                                               .cause = cause,
                                               .level = client::FailureLevel::Process,
                                               .phi_milli = 9000,
                                               .since = std::chrono::milliseconds{1500},
                                               .direct = std::chrono::milliseconds{4000},
                                               .indirect = std::nullopt};
  return sighting;
}

// Two of two that see it: one suspects it, the other doubts it.
TEST(MemberWords, AListSaysWhySinceWhenAndToHowManyANodeIsSuspect) {
  client::MembershipView view = three();
  view.members[2].suspect = true;
  view.members[2].suspect_since =
      std::chrono::system_clock::time_point{std::chrono::seconds{1'700'000'000}};
  MemberRows rows;
  view.sightings = {seen_as(client::MemberVerdict::Suspect, client::SuspicionCause::Refused)};
  rows.add(1, view);
  view.sightings = {seen_as(client::MemberVerdict::Doubted, client::SuspicionCause::Silent)};
  rows.add(2, view);
  const Json member = rows.json()["members"][2];
  EXPECT_EQ(unsigned_of(member["heard_ms"]), 4000u);
  ASSERT_EQ(member["suspected_by"].size(), 1u);
  EXPECT_EQ(unsigned_of(member["suspected_by"][0]), 1u);
  const Json suspicion = member["seen_by"][0]["suspicion"];
  EXPECT_EQ(suspicion["verdict"].text(), "suspect");
  EXPECT_EQ(suspicion["cause"].text(), "refused");
  EXPECT_EQ(suspicion["level"].text(), "process");
  EXPECT_EQ(unsigned_of(suspicion["since_ms"]), 1500u);
  EXPECT_TRUE(suspicion["indirect_ms"].is_null());
  const Table table = rows.table(1'700'000'012'000);
  EXPECT_EQ(table.rows[2][8], "suspect 1/2");
  ASSERT_EQ(table.notes.size(), 1u);
  EXPECT_EQ(table.notes[0],
            "node 3 is suspect since 2023-11-14T22:13:20Z (12 s); 1 of 2 nodes that answered "
            "suspect it, heard last 4000 ms ago: its host answers that no process listens there");
}

TEST(MemberWords, AListSaysWhoIsDoubtedAndWhoIsSuspectToSomeOnly) {
  client::MembershipView view = three();
  MemberRows doubted;
  view.sightings = {seen_as(client::MemberVerdict::Doubted, client::SuspicionCause::Link)};
  doubted.add(1, view);
  EXPECT_EQ(doubted.table(0).rows[2][8], "doubted 1/1");
  EXPECT_TRUE(doubted.table(0).notes.empty());
  MemberRows suspect;
  view.sightings = {seen_as(client::MemberVerdict::Suspect, client::SuspicionCause::Silent)};
  suspect.add(1, view);
  ASSERT_EQ(suspect.table(0).notes.size(), 1u);
  EXPECT_NE(suspect.table(0).notes[0].find("node 3 is not marked as suspect in the view"),
            std::string::npos);
  // A node of an earlier release says only whether it hears it.
  MemberRows older;
  view.sightings = {{.node_id = 3, .alive = false}};
  older.add(1, view);
  EXPECT_EQ(older.table(0).rows[2][8], "suspect 1/1");
  EXPECT_TRUE(older.json()["members"][2]["seen_by"][0]["suspicion"].is_null());
}

TEST(MemberWords, AlarmsAreNamedByKindAndNode) {
  EXPECT_FALSE(parse_alarm_choice("all")->kind.has_value());
  EXPECT_EQ(parse_alarm_choice("not-converged")->kind, client::AlarmKind::NotConverged);
  EXPECT_EQ(parse_alarm_choice("suspect-for-long:12")->about, 12u);
  for (const char* none : {"",
                           "ALL",
                           "suspect",
                           "suspect-for-long:",
                           "suspect-for-long:0",
                           "suspect-for-long:3x",
                           ":3",
                           "all:3",
                           "suspect-for-long:99999999999"}) {
    EXPECT_FALSE(parse_alarm_choice(none).has_value()) << none;
  }
}

client::ClusterAlarm raised(std::uint32_t node, int since, bool armed) {
  return {client::AlarmKind::SuspectForLong,
          node,
          std::chrono::system_clock::time_point{std::chrono::seconds{since}},
          armed,
          "said at " + std::to_string(since)};
}

// Node 3 does not answer, and the other two have raised one alarm each and one together.
TEST(MemberWords, AlarmsOfAllNodesAreOneList) {
  AlarmRows rows;
  rows.add(1, std::vector{raised(3, 100, false), raised(4, 90, true)});
  rows.add(2, std::vector{raised(3, 80, true)});
  rows.add(3, client::Status(client::StatusCode::Unavailable, "down", 3001));
  EXPECT_TRUE(rows.failure().ok());
  const Json json = rows.json();
  ASSERT_EQ(json["alarms"].size(), 2u);
  const Json alarm = json["alarms"][0];
  EXPECT_EQ(alarm["alarm"].text(), "suspect-for-long:3");
  EXPECT_EQ(alarm["since_ms"].text(), "80000");
  EXPECT_EQ(alarm["text"].text(), "said at 80");
  EXPECT_EQ(alarm["raised_by"].dump(), "[1,2]");
  EXPECT_EQ(alarm["armed_at"].dump(), "[2]");
  EXPECT_TRUE(alarm["armed"].truth());
  EXPECT_EQ(json["unreachable"].size(), 1u);
  EXPECT_EQ(rows.table().rows[0][0], "suspect-for-long:3");
  EXPECT_EQ(rows.table().rows[0][1], "1970-01-01T00:01:20Z");
  EXPECT_TRUE(rows.keep({.kind = client::AlarmKind::SuspectForLong, .about = 4}));
  EXPECT_EQ(rows.json()["alarms"].size(), 1u);
  EXPECT_FALSE(rows.keep({.kind = client::AlarmKind::NotConverged}));
  EXPECT_EQ(rows.table().caption, "no alarms");
}

TEST(MemberWords, AlarmsThatNobodyAnswersAreAFailure) {
  AlarmRows rows;
  rows.add(1, client::Status(client::StatusCode::Unavailable, "down", 3001));
  EXPECT_EQ(rows.failure().detail(), 3001u);
}

}  // namespace
}  // namespace gcoord::cli
