// gcoordctl session and lease, and reads with a freshness, against nodes as processes.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <thread>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class SessionVerbsNodesTest : public testing::Test {
 protected:
  explicit SessionVerbsNodesTest(const std::string& turn = "host")
      : node_(turn, {"--session-locks-max", "2"}) {}

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class SessionVerbsTest : public AtBothTurns<SessionVerbsNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, SessionVerbsTest, both_turns(), turn_name);

TEST_P(SessionVerbsTest, S1AnIdIsGrantedOnceAndATtlOutOfRangeIsRefused) {
  const auto granted = ctl_.json({"lease", "grant", "--id", "4711", "--ttl", "60s"});
  EXPECT_EQ(granted["session"], "4711");
  EXPECT_EQ(granted["ttl_ms"], 60'000);
  EXPECT_EQ(ctl_.json({"session", "open", "--id", "4711"}, 6)["error"]["code"], "GC6301");
  EXPECT_EQ(ctl_.json({"session", "open", "--ttl", "1ms"}, 2)["error"]["code"], "GC1104");
  EXPECT_EQ(ctl_.json({"session", "open", "--ttl", "48h"}, 2)["error"]["code"], "GC1105");
  EXPECT_EQ(ctl_.json({"session", "open", "--id", "281474976710656"}, 2)["error"]["code"],
            "GC6302");
  const std::string own = ctl_.json({"session", "open"})["session"];
  EXPECT_GT(std::stoull(own), std::uint64_t{1} << 48);
}

TEST_P(SessionVerbsTest, S2KeepAliveOnceRenewsAndOfASessionThatIsGoneItSaysZero) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "60s"});
  const auto renewed = ctl_.json({"session", "keep-alive", "7", "--once"});
  EXPECT_GT(renewed["ttl_ms"].get<int>(), 50'000);
  ctl_.json({"session", "close", "7"});
  EXPECT_EQ(ctl_.json({"lease", "keep-alive", "7", "--once"})["ttl_ms"], 0);
  EXPECT_EQ(ctl_.json({"lease", "keep-alive", "7"})["ttl_ms"], 0);  // Ends by itself.
}

TEST_P(SessionVerbsTest, S2KeepAliveKeepsItAliveBeyondItsTtl) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "600ms"});
  ChildProcess keeper = ctl_.start({"-o", "json", "session", "keep-alive", "7"});
  for (int i = 0; i < 8; ++i) {  // Longer than the TTL: three to a TTL.
    const auto line = keeper.read_line(kPatience);
    ASSERT_TRUE(line.has_value());
    EXPECT_GT(nlohmann::json::parse(*line)["ttl_ms"].get<int>(), 0);
  }
  keeper.signal(SIGTERM);
  EXPECT_EQ(keeper.wait_for(kPatience), 0);
}

// It said that it had closed it.
TEST_F(SessionVerbsNodesTest, AnUnknownSessionIsNotClosed) {
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"session", "close"}, {"lease", "revoke"}}) {
    const Finished text = ctl_({verb[0], verb[1], "4712"});
    EXPECT_EQ(text.code, 1);
    EXPECT_EQ(text.out, "");
    EXPECT_THAT(text.err, AllOf(HasSubstr("GC6008"), HasSubstr("session 4712")));
    EXPECT_EQ(ctl_.json({verb[0], verb[1], "4712"}, 1)["error"]["code"], "GC6008");
    EXPECT_EQ(ctl_.json({verb[0], verb[1], "0"}, 2)["error"]["code"], "GC1108");
    ctl_.json({"session", "open", "--id", "7", "--ttl", "60s"});
    EXPECT_EQ(ctl_.json({verb[0], verb[1], "7"})["closed"], true);
    EXPECT_EQ(ctl_.json({verb[0], verb[1], "7"}, 1)["error"]["code"], "GC6008");
  }
  EXPECT_THAT(ctl_({"session", "--help"}).out, HasSubstr("no such session"));
}

// One that only ever acquired a lock has no home to be asked after in.
TEST_F(SessionVerbsNodesTest, ASessionWithoutAHomeIsClosedAndTakesLocks) {
  const auto held = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string session = held["session"];
  EXPECT_EQ(ctl_.json({"lock", "acquire", "b", "--session", session})["session"], session);
  EXPECT_EQ(ctl_.json({"session", "close", session})["closed"], true);
  EXPECT_EQ(ctl_.json({"lock", "get", "b"}, 1)["held"], false);
  EXPECT_EQ(ctl_.json({"session", "close", session}, 1)["error"]["code"], "GC6008");
}

// It opened the session behind the caller's back.
TEST_F(SessionVerbsNodesTest, NoLockIsTakenInAnUnknownSession) {
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--session", "4712"}, 1)["error"]["code"], "GC6008");
  EXPECT_EQ(
      ctl_.json({"lock", "acquire", "a", "--session", "4712", "--ttl", "60s"}, 1)["error"]["code"],
      "GC6008");
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--session", "0"}, 2)["error"]["code"], "GC1108");
  EXPECT_EQ(ctl_.json({"lock", "get", "a"}, 1)["held"], false);
  EXPECT_EQ(ctl_.json({"session", "list", "--count"})["count"], 0);
  ctl_.json({"session", "open", "--id", "7", "--ttl", "60s"});
  ctl_.json({"session", "close", "7"});
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--session", "7"}, 1)["error"]["code"], "GC6008");
  EXPECT_THAT(ctl_({"lock", "acquire", "--help"}).out, HasSubstr("GC6008"));
}

TEST_P(SessionVerbsTest, S3OneKeepAliveRenewsTheSessionWhereverItHoldsSomething) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "1s"});
  ChildProcess keeper = ctl_.start({"-o", "json", "session", "keep-alive", "7"});
  std::vector<nlohmann::json> grants;
  for (const std::string name : {"a", "b"}) {
    grants.push_back(ctl_.json({"lock", "acquire", name, "--session", "7"}));
  }
  for (int i = 0; i < 6; ++i) {  // Longer than the TTL: three to a TTL.
    const auto line = keeper.read_line(kPatience);
    ASSERT_TRUE(line.has_value());
    EXPECT_GT(nlohmann::json::parse(*line)["ttl_ms"].get<int>(), 0);
  }
  for (const auto& grant : grants) {
    ctl_.json({"lock", "check", grant["name"], "--token", grant["token"]});
  }
  keeper.signal(SIGTERM);
  EXPECT_EQ(keeper.wait_for(kPatience), 0);
}

TEST_P(SessionVerbsTest, S5ShowSaysWhatIsLeftAndNamesTheLocks) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "60s"});
  ctl_.json({"lock", "acquire", "a", "--session", "7", "--ttl", "60s"});
  const auto shown = ctl_.json({"lease", "timetolive", "7", "--keys"});
  EXPECT_EQ(shown["granted_ttl_ms"], 60'000);
  EXPECT_GT(shown["remaining_ms"].get<int>(), 50'000);
  EXPECT_EQ(shown["locks"], 1);
  EXPECT_EQ(shown["keys"], nlohmann::json::array({"a"}));
  ctl_.json({"session", "close", "7"});
  EXPECT_EQ(ctl_.json({"lock", "get", "a"}, 1)["held"], false);
  EXPECT_EQ(ctl_.json({"session", "show", "7"}, 1)["remaining_ms"], -1);
}

// A lock that is taken with a session lives as long as that, whatever others' default is.
TEST_P(SessionVerbsTest, S5AnAcquireKeepsTheTtlThatTheSessionWasGrantedWith) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "60s"});
  EXPECT_GT(ctl_.json({"lock", "acquire", "a", "--session", "7"})["ttl_ms"].get<int>(), 50'000);
  const auto shown = ctl_.json({"session", "show", "7"});
  EXPECT_EQ(shown["granted_ttl_ms"], 60'000);
  EXPECT_GT(shown["remaining_ms"].get<int>(), 50'000);
}

TEST_P(SessionVerbsTest, S6ListCountsFiltersAndStopsAtItsLimit) {
  for (const std::string id : {"1", "2", "3"}) {
    ctl_.json({"session", "open", "--id", id, "--ttl", "60s"});
  }
  ctl_.json({"lock", "acquire", "a", "--session", "2", "--ttl", "60s"});
  const auto all = ctl_.json({"session", "list"});
  EXPECT_EQ(all["count"], 3);
  EXPECT_EQ(all["complete"], true);
  EXPECT_EQ(all["sessions"][1]["session"], "2");
  EXPECT_EQ(ctl_.json({"session", "list", "--count", "--idle"})["count"], 2);
  EXPECT_EQ(ctl_.json({"lease", "list", "--holding"})["sessions"][0]["locks"], 1);
  EXPECT_EQ(ctl_.json({"session", "list", "--remaining-below", "1s", "--count"})["count"], 0);
  EXPECT_EQ(ctl_.json({"session", "list", "--limit", "2"})["complete"], false);
  EXPECT_THAT(ctl_({"session", "list", "--limit", "2"}).err, HasSubstr("--limit"));
  EXPECT_EQ(ctl_.json({"session", "list", "--limit", "2"})["count"], 2);
  EXPECT_EQ(ctl_({"session", "list", "--limit", "3"}).err, "");
}

TEST_P(SessionVerbsTest, S12TheThirdLockOfASessionWithAQuotaOfTwoIsRefused) {
  ctl_.json({"session", "open", "--id", "7", "--ttl", "60s"});
  ctl_.json({"lock", "acquire", "a", "--session", "7", "--ttl", "60s"});
  ctl_.json({"lock", "acquire", "b", "--session", "7", "--ttl", "60s"});
  const auto error = ctl_.json({"lock", "acquire", "c", "--session", "7", "--try"}, 5)["error"];
  EXPECT_EQ(error["code"], "GC6303");
}

TEST_F(SessionVerbsNodesTest, ALockThatIsHeldAloneHasOneHolderWhoeverIsAsked) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  for (const std::string how : {"linearizable", "lease", "serializable"}) {
    const auto read = ctl_.json({"lock", "get", "a", "--consistency", how});
    ASSERT_EQ(read["holders"].size(), 1u) << how;
    EXPECT_EQ(read["holders"][0]["session"], grant["session"]);
    EXPECT_EQ(read["holders"][0]["token"], grant["token"]);
  }
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["holders"].size(), 1u);
}

TEST_P(SessionVerbsTest, R6ALockIsShownAsItWasAtAnIndexOfItsShard) {
  const auto first = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string at_first = ctl_.json({"lock", "get", "a"})["acquired_index"];
  ctl_.json({"lock", "release", "a", "--token", first["token"], "--session", first["session"]});
  const auto second = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string at_second = ctl_.json({"lock", "get", "a"})["acquired_index"];
  const auto past = ctl_.json({"lock", "get", "a", "--at-index", at_first});
  EXPECT_EQ(past["held"], true);
  EXPECT_EQ(past["token"], first["token"]);
  EXPECT_EQ(past["session"], first["session"]);
  EXPECT_EQ(past["index"], at_first);
  const std::string between = std::to_string(std::stoull(at_second) - 1);
  EXPECT_EQ(ctl_.json({"lock", "get", "a", "--at-index", between}, 1)["held"], false);
  EXPECT_EQ(ctl_.json({"lock", "get", "a", "--at-index", at_second})["token"], second["token"]);
  EXPECT_EQ(ctl_.json({"lock", "get", "a", "--at-index", "0"}, 1)["held"], false);
  EXPECT_EQ(ctl_.json({"lock", "get", "a", "--at-index", "1000000"}, 1)["error"]["code"], "GC6321");
  EXPECT_EQ(ctl_({"lock", "get", "a", "--at-index", "1", "--consistency", "lease"}).code, 2);
  EXPECT_THAT(ctl_({"lock", "get", "--help"}).out, HasSubstr("--at-index"));
}

TEST_F(SessionVerbsNodesTest, CompletionAndHelpKnowTheVerbs) {
  EXPECT_EQ(run("gcoordctl", {"__complete", "lease", "timeto"}).out, "timetolive\n");
  EXPECT_THAT(ctl_({"session", "--help"}).out, HasSubstr("keep-alive"));
  EXPECT_THAT(ctl_({"lock", "get", "--help"}).out, HasSubstr("--max-staleness"));
}

TEST_F(SessionVerbsNodesTest, FlagsOfReadsThatContradictEachOtherAreUsage) {
  EXPECT_EQ(ctl_.json({"lock", "get", "a", "--consistency", "bounded"}, 2)["error"]["code"],
            "GC1002");
  EXPECT_EQ(ctl_({"lock", "get", "a", "--consistency", "lease", "--max-staleness", "1s"}).code, 2);
  EXPECT_EQ(ctl_({"lock", "get", "a", "--after", "nonsense"}).code, 2);
  EXPECT_EQ(ctl_.json({"lock", "list", "--node", "1"}, 2)["error"]["code"], "GC1001");
}

// They were left out, and nothing said so.
TEST_F(SessionVerbsNodesTest, WaitersAreNamedByLeadersOrRefused) {
  const auto held = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  ChildProcess waiter = ctl_.start({"-o", "json", "lock", "acquire", "a", "--ttl", "60s"});
  while (ctl_.json({"lock", "get", "a", "--waiters"})["waiters"].empty()) {
  }
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--consistency", "lease"},
                                              {"--consistency", "linearizable"},
                                              {"--max-staleness", "20s"},
                                              {"--after", "0:1"},
                                              {"--node", "1"}}) {
    std::vector<std::string> get = {"lock", "get", "a", "--waiters"};
    get.insert(get.end(), how.begin(), how.end());
    const Finished refused = ctl_(get);
    EXPECT_EQ(refused.code, 2) << how[0];
    EXPECT_THAT(refused.out + refused.err, AllOf(HasSubstr("--waiters"), HasSubstr(how[0])));
  }
  for (const std::string how : {"lease", "linearizable"}) {
    const auto list = ctl_.json({"lock", "list", "--waiters", "--consistency", how});
    EXPECT_EQ(list["locks"][0]["waiters"].size(), 1u) << how;
  }
  const auto refused =
      ctl_.json({"lock", "list", "--waiters", "--consistency", "serializable"}, 2)["error"];
  EXPECT_EQ(refused["code"], "GC1001");
  EXPECT_THAT(refused["message"], HasSubstr("--waiters"));
  ctl_.json({"lock", "release", "a", "--token", held["token"], "--session", held["session"]});
  EXPECT_EQ(waiter.wait_for(kPatience), 0);
}

// Three nodes: every one of them answers, as fresh as was asked for.
class ThreeNodes {
 public:
  explicit ThreeNodes(const std::string& turn = "host") {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 64;
    options.arguments_of_node = turn_of_all(turn);
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok());
    cluster_.emplace(std::move(planned).value());
    EXPECT_TRUE(cluster_->start_all(kPatience).ok());
  }

  Ctl ctl() const { return Ctl{comma_list(cluster_->endpoints())}; }

  chaos::LocalCluster& nodes() { return *cluster_; }

 private:
  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

class ReadVerbsTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, ReadVerbsTest, both_turns(), turn_name);

TEST_P(ReadVerbsTest, R1R2AReadShowsWhatWasDecidedBeforeIt) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  for (const std::string how : {"linearizable", "lease"}) {
    const std::string name = "job/" + how;
    const std::vector<std::string> get = {
        "--timeout", "60s", "lock", "get", name, "--consistency", how};
    const auto grant = ctl.json({"--timeout", "60s", "lock", "acquire", name, "--ttl", "600s"});
    EXPECT_EQ(ctl.json(get)["token"], grant["token"]) << how;
    ctl.json({"lock", "release", name, "--token", grant["token"], "--session", grant["session"]});
    EXPECT_EQ(ctl.json(get, 1)["held"], false) << how;
  }
}

TEST_P(ReadVerbsTest, R5EveryReplicaShowsAWriteToWhoNamesItsPosition) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  for (int round = 0; round < 5; ++round) {
    const std::string name = "job/" + std::to_string(round);
    const auto grant = ctl.json({"--timeout", "60s", "lock", "acquire", name, "--ttl", "600s"});
    const std::string after = grant["after"];
    for (const std::string node : {"1", "2", "3"}) {
      const auto read = ctl.json({"lock", "get", name, "--after", after, "--node", node});
      EXPECT_EQ(read["token"], grant["token"]);
    }
  }
}

TEST_P(ReadVerbsTest, R4EveryReplicaMeetsItsBound) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  for (const std::string node : {"1", "2", "3"}) {
    const auto read = ctl.json({"lock", "get", "a", "--max-staleness", "20s", "--node", node});
    EXPECT_EQ(read["held"], true);
    EXPECT_LE(read["age_ms"].get<int>(), 20'000);
    const auto list = ctl.json({"lock", "list", "--max-staleness", "20s", "--node", node});
    EXPECT_EQ(list["locks"].size(), 1u);
  }
}

TEST_P(ReadVerbsTest, R3EveryReplicaSaysHowOldItIs) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  for (const std::string node : {"1", "2", "3"}) {
    ctl.json({"lock", "get", "a", "--max-staleness", "20s", "--node", node});
    const auto old =
        ctl.json({"lock", "get", "a", "--consistency", "serializable", "--node", node});
    EXPECT_EQ(old["held"], true);
    EXPECT_TRUE(old["age_ms"].is_number());  // The read before it found out.
  }
  EXPECT_EQ(ctl.json({"lock", "get", "a", "--consistency", "linearizable"})["age_ms"], 0);
}

// The first that anybody reads there.
TEST_P(ReadVerbsTest, R3ALeaderAnswersZero) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  const std::string shard = ctl.json({"lock", "get", "a"})["shard"].dump();
  // A leader that has just come, or gives way, may have no lease yet.
  nlohmann::json old = nlohmann::json::object();
  for (int tries = 0; tries < 20 && old.value("age_ms", nlohmann::json(nullptr)) != 0; ++tries) {
    const auto replicas = ctl.json({"shard", "show", shard})["replicas"];
    const std::string leader = replicas[0]["leader"].dump();
    old = ctl.json({"lock", "get", "a", "--consistency", "serializable", "--node", leader});
    EXPECT_EQ(old["held"], true);
  }
  EXPECT_EQ(old["age_ms"], 0);
}

TEST_P(ReadVerbsTest, R4AReplicaAloneRefusesABoundAndR3StillAnswers) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  ctl.json({"lock", "get", "a", "--max-staleness", "20s", "--node", "3"});
  nodes.nodes().kill(1);
  nodes.nodes().kill(2);
  // If it led the shard it may answer, rightly, for as long as its lease is good.
  const std::vector<std::string> bounded = {"--timeout",
                                            "20s",
                                            "-o",
                                            "json",
                                            "lock",
                                            "get",
                                            "a",
                                            "--max-staleness",
                                            "1ms",
                                            "--node",
                                            "3"};
  Finished refused = ctl(bounded);
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       refused.code == 0 && std::chrono::steady_clock::now() < end;) {
    refused = ctl(bounded);
  }
  EXPECT_EQ(refused.code, 5) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC6304");
  const auto old = ctl.json({"lock", "get", "a", "--consistency", "serializable", "--node", "3"});
  EXPECT_EQ(old["held"], true);
}

// It said "this node does not lead the shard. Ask the leader that the reply names", of no leader.
TEST(ThreeNodesVerbsTest, WithoutAMajorityItIsSaidThatNobodyLeadsAndWhatToDo) {
  ThreeNodes nodes;
  const Ctl ctl = nodes.ctl();
  ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  nodes.nodes().kill(1);
  nodes.nodes().kill(2);
  // A leader that is left alone may answer for as long as its lease is good.
  const std::vector<std::string> get = {"--timeout", "3s", "-o", "json", "lock", "get", "a"};
  Finished refused = ctl(get);
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       refused.code == 0 && std::chrono::steady_clock::now() < end;) {
    refused = ctl(get);
  }
  EXPECT_EQ(refused.code, 5) << refused.out << refused.err;
  EXPECT_EQ(refused.error_code(), "GC5001") << refused.out;
  const auto error = refused.json()["error"];
  EXPECT_THAT(error["message"], AllOf(HasSubstr("1 of 3 nodes"), HasSubstr("majority")));
  EXPECT_EQ(error["evidence"].size(), 3u);
}

// Lists looked empty and succeeded; an acquire was told as a lost session; a watch was silent.
TEST(ThreeNodesVerbsTest, WithoutAMajorityListsAndAcquiresFailAndAWatchSaysThatItWaits) {
  ThreeNodes nodes;
  const Ctl ctl = nodes.ctl();
  ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  ChildOptions watching =
      program("gcoordctl", ctl.with_endpoints({"--timeout", "60s", "watch", "a", "--from", "1"}));
  const ScratchFolder folder;
  watching.error_file = (folder.path() / "stderr").string();
  auto watch = ChildProcess::start(watching);
  ASSERT_TRUE(watch.ok());
  ASSERT_THAT(watch.value().read_line(kPatience).value_or(""), HasSubstr("granted"));
  nodes.nodes().kill(1);
  nodes.nodes().kill(2);
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"lock", "ls"}, {"session", "list"}, {"lock", "acquire", "n", "--try", "--ttl", "3s"}}) {
    std::vector<std::string> all = {"--timeout", "3s", "-o", "json"};
    all.insert(all.end(), verb.begin(), verb.end());
    const Finished refused = ctl(all);
    EXPECT_EQ(refused.code, 5) << verb[0] << ": " << refused.out << refused.err;
    EXPECT_EQ(refused.error_code(), "GC5001") << refused.out;
  }
  const auto said = [&] { return file_text(folder.path() / "stderr"); };
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (said().find("1 of 3 nodes") == std::string::npos &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_THAT(said(), HasSubstr("waiting: 1 of 3 nodes can be reached"));
}

// Sessions without a home, looked for where the leader of what would be their home is another node.
TEST(ThreeNodesVerbsTest, ASessionOfAnAcquireIsKnownToTheNextVerbWhoeverLeads) {
  ThreeNodes nodes;
  const Ctl ctl = nodes.ctl();
  for (int round = 0; round < 8; ++round) {
    const std::string name = "job/" + std::to_string(round);
    const auto held = ctl.json({"--timeout", "60s", "lock", "acquire", name, "--ttl", "600s"});
    const std::string session = held["session"];
    const std::string more = name + "/more";
    ctl.json({"--timeout", "60s", "lock", "acquire", more, "--try", "--session", session});
    EXPECT_EQ(ctl.json({"--timeout", "60s", "session", "close", session})["closed"], true);
    const auto again = ctl.json({"--timeout", "60s", "session", "close", session}, 1);
    EXPECT_EQ(again["error"]["code"], "GC6008");
  }
}

// It said that no node could be reached, after all of its time.
TEST(ThreeNodesVerbsTest, ASessionIsClosedWhileOneNodeOfThreeIsDead) {
  ThreeNodes nodes;
  const Ctl ctl = nodes.ctl();
  nodes.nodes().kill(2);
  for (int round = 0; round < 4; ++round) {
    const std::string name = "job/" + std::to_string(round);
    const auto held = ctl.json({"--timeout", "60s", "lock", "acquire", name, "--ttl", "600s"});
    const std::string session = held["session"];
    EXPECT_EQ(ctl.json({"--timeout", "60s", "session", "close", session})["closed"], true);
    EXPECT_EQ(ctl.json({"lock", "get", name}, 1)["held"], false);
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (ctl({"status"}).out.find("64 shards, all with a leader") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
}

TEST_P(ReadVerbsTest, R6EveryReplicaShowsTheSamePast) {
  ThreeNodes nodes(GetParam());
  const Ctl ctl = nodes.ctl();
  const auto first = ctl.json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "600s"});
  const std::string index = ctl.json({"lock", "get", "a"})["acquired_index"];
  ctl.json({"lock", "release", "a", "--token", first["token"], "--session", first["session"]});
  const std::string after = ctl.json({"lock", "acquire", "a", "--ttl", "600s"})["after"];
  for (const std::string node : {"1", "2", "3"}) {
    ctl.json({"lock", "get", "a", "--after", after, "--node", node});  // It has come that far.
    const auto past = ctl.json({"lock", "get", "a", "--at-index", index, "--node", node});
    EXPECT_EQ(past["token"], first["token"]) << node;
  }
}

}  // namespace
}  // namespace gcoord::cli
