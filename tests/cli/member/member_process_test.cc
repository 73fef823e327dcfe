// gcoordctl member on three real nodes: view 1 comes by itself, changes are for one view, a watch
// goes on where another ended, and everything outlives restarts. What does not change the members
// is one list for both turns; the resident one by the twins of the devices.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class MemberProcessTest : public ProcessCluster {
 protected:
  explicit MemberProcessTest(const std::string& turn = "host")
      : ProcessCluster(8, turn_of_all(turn)) {}

  nlohmann::json update(const std::string& id, std::vector<std::string> more) const {
    std::vector<std::string> words = {"--timeout", "30s", "member", "update", id};
    words.insert(words.end(), more.begin(), more.end());
    return ctl().json(words);
  }

  nlohmann::json member(std::vector<std::string> more) const {
    std::vector<std::string> words = {"--timeout", "30s", "member"};
    words.insert(words.end(), more.begin(), more.end());
    return ctl().json(words);
  }

  int refused(std::vector<std::string> more) const {
    more.insert(more.begin(), "update");
    return refused_verb(std::move(more));
  }

  // The number of the refusal.
  int refused_verb(std::vector<std::string> more) const {
    std::vector<std::string> words = {"-o", "json", "--timeout", "30s", "member"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = ctl()(words);
    EXPECT_NE(finished.code, 0) << finished.out;
    const std::string code = finished.json()["error"].value("code", std::string{"GC0"});
    return std::stoi(code.substr(2));
  }

  nlohmann::json watched(std::vector<std::string> more) const {
    std::vector<std::string> words = {"--timeout", "30s", "member", "watch", "--count", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return ctl().json(words);
  }

  nlohmann::json list() const { return ctl().json({"--timeout", "30s", "member", "list"}); }
};

TEST_F(MemberProcessTest, AViewIsShownWatchedAndChangedForOneEpoch) {
  const nlohmann::json first = watched({});
  EXPECT_EQ(first["view"], "1");
  ASSERT_EQ(first["members"].size(), kNodes);
  EXPECT_EQ(first["members"][1]["name"], "node-2");
  EXPECT_EQ(first["members"][1]["client_address"], cluster_->endpoints()[1]);

  EXPECT_EQ(update("2", {"--name", "db", "--label", "zone=a", "--view", "1", "--dry-run"})["view"],
            "2");
  const nlohmann::json changed =
      update("2", {"--name", "db", "--label", "zone=a", "--label", "rack=7", "--view", "1"});
  EXPECT_EQ(changed["view"], "2");
  EXPECT_EQ(changed["labels"], (nlohmann::json{{"rack", "7"}, {"zone", "a"}}));
  EXPECT_EQ(refused({"2", "--label", "zone=b", "--view", "1"}), 6602);
  EXPECT_EQ(refused({"9", "--label", "zone=b", "--view", "2"}), 6611);
  EXPECT_EQ(refused({"2", "--name", "node-1", "--view", "2"}), 6613);
  EXPECT_EQ(refused({"1", "--name", "db", "--view", "2"}), 6614);
  EXPECT_EQ(refused({"2", "--label", "Zone=b", "--view", "2"}), 6615);
  EXPECT_EQ(refused({"2", "--view", "2"}), 1002);
  EXPECT_EQ(update("2", {"--label", "rack=", "--view", "2"})["labels"],
            (nlohmann::json{{"zone", "a"}}));

  // A watch that saw view 1 goes on with 2, then 3.
  EXPECT_EQ(watched({"--after", "1"})["view"], "2");
  EXPECT_EQ(watched({"--after", "2"})["view"], "3");

  const nlohmann::json listed = list();
  EXPECT_EQ(listed["view"], "3");
  EXPECT_EQ(listed["unreachable"].size(), 0u);
  for (const auto& member : listed["members"]) {
    EXPECT_EQ(member["seen_by"].size(), kNodes - 1) << listed.dump();
  }
  const Finished table = ctl()({"--timeout", "30s", "member", "list"});
  EXPECT_THAT(table.out, HasSubstr("view 3"));
  EXPECT_THAT(table.out, HasSubstr("zone=a"));
}

TEST_F(MemberProcessTest, NodesAreInvitedDrainedAndTakenAwayByVerbs) {
  ASSERT_EQ(watched({})["view"], "1");
  EXPECT_EQ(member({"drain", "node-2", "--dry-run"})["state"], "draining");
  const nlohmann::json drained = member({"drain", "node-2"});
  EXPECT_EQ(drained["state"], "draining");
  EXPECT_EQ(refused_verb({"drain", "2"}), 6616);
  EXPECT_EQ(refused_verb({"undrain", "2", "--view", "1"}), 6602);
  EXPECT_EQ(member({"undrain", "2", "--view", drained["view"]})["state"], "active");
  EXPECT_EQ(refused_verb({"add", "--witness", "--weight", "2"}), 6618);
  EXPECT_EQ(refused_verb({"add", "--observer", "--weight", "2"}), 6618);
  EXPECT_EQ(refused_verb({"add", "--name", "17"}), 6613);
  EXPECT_EQ(refused_verb({"replace", "1", "9"}), 6611);
  EXPECT_EQ(refused_verb({"replace", "1", "2"}), 6616);
  EXPECT_EQ(refused_verb({"replace", "1", "node-3"}), 6616);
  EXPECT_EQ(member({"add", "--name", "db4", "--dry-run"})["token"], "");
  const nlohmann::json added =
      member({"add", "--name", "db4", "--label", "zone=b", "--token-ttl", "5m"});
  EXPECT_EQ(added["node"], kNodes + 1);
  EXPECT_EQ(added["state"], "joining");
  const std::string token = added["token"];
  EXPECT_EQ(token.size(), 32u);
  EXPECT_THAT(added["command"].get<std::string>(), HasSubstr("--join " + cluster_->endpoints()[0]));
  EXPECT_THAT(added["command"].get<std::string>(), HasSubstr("--join-token " + token));
  EXPECT_EQ(added["before"]["votes"], kNodes);
  EXPECT_EQ(added["after"]["may_fail"], 1);
  EXPECT_EQ(refused_verb({"add", "--name", "db4"}), 6614);
  EXPECT_EQ(refused_verb({"promote", "db4"}), 6616);
  EXPECT_EQ(refused_verb({"promote", "nobody"}), 6611);
  const nlohmann::json listed = list();
  EXPECT_EQ(listed["members"][kNodes]["invited"], true);
  EXPECT_EQ(listed["members"][kNodes]["labels"], (nlohmann::json{{"zone", "b"}}));
  EXPECT_TRUE(listed["moves"].is_null());
  EXPECT_EQ(member({"remove", "db4"})["state"], "removed");
  EXPECT_EQ(refused_verb({"remove", std::to_string(kNodes + 1)}), 6612);
  EXPECT_EQ(refused_verb({"remove", "db4"}), 6612);
  EXPECT_EQ(member({"replace", "2", "db5", "--dry-run"})["node"], kNodes + 2);
  EXPECT_EQ(member({"move-leaders", "2"})["node"], 2);
  EXPECT_EQ(update("2", {"--weight", "3", "--view", list()["view"]})["weight"], 3);
}

TEST_F(MemberProcessTest, TheViewOutlivesEveryNodeAndTheLedgerHasItsAuthor) {
  ASSERT_EQ(watched({})["view"], "1");
  ASSERT_EQ(update("3", {"--label", "zone=c", "--view", "1", "--as", "ann@build"})["view"], "2");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    restart(node);
  }
  const nlohmann::json view = watched({"--after", "1"});
  EXPECT_EQ(view["view"], "2");
  EXPECT_EQ(view["members"][2]["labels"], (nlohmann::json{{"zone", "c"}}));
}

class MemberTurnTest : public MemberProcessTest, public testing::WithParamInterface<std::string> {
 protected:
  MemberTurnTest() : MemberProcessTest(GetParam()) {}

  // Follows the views until the node is marked, or no longer; the epoch in which it is so.
  std::string follow_mark(const std::string& from, std::size_t node, bool suspect) const {
    nlohmann::json view = list();
    std::string epoch = from;
    while (view["members"][node - 1]["suspect"] != suspect) {
      view = watched({"--after", epoch});
      epoch = view["view"];
    }
    return epoch;
  }
};

TEST_P(MemberTurnTest, TheFirstViewIsMadeShownAndHasTheMarksOfWhoFails) {
  const nlohmann::json first = watched({});
  EXPECT_EQ(first["view"], "1");
  ASSERT_EQ(first["members"].size(), kNodes);
  EXPECT_EQ(first["members"][2]["name"], "node-3");
  EXPECT_EQ(first["members"][0]["client_address"], cluster_->endpoints()[0]);
  const nlohmann::json listed = list();
  EXPECT_EQ(listed["view"], "1");
  EXPECT_EQ(listed["unreachable"].size(), 0u);
  for (const auto& member : listed["members"]) {
    EXPECT_EQ(member["seen_by"].size(), kNodes - 1) << listed.dump();
  }
  cluster_->kill(3);
  const std::string marked = follow_mark("1", 3, true);
  for (const auto& member : list()["members"]) {
    EXPECT_EQ(member["suspect"], member["node"] == 3) << member.dump();
  }
  spawn(3);
  follow_mark(marked, 3, false);
  EXPECT_EQ(list()["members"][2]["state"], "active");
}

TEST_P(MemberTurnTest, TheViewOutlivesEveryNode) {
  ASSERT_EQ(watched({})["view"], "1");
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    cluster_->kill(node);
  }
  ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  const nlohmann::json view = watched({});
  EXPECT_GE(std::stoi(view["view"].get<std::string>()), 1);
  EXPECT_EQ(view["members"].size(), kNodes);
}

// A change is for one view: of two by the same one the second changes nothing.
TEST_P(MemberTurnTest, NamesAndLabelsChangeForOneView) {
  ASSERT_EQ(watched({})["view"], "1");
  EXPECT_EQ(update("2", {"--name", "db", "--view", "1", "--dry-run"})["view"], "2");
  const nlohmann::json changed = update("2", {"--name", "db", "--label", "zone=a", "--view", "1"});
  EXPECT_EQ(changed["view"], "2");
  EXPECT_EQ(changed["labels"], (nlohmann::json{{"zone", "a"}}));
  EXPECT_EQ(refused({"2", "--label", "zone=b", "--view", "1"}), 6602);
  EXPECT_EQ(refused_verb({"drain", "2", "--view", "1"}), 6602);
  const nlohmann::json view = watched({"--after", "1"});
  EXPECT_EQ(view["view"], "2");
  EXPECT_EQ(view["members"][1]["name"], "db");
  restart(2);
  EXPECT_EQ(list()["members"][1]["labels"], (nlohmann::json{{"zone", "a"}}));
}

// It hands over what it leads, gets nothing back, and takes its share again afterwards.
TEST_P(MemberTurnTest, ANodeThatDrainsLeadsNothing) {
  ASSERT_EQ(watched({})["view"], "1");
  EXPECT_EQ(member({"drain", "node-2", "--dry-run"})["state"], "draining");
  ASSERT_EQ(member({"drain", "node-2", "--wait"})["state"], "draining");
  EXPECT_EQ(refused_verb({"drain", "2"}), 6616);
  restart(2);
  EXPECT_EQ(list()["members"][1]["state"], "draining");
  const nlohmann::json grant =
      ctl().json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "1h", "--try"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
  EXPECT_EQ(member({"undrain", "2"})["state"], "active");
  EXPECT_EQ(member({"move-leaders", "1"})["node"], 1);
}

// One that is stopped takes connections and answers nothing; the others are shown without it.
TEST_P(MemberTurnTest, TheListShowsWhoAnswersAndWhoDoesNot) {
  ASSERT_EQ(watched({})["view"], "1");
  cluster_->signal(3, SIGSTOP);
  const nlohmann::json listed = ctl().json({"member", "list"});
  cluster_->signal(3, SIGCONT);
  EXPECT_EQ(listed["members"].size(), kNodes);
  EXPECT_THAT(listed["unreachable"].dump(), testing::HasSubstr("no answer within 1000 ms"));
}

INSTANTIATE_TEST_SUITE_P(BothTurns, MemberTurnTest, both_turns(), turn_name);

class ResidentMemberTest : public MemberProcessTest {
 protected:
  ResidentMemberTest() : MemberProcessTest("resident") {}
};

// What a device has by number stays: how many nodes vote, and with how many votes.
TEST_F(ResidentMemberTest, TheNumberOfNodesStaysWhatTheClusterBeganWith) {
  ASSERT_EQ(watched({})["view"], "1");
  EXPECT_EQ(refused_verb({"add", "--name", "db4"}), 6640);
  EXPECT_EQ(refused_verb({"add", "--learner"}), 6640);
  EXPECT_EQ(refused_verb({"add", "--witness"}), 6640);
  EXPECT_EQ(refused_verb({"promote", "2"}), 6640);
  EXPECT_EQ(refused_verb({"remove", "2"}), 6640);
  EXPECT_EQ(refused({"2", "--weight", "3", "--view", "1"}), 6640);
  EXPECT_EQ(watched({})["view"], "1");
}

TEST(MemberVerbs, ANodeSaysItsNameAndLabelsAndTheLedgerHasWhoChangedThem) {
  const ScratchFolder folder;
  const std::string directory = (folder.path() / "data").string();
  {
    DevNode node({"--data-dir",
                  directory,
                  "--listen-ledger",
                  "127.0.0.1:0",
                  "--member-name",
                  "db",
                  "--label",
                  "zone=a",
                  "--label",
                  "rack=7"});
    const nlohmann::json view =
        node.ctl().json({"--timeout", "30s", "member", "watch", "--count", "1"});
    EXPECT_EQ(view["view"], "1");
    EXPECT_EQ(view["members"][0]["name"], "db");
    EXPECT_EQ(view["members"][0]["labels"], (nlohmann::json{{"rack", "7"}, {"zone", "a"}}));
    node.ctl().json(
        {"member", "update", "1", "--label", "zone=b", "--view", "1", "--as", "ann@build"});
    bool found = false;
    // History has an entry a moment after its answer.
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    for (int look = 0; !found && std::chrono::steady_clock::now() < latest; ++look) {
      const int index = look % 16;
      const Finished entry = run("gcoordctl",
                                 {"-o",
                                  "json",
                                  "ledger",
                                  "get",
                                  std::to_string(index),
                                  "--shard",
                                  "0",
                                  "--ledger",
                                  "http://" + node.ledger()});
      found = entry.out.find("view_update") != std::string::npos;
      if (found) {
        EXPECT_THAT(entry.out, HasSubstr("ann@build"));
        EXPECT_THAT(entry.out, HasSubstr("zone=b"));
      }
    }
    EXPECT_TRUE(found);
    node.child().signal(SIGTERM);
    EXPECT_EQ(node.child().wait_for(kPatience), 0);
  }
  // Started anew with other settings, alone or with all others: they make the next view.
  DevNode node({"--data-dir", directory}, "200");
  const nlohmann::json retuned =
      node.ctl().json({"--timeout", "30s", "member", "watch", "--after", "2", "--count", "1"});
  EXPECT_EQ(retuned["view"], "3");
}

}  // namespace
}  // namespace gcoord::cli
