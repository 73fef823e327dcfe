// gcoordctl against `gcoordd dev`: exit codes, JSON shapes, and what each verb does.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class GcoordctlNodesTest : public testing::Test {
 protected:
  explicit GcoordctlNodesTest(const std::string& turn = "host") : node_(turn) {}

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class GcoordctlTest : public AtBothTurns<GcoordctlNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, GcoordctlTest, both_turns(), turn_name);

TEST_F(GcoordctlNodesTest, AcquirePrintsTokenSessionEpochAndTtl) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "5s"});
  EXPECT_EQ(grant["name"], "a");
  EXPECT_TRUE(grant["token"].is_string());
  EXPECT_TRUE(grant["session"].is_string());
  EXPECT_TRUE(grant["epoch"].is_string());
  EXPECT_EQ(grant["ttl_ms"], 5000);
}

TEST_P(GcoordctlTest, L12L13AnAcquiredLockIsCheckedReleasedAndThenStale) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string token = grant["token"];
  const std::string session = grant["session"];
  EXPECT_EQ(ctl_.json({"lock", "check", "a", "--token", token})["verdict"], "VALID");
  const auto held = ctl_.json({"lock", "get", "a"});
  EXPECT_EQ(held["token"], token);
  EXPECT_EQ(held["session"], session);
  ctl_.json({"lock", "release", "a", "--token", token, "--session", session});
  EXPECT_EQ(ctl_.json({"lock", "check", "a", "--token", token}, 1)["valid"], false);
  const auto next = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_GT(std::stoull(next["token"].get<std::string>()), std::stoull(token));
  EXPECT_EQ(ctl_.json({"lock", "check", "a", "--token", token}, 1)["verdict"], "STALE");
}

TEST_P(GcoordctlTest, L1L2TryOnAHeldLockExitsWithConflictAndLeavesNoWaiter) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const auto error = ctl_.json({"lock", "acquire", "a", "--try"}, 6)["error"];
  EXPECT_EQ(error["code"], "GC6001");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("token"));
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["waiter_count"], 0);
}

TEST_P(GcoordctlTest, L3AWaitThatRunsOutExitsWithConflictAndLeavesNoWaiter) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--wait", "200ms"}, 6)["error"]["code"], "GC6005");
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["waiter_count"], 0);
}

TEST_P(GcoordctlTest, L10ALockPassesOnWhenItsTtlIsOver) {
  ctl_.json({"lock", "acquire", "a", "--ttl", "300ms"});
  const auto next = ctl_.json({"lock", "acquire", "a", "--wait", "30s", "--ttl", "5s"});
  EXPECT_EQ(next["token"], "2");
}

TEST_F(GcoordctlNodesTest, ANameInBracketsIsOneName) {
  EXPECT_EQ(ctl_.json({"lock", "acquire", "[x,y]", "--ttl", "60s"})["name"], "[x,y]");
  EXPECT_EQ(ctl_.json({"lock", "acquire", "[z]", "[]", "--ttl", "60s"})["locks"].size(), 2u);
  EXPECT_EQ(ctl_.json({"lock", "ls"})["locks"].size(), 3u);
  EXPECT_EQ(ctl_.json({"lock", "get", "[x,y]"})["name"], "[x,y]");
  EXPECT_THAT(ctl_.json({"lock", "ls", "--limit", "[7]"}, 2)["error"]["message"].dump(),
              testing::Not(HasSubstr("\\u0001")));
}

class AcquireSignalTest : public GcoordctlTest {
 protected:
  // Waits until this process is in the queue of "a".
  void wait_queued() {
    while (ctl_.json({"lock", "get", "a"})["waiter_count"] == 0) {
    }
  }
};

INSTANTIATE_TEST_SUITE_P(BothTurns, AcquireSignalTest, both_turns(), turn_name);

TEST_P(AcquireSignalTest, L17ASignalEndsAWaitingAcquireAndItsSession) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ChildProcess waiter = ctl_.start({"lock", "acquire", "a", "--ttl", "60s"});
    wait_queued();
    waiter.signal(signal);
    EXPECT_EQ(waiter.wait_for(kPatience), 128 + signal);
    EXPECT_EQ(waiter.read_all(kPatience), "");
    EXPECT_EQ(ctl_.json({"lock", "get", "a"})["waiter_count"], 0);
    EXPECT_EQ(ctl_.json({"session", "list", "--count"})["count"], 1);
  }
  ctl_.json({"lock", "release", "a", "--token", grant["token"], "--session", grant["session"]});
  EXPECT_EQ(ctl_({"lock", "acquire", "a", "--try"}).code, 0);
}

// Nobody ends a session that somebody else opened: the request alone is withdrawn.
TEST_P(AcquireSignalTest, L17ASignalWithdrawsTheRequestOfASessionThatLivesOn) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string session = ctl_.json({"lock", "acquire", "b", "--ttl", "60s"})["session"];
  ChildProcess waiter = ctl_.start({"lock", "acquire", "a", "b", "--session", session});
  wait_queued();
  waiter.signal(SIGTERM);
  EXPECT_EQ(waiter.wait_for(kPatience), 128 + SIGTERM);
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["waiter_count"], 0);
  EXPECT_EQ(ctl_.json({"lock", "get", "b"})["session"], session) << "it was held before";
  ctl_.json({"lock", "release", "a", "--token", grant["token"], "--session", grant["session"]});
  EXPECT_EQ(ctl_.json({"lock", "get", "a"}, 1)["held"], false);
}

TEST_F(GcoordctlNodesTest, ReleaseWithAnotherTokenChangesNothing) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string session = grant["session"];
  const auto error =
      ctl_.json({"lock", "release", "a", "--token", "999", "--session", session}, 1)["error"];
  EXPECT_EQ(error["code"], "GC6003");
  ctl_.json({"lock", "check", "a", "--token", grant["token"]});
}

TEST_F(GcoordctlNodesTest, GetOfAnAbsentLockIsANegativeAnswer) {
  for (const char* how : {"linearizable", "serializable"}) {
    const auto absent = ctl_.json({"lock", "get", "nobody", "--consistency", how}, 1);
    EXPECT_EQ(absent["name"], "nobody");
    EXPECT_EQ(absent["held"], false);
  }
  const auto plain = ctl_.json({"lock", "get", "nobody"}, 1);
  EXPECT_EQ(plain, (nlohmann::json{{"name", "nobody"}, {"held", false}}));
  EXPECT_EQ(ctl_({"lock", "get", "nobody"}).code, 1);
  ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["held"], true);
}

TEST_F(GcoordctlNodesTest, ListShowsLocksByPrefix) {
  for (const std::string name : {"job/1", "job/2", "other"}) {
    ctl_.json({"lock", "acquire", name, "--ttl", "60s"});
  }
  const auto all = ctl_.json({"lock", "ls"});
  EXPECT_EQ(all["locks"].size(), 3u);
  EXPECT_EQ(all["complete"], true);
  EXPECT_EQ(ctl_.json({"lock", "ls", "job/"})["locks"].size(), 2u);
  const auto cut = ctl_.json({"lock", "ls", "--limit", "1"});
  EXPECT_EQ(cut["locks"].size(), 1u);
  EXPECT_EQ(cut["complete"], false);
  EXPECT_THAT(ctl_({"lock", "ls", "--limit", "1"}).err, HasSubstr("--limit"));
  EXPECT_EQ(ctl_({"lock", "ls", "--limit", "3"}).err, "");
  const Finished table = ctl_({"lock", "ls", "other"});
  EXPECT_EQ(table.err, "");
  EXPECT_THAT(table.out, HasSubstr("NAME"));
  EXPECT_THAT(table.out, HasSubstr("other"));
}

TEST_P(GcoordctlTest, L11AWaiterWhoseSessionEndedIsToldSoAndNeverGranted) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::string session = ctl_.json({"session", "open", "--ttl", "60s"})["session"];
  ChildProcess waiter = ctl_.start({"-o", "json", "lock", "acquire", "a", "--session", session});
  while (ctl_.json({"lock", "get", "a"})["waiter_count"] == 0) {
  }
  ctl_.json({"session", "close", session});
  EXPECT_EQ(waiter.wait_for(kPatience), 1);
  const auto said = nlohmann::json::parse(waiter.read_all(kPatience), nullptr, false);
  EXPECT_EQ(said["error"]["code"], "GC6007") << said;
  ctl_.json({"lock", "release", "a", "--token", grant["token"], "--session", grant["session"]});
  EXPECT_EQ(ctl_.json({"lock", "get", "a"}, 1)["held"], false);
}

TEST_P(GcoordctlTest, L4WaitersAreListedInQueueOrder) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  ChildProcess waiter = ctl_.start({"-o", "json", "lock", "acquire", "a", "--ttl", "60s"});
  nlohmann::json held;
  do {
    held = ctl_.json({"lock", "get", "a", "--waiters"});
  } while (held["waiter_count"] == 0);
  ASSERT_EQ(held["waiters"].size(), 1u);
  EXPECT_EQ(held["waiters"][0]["position"], 1);
  ctl_.json({"lock", "release", "a", "--token", grant["token"], "--session", grant["session"]});
  EXPECT_EQ(waiter.wait_for(kPatience), 0);
  const auto granted = nlohmann::json::parse(waiter.read_all(kPatience), nullptr, false);
  EXPECT_EQ(granted["session"], held["waiters"][0]["session"]);
}

TEST_P(GcoordctlTest, L5ListWithWaitersShowsPositionSessionAndHowLongTheyWait) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  ChildProcess waiter = ctl_.start({"-o", "json", "lock", "acquire", "a", "--ttl", "60s"});
  nlohmann::json locks;
  do {
    locks = ctl_.json({"lock", "list", "--waiters"})["locks"];
  } while (locks[0]["waiters"].empty());
  const auto& first = locks[0]["waiters"][0];
  EXPECT_EQ(first["position"], 1);
  EXPECT_TRUE(first["waited_ms"].is_number());
  const Finished table = ctl_({"lock", "list", "--waiters"});
  EXPECT_THAT(table.out, HasSubstr("WAITED_MS"));
  EXPECT_THAT(table.out, HasSubstr(first["session"].get<std::string>()));
  ctl_.json({"lock", "release", "a", "--token", grant["token"], "--session", grant["session"]});
  EXPECT_EQ(waiter.wait_for(kPatience), 0);
}

TEST_P(GcoordctlTest, L18TwoSessionsThatWaitForEachOtherAreToldSo) {
  const auto one = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const auto two = ctl_.json({"lock", "acquire", "b", "--ttl", "60s"});
  const auto also = [&](const nlohmann::json& held, const std::string& name) {
    return ctl_.start(
        {"-o", "json", "lock", "acquire", name, "--ttl", "60s", "--session", held["session"]});
  };
  ChildProcess older = also(one, "b");
  nlohmann::json locks;
  do {
    locks = ctl_.json({"lock", "list", "--waiters", "b"})["locks"];
  } while (locks[0]["waiters"].empty());
  ChildProcess younger = also(two, "a");
  EXPECT_EQ(younger.wait_for(kPatience), 6);
  const auto answer = nlohmann::json::parse(younger.read_all(kPatience), nullptr, false);
  EXPECT_EQ(answer["error"]["code"], "GC6040");
  const std::string message = answer["error"]["message"];
  EXPECT_THAT(message, HasSubstr("waits for \"a\""));
  EXPECT_THAT(message, HasSubstr(one["session"].get<std::string>()));
  const auto shown = ctl_.json({"lock", "deadlocks"})["deadlocks"];
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0]["victim"], two["session"]);
  EXPECT_EQ(shown[0]["cycle"].size(), 2u);
  const auto status = ctl_.json({"status"});
  int ended = 0;
  for (const auto& node : status["nodes"]) {  // One of them searches.
    ended += std::stoi(node["deadlocks"]["ended"].get<std::string>());
    EXPECT_EQ(node["deadlocks"]["oversized"], "0");
  }
  EXPECT_EQ(ended, 1);
  ctl_.json({"lock", "release", "b", "--token", two["token"], "--session", two["session"]});
  EXPECT_EQ(older.wait_for(kPatience), 0);
}

TEST_P(GcoordctlTest, L20GetShowsTheNoteOfTheHolder) {
  const auto grant =
      ctl_.json({"lock", "acquire", "a", "--ttl", "60s", "--note", "build 7 on \xc3\xbc"});
  const auto held = ctl_.json({"lock", "get", "a"});
  EXPECT_EQ(held["note"], "build 7 on \xc3\xbc");
  EXPECT_EQ(held["session"], grant["session"]);
  EXPECT_EQ(held["token"], grant["token"]);
  EXPECT_NE(held["acquired_index"], "0");
  const auto error =
      ctl_.json({"lock", "acquire", "b", "--note", std::string(513, 'n')}, 2)["error"];
  EXPECT_EQ(error["code"], "GC6024");
}

TEST_P(GcoordctlTest, L6AnAcquireInTheSameSessionCountsOneHoldMoreUpToItsLimit) {
  const auto grant = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  const std::vector<std::string> again = {
      "lock", "acquire", "a", "--ttl", "60s", "--session", grant["session"], "--holds", "2"};
  const auto second = ctl_.json(again);
  EXPECT_EQ(second["token"], grant["token"]);
  EXPECT_EQ(second["held_again"], true);
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["holds"], 2);
  EXPECT_EQ(ctl_.json(again, 1)["error"]["code"], "GC6022");
  ctl_.json({"lock", "release", "a", "--token", grant["token"], "--session", grant["session"]});
  ctl_.json({"lock", "get", "a"}, 1);
}

TEST_P(GcoordctlTest, L7ReadersShareALockAndAWriterGoesDownToOne) {
  const auto writer = ctl_.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--shared", "--try"}, 6)["error"]["code"], "GC6001");
  const auto down = ctl_.json(
      {"lock", "acquire", "a", "--downgrade", "--ttl", "60s", "--session", writer["session"]});
  EXPECT_EQ(down["token"], writer["token"]);
  const auto reader = ctl_.json({"lock", "acquire", "a", "--shared", "--ttl", "60s"});
  EXPECT_NE(reader["token"], writer["token"]);
  EXPECT_EQ(ctl_.json({"lock", "get", "a"})["holders"].size(), 2u);
  ctl_.json({"lock", "check", "a", "--token", writer["token"]});
  ctl_.json({"lock", "check", "a", "--token", reader["token"]});
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--try"}, 6)["error"]["code"], "GC6001");
}

TEST_P(GcoordctlTest, L8PermitsOfASemaphoreRunOutAndComeBackWithTheirSessions) {
  const std::vector<std::string> take = {
      "lock", "acquire", "gpu", "--permits-max", "2", "--try", "--ttl", "60s"};
  const auto first = ctl_.json(take);
  ctl_.json(take);
  EXPECT_EQ(ctl_.json(take, 6)["error"]["code"], "GC6001");
  const std::vector<std::string> other = {"lock", "acquire", "gpu", "--permits-max", "3", "--try"};
  EXPECT_EQ(ctl_.json(other, 6)["error"]["code"], "GC6027");
  ctl_.json({"lock", "release", "gpu", "--token", first["token"], "--session", first["session"]});
  ctl_.json(take);
  EXPECT_EQ(ctl_.json({"lock", "get", "gpu"})["permits_max"], 2);
  const std::vector<std::string> unlimited = {"lock", "acquire", "cpu", "--permits", "2"};
  EXPECT_EQ(ctl_.json(unlimited, 2)["error"]["code"], "GC1002") << "of how many?";
}

TEST_F(GcoordctlNodesTest, StatusDescribesTheNode) {
  const auto status = ctl_.json({"status"});
  EXPECT_EQ(status["shards"], 16);
  EXPECT_TRUE(status["cluster_id"].is_string());
  ASSERT_EQ(status["nodes"].size(), 1u);
  const auto node = status["nodes"][0];
  EXPECT_EQ(node["reachable"], true);
  EXPECT_EQ(status["ttl_min_ms"], 100);
  EXPECT_EQ(status["ttl_max_ms"], 24 * 60 * 60 * 1000);
  EXPECT_EQ(node["durability"], "durable");
  EXPECT_EQ(node["stepper"], "cpu");
  EXPECT_THAT(node["stepper_reason"].get<std::string>(), HasSubstr("default"));
  EXPECT_TRUE(node["device"].is_null());
  EXPECT_EQ(node["incarnation"], 1);
  ctl_.json({"lock", "acquire", "a"});
  EXPECT_THAT(ctl_({"status"}).out, HasSubstr("LEADS"));
  EXPECT_THAT(ctl_({"status"}).out, HasSubstr("STEPPER"));
  EXPECT_THAT(ctl_({"status"}).out, HasSubstr("PHI"));
  EXPECT_THAT(ctl_({"status"}).out, HasSubstr("TTL 100 to 86400000 ms"));
}

TEST_F(GcoordctlNodesTest, ShardsAreListedAndShown) {
  const auto list = ctl_.json({"shard", "ls", "--first", "4", "--limit", "3"});
  ASSERT_EQ(list["rows"].size(), 3u);
  EXPECT_EQ(list["rows"][0]["shard"], 4);
  const auto shown = ctl_.json({"shard", "show", "5"});
  ASSERT_EQ(shown["replicas"].size(), 1u);
  EXPECT_EQ(shown["replicas"][0]["configuration"]["members"][0]["node"], 1);
  EXPECT_TRUE(shown["replicas"][0]["state_hash"].is_string());
  EXPECT_EQ(ctl_.json({"shard", "show", "16"}, 2)["error"]["code"], "GC1112");
}

TEST_F(GcoordctlNodesTest, BadNamesAndTimesAreWrongUsage) {
  EXPECT_EQ(ctl_.json({"lock", "acquire", ""}, 2)["error"]["code"], "GC1101");
  EXPECT_EQ(ctl_.json({"lock", "acquire", std::string(2000, 'x')}, 2)["error"]["code"], "GC1102");
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--ttl", "5"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--ttl", "1ms"}, 2)["error"]["code"], "GC1104");
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--try", "--wait", "1s"}, 2)["error"]["code"],
            "GC1001");
  EXPECT_EQ(ctl_.json({"lock", "check", "a", "--token", "0"}, 2)["error"]["code"], "GC1107");
  EXPECT_EQ(ctl_.json({"no-such-verb"}, 2)["error"]["code"], "GC1006");
}

TEST_F(GcoordctlNodesTest, BytesThatAreNoTextAreRefusedInJson) {
  EXPECT_EQ(ctl_.json({"lock", "get", "\xff\xfe"}, 2)["error"]["code"], "GC1103");
  EXPECT_EQ(ctl_.json({"lock", "acquire", "a", "--ttl", "\xff"}, 2)["error"]["code"], "GC1001");
}

TEST_F(GcoordctlNodesTest, BenchReportsPairsAndWritesAHistory) {
  const ScratchFolder directory;
  const std::string file = (directory.path() / "history.jsonl").string();
  const auto result = ctl_.json(
      {"bench", "lock", "--clients", "4", "--pipeline", "2", "--seconds", "1", "--history", file});
  EXPECT_GT(std::stoull(result["pairs"].get<std::string>()), 0u);
  EXPECT_EQ(result["errors"], "0");
  std::ifstream lines(file);
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(entry.is_object()) << line;
    for (const char* field :
         {"process", "op", "key", "args", "call", "return", "outcome", "token"}) {
      ASSERT_TRUE(entry.contains(field)) << field;
    }
    ++count;
  }
  EXPECT_GE(count, 2 * std::stoull(result["pairs"].get<std::string>()));
}

TEST_P(GcoordctlTest, L1SharedNamesAreLockedOneAtATime) {
  const auto result =
      ctl_.json({"bench", "lock", "--clients", "8", "--names", "shared", "--seconds", "1"});
  EXPECT_GT(std::stoull(result["pairs"].get<std::string>()), 0u);
  EXPECT_EQ(result["errors"], "0");
}

TEST(GcoordctlAloneTest, UnreachableNodesAreNamedWithTheirEvidence) {
  const Ctl ctl("127.0.0.1:1,127.0.0.1:2");
  const auto error = ctl.json({"--timeout", "2s", "status"}, 3)["error"];
  EXPECT_EQ(error["code"], "GC3001");
  EXPECT_EQ(error["evidence"].size(), 2u);
  const Finished table = ctl({"status"});
  EXPECT_EQ(table.code, 3);
  EXPECT_TRUE(table.out.empty());
  EXPECT_THAT(table.err, HasSubstr("GC3001"));
}

TEST(GcoordctlAloneTest, LedgerVerifyChecksProofsWithoutANode) {
  // A log of the entries a, b and c, computed with another program.
  const std::string leaf_b = "57eb35615d47f34ec714cacdf5fd74608a5e8e102724e80b24b287c0c27b6a31";
  const std::string root_ab = "b137985ff484fb600db93107c77b0365c80d78f5b429ded0fd97361d077999eb";
  const std::string root_abc = "36642e73c2540ab121e3a6bf9545b0a24982cd830eb13d3cd19de3ce6c021ec1";
  const std::string leaf_a = "Aippeebat6pa5MPl5F9+l3ESp+Y1k4INvsHsc4ok+Tw=";
  const std::string leaf_c = "WX/LMSgtNGVMIA00GPylcFxkjr8ybsc9jd7xGEH4dtg";
  const Ctl ctl("127.0.0.1:1");
  const auto verify = [&](std::vector<std::string> more, int code = 0) {
    more.insert(more.begin(), {"ledger", "verify"});
    return ctl.json(more, code);
  };
  const auto leaf = [&](const std::string& index, const std::string& proof, int code = 0) {
    return verify({"--leaf-index",
                   index,
                   "--tree-size",
                   "3",
                   "--leaf-hash",
                   leaf_b,
                   "--root",
                   root_abc,
                   "--proof",
                   proof},
                  code);
  };
  EXPECT_EQ(leaf("1", leaf_a + "," + leaf_c)["valid"], true);
  EXPECT_EQ(leaf("1", leaf_a + "," + leaf_c)["proves"], "inclusion");
  EXPECT_EQ(leaf("0", leaf_a + "," + leaf_c, 1)["error"]["code"], "GC8005");
  EXPECT_EQ(leaf("1", leaf_a, 1)["error"]["code"], "GC8004");
  EXPECT_EQ(leaf("18446744073709551615", leaf_a, 1)["error"]["code"], "GC8003");
  EXPECT_EQ(leaf("1", leaf_a + ",x", 1)["error"]["code"], "GC8001");
  EXPECT_EQ(leaf("1", std::string(70, ','), 1)["error"]["code"], "GC8002");
  const auto growth = [&](const std::string& old, const std::string& size, int code = 0) {
    return verify({"--old-size",
                   old,
                   "--old-root",
                   root_ab,
                   "--tree-size",
                   size,
                   "--root",
                   root_abc,
                   "--proof",
                   leaf_c},
                  code);
  };
  EXPECT_EQ(growth("2", "3")["proves"], "consistency");
  EXPECT_EQ(growth("4", "3", 1)["error"]["code"], "GC8007");
  EXPECT_EQ(
      verify({"--old-size", "3", "--old-root", root_ab, "--tree-size", "3", "--root", root_abc},
             1)["error"]["code"],
      "GC8008");
  EXPECT_EQ(verify({"--tree-size", "3", "--root", root_abc}, 2)["error"]["code"], "GC1002");
}

TEST(GcoordctlAloneTest, QuorumEvalAnswersLikeTheProduct) {
  const Ctl ctl("127.0.0.1:1");
  const auto eval = [&](std::vector<std::string> more, int code = 0) {
    more.insert(more.begin(), {"quorum", "eval"});
    return ctl.json(more, code);
  };
  EXPECT_EQ(eval({"--voters", "1,2,3", "--votes", "1=yes,2=yes"})["result"], "won");
  EXPECT_EQ(eval({"--voters", "1,2,3", "--votes", "1=yes"})["result"], "pending");
  EXPECT_EQ(eval({"--voters", "1,2,3", "--votes", "1=no,2=no"}, 1)["result"], "lost");
  EXPECT_EQ(eval({"--voters", "1:1,2:1,3:3", "--votes", "3=yes"})["result"], "won");
  EXPECT_EQ(eval({"--voters", "1,2,3", "--outgoing", "4,5", "--votes", "1=yes,2=yes"})["result"],
            "pending");
  EXPECT_EQ(eval({"--voters", "1,2,3", "--acknowledged", "1=10,2=8,3=5"})["commit_index"], "8");
  EXPECT_EQ(eval({"--voters",
                  "1,2,3",
                  "--outgoing",
                  "1,4",
                  "--learners",
                  "5",
                  "--acknowledged",
                  "1=10,2=8,4=3,5=99"})["commit_index"],
            "3");
  EXPECT_EQ(eval({"--voters", "1,1"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(eval({"--voters", "1,2", "--votes", "3=yes"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(eval({"--voters", "1,2", "--learners", "2"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(eval({"--voters", "1:300"}, 2)["error"]["code"], "GC1001");
}

// Some verbs said GC1001.
TEST(GcoordctlAloneTest, WhatMustBeGivenAndIsNotIsOneNumberInEveryVerb) {
  const Ctl ctl{"127.0.0.1:1"};
  const std::vector<std::vector<std::string>> lacking = {
      {},
      {"lock"},
      {"lock", "acquire"},
      {"lock", "acquire", "a", "--permits", "2"},
      {"lock", "acquire", "a", "--sequence", "2"},
      {"lock", "release", "a", "--token", "1"},
      {"lock", "release", "a", "--session", "1"},
      {"lock", "check", "a"},
      {"lock", "get"},
      {"lock", "break", "a"},
      {"lock", "move", "a"},
      {"lock", "run", "a"},
      {"lock", "run", "--", "true"},
      {"elect", "resign", "a", "--epoch", "1"},
      {"elect", "transfer", "a"},
      {"elect", "transfer", "a", "--to", "b", "--epoch", "1"},
      {"session", "close"},
      {"lease", "revoke"},
      {"shard", "show"},
      {"watch"},
      {"watch", "--prefix", "b", "--wait-for", "free"},
      {"ledger", "get", "0"},
      {"ledger", "prune", "--shard", "1"},
      {"snapshot", "save"},
      {"snapshot", "restore", "file"},
      {"quorum", "eval"},
      {"completion"},
  };
  for (const std::vector<std::string>& words : lacking) {
    std::string line;
    for (const std::string& word : words) {
      line += word + " ";
    }
    EXPECT_EQ(ctl.json(words, 2)["error"]["code"], "GC1002") << line;
  }
}

TEST(GcoordctlAloneTest, OptionsAreReadFromTheEnvironmentUnlessTheyAreGiven) {
  const auto printed = [](const std::vector<std::string>& arguments) {
    ChildOptions options = program("gcoordctl", arguments);
    options.environment.emplace_back("GCOORD_OUTPUT", "json");
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    return child.value().read_all(kPatience);
  };
  EXPECT_TRUE(nlohmann::json::accept(printed({"version"})));
  EXPECT_FALSE(nlohmann::json::accept(printed({"version", "-o", "table"})));
  EXPECT_TRUE(nlohmann::json::accept(printed({"no-such-verb"}))) << "errors too";
}

TEST(GcoordctlAloneTest, VersionAndHelpAreAnswers) {
  EXPECT_EQ(run("gcoordctl", {"version"}).code, 0);
  const Finished help = run("gcoordctl", {"lock", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("acquire"));
}

}  // namespace
}  // namespace gcoord::cli
