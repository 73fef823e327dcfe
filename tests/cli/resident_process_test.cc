// gcoordd --turn resident as processes, by the twin of the device: three nodes in shared memory,
// real clients, a node killed, a node stopped and resumed, and what is refused.
#include "gcoord/client.h"
#include "tests/cli/resident_cluster.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <set>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

// But for sockets, which a node that is killed may leave.
void copy_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::create_directory(to, from);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from)) {
    const std::filesystem::path target = to / std::filesystem::relative(entry.path(), from);
    if (entry.is_directory()) {
      std::filesystem::create_directory(target, entry.path());
    } else if (entry.is_regular_file()) {
      std::filesystem::copy_file(entry.path(), target);
    }
  }
}

TEST_F(ResidentProcessTest, ServesLocksAndSaysWhatItRunsOn) {
  const auto grant = acquire("a");
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  const std::string name(1024, 'n');
  acquire(name);
  EXPECT_EQ(ctl_->json({"lock", "get", name})["name"], name);
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), 2u);
  const auto busy = (*ctl_)({"-o", "json", "lock", "acquire", "a", "--try", "--ttl", "60s"});
  EXPECT_EQ(busy.code, 6);
  const auto status = ctl_->json({"status"});
  std::uint32_t led = 0;
  for (const auto& node : status["nodes"]) {
    EXPECT_EQ(node["turn"], "resident");
    EXPECT_EQ(node["stepper"], "cpu");
    EXPECT_THAT(std::string(node["stepper_reason"]), HasSubstr("twin"));
    for (const auto& peer : node["peers"]) {
      EXPECT_THAT(std::string(peer["device_link"]), HasSubstr("shared memory"));
    }
    led += node["leaders"].get<std::uint32_t>();
  }
  EXPECT_EQ(led, kShards);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentProcessTest, L6L7L8L20HoldsBeyondThePlainAreServed) {
  const std::vector<std::string> read = {
      "--timeout", "30s", "lock", "acquire", "a", "--shared", "--try", "--ttl", "60s"};
  const auto one = ctl_->json(read);
  const auto two = ctl_->json(read);
  EXPECT_NE(one["token"], two["token"]);
  EXPECT_EQ(ctl_->json({"lock", "get", "a"})["holders"].size(), 2u);
  EXPECT_EQ(ctl_->json({"lock", "acquire", "a", "--try"}, 6)["error"]["code"], "GC6001");

  std::vector<std::string> permit = {
      "--timeout", "30s", "lock", "acquire", "gpu", "--permits-max", "2", "--try", "--ttl", "60s"};
  ctl_->json(permit);
  ctl_->json(permit);
  EXPECT_EQ(ctl_->json(permit, 6)["error"]["code"], "GC6001");

  const auto grant = acquire("again");
  const auto held = ctl_->json(
      {"lock", "acquire", "again", "--session", grant["session"], "--holds", "2", "--ttl", "60s"});
  EXPECT_EQ(held["token"], grant["token"]);
  EXPECT_EQ(held["held_again"], true);

  const std::string note(512, 'o');
  ctl_->json({"--timeout", "30s", "lock", "acquire", "noted", "--note", note, "--ttl", "60s"});
  EXPECT_EQ(ctl_->json({"lock", "get", "noted"})["note"], note);
  const std::string name(521, 'n');
  EXPECT_EQ(ctl_->json({"lock", "acquire", name, "--note", note}, 2)["error"]["code"], "GC6023");
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentProcessTest, E2E6ALeaderProclaimsAndHandsOver) {
  const auto office =
      ctl_->json({"--timeout", "30s", "elect", "campaign", "chief", "--once", "--ttl", "60s"});
  const auto said = ctl_->json({"elect",
                                "proclaim",
                                "chief",
                                "10.0.0.7:80",
                                "--epoch",
                                office["epoch"],
                                "--session",
                                office["session"]});
  EXPECT_EQ(said["value"], "10.0.0.7:80");
  EXPECT_EQ(ctl_->json({"elect", "leader", "chief"})["value"], "10.0.0.7:80");
  ChildProcess next = ctl_->start(
      {"-o", "json", "elect", "campaign", "chief", "--value", "eu-2", "--priority", "7"});
  wait_for([this] {
    return ctl_->json({"elect", "candidates", "chief"})["candidates"].size() == 1;
  });
  const auto line = ctl_->json({"elect", "candidates", "chief"});
  EXPECT_EQ(line["candidates"][0]["priority"], 7);
  const auto given = ctl_->json({"elect",
                                 "transfer",
                                 "chief",
                                 "--to",
                                 "eu-2",
                                 "--epoch",
                                 office["epoch"],
                                 "--session",
                                 office["session"]});
  EXPECT_EQ(given["value"], "eu-2");
  EXPECT_EQ(ctl_->json({"elect", "leader", "chief"})["epoch"], given["epoch"]);
}

TEST_F(ResidentProcessTest, L14L15ALockIsBrokenAndAnotherStaysForItsDelay) {
  const auto held = acquire("a");
  const auto broken = ctl_->json({"lock", "break", "a", "--reason", "it hangs", "--as", "ann@ops"});
  EXPECT_EQ(broken["token"], held["token"]);
  EXPECT_EQ(broken["by"], "ann@ops");
  const auto check = ctl_->json({"lock", "check", "a", "--token", held["token"]}, 1)["error"];
  EXPECT_EQ(check["code"], "GC6030");
  ctl_->json({"--timeout", "30s", "lock", "acquire", "b", "--ttl", "1s", "--lock-delay", "60s"});
  std::string code;
  wait_for([&] {  // Busy while the session lives.
    code = (*ctl_)({"-o", "json", "lock", "acquire", "b", "--try"}).error_code();
    return code != "GC6001";
  });
  EXPECT_EQ(code, "GC6031");
  ctl_->json({"lock", "break", "b", "--reason", "it is well"});
  const std::string name(700, 'n');
  const auto alone = acquire(name);
  EXPECT_EQ(ctl_->json({"lock", "break", name, "--reason", "so long"})["token"], alone["token"]);
  ctl_->json({"lock", "acquire", "b", "--try"});
  ctl_->json({"--timeout", "30s", "lock", "acquire", "c", "--ttl", "1s", "--lock-delay", "1s"});
  ctl_->json({"--timeout", "60s", "lock", "acquire", "c", "--wait", "50s"});
}

// Live and once more, from what the node keeps of it.
TEST_F(ResidentProcessTest, W2WhatWasHeldBeforeAnEventIsTold) {
  client::ClientOptions options;
  options.endpoints = cluster_->endpoints();
  options.request_timeout = kPatience;
  auto client = client::Client::connect(std::move(options));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  auto live = client.value().watch({.name = "a", .previous = true});
  ASSERT_TRUE(live.ok()) << live.status().to_string();
  auto session = client.value().open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto lock = session.value().acquire("a");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  ASSERT_TRUE(lock.value().release().ok());
  const auto expect_told = [&](client::Watch& watch) {
    const auto granted = watch.next(kPatience).value();
    const auto released = watch.next(kPatience).value();
    ASSERT_TRUE(granted && released);
    EXPECT_EQ(granted->events[0].previous.kind, client::PreviousKind::Nothing);
    const client::PreviousHold& before = released->events[0].previous;
    EXPECT_EQ(before.kind, client::PreviousKind::Hold);
    EXPECT_EQ(before.token, granted->events[0].token);
    EXPECT_EQ(before.session_id, session.value().id());
    EXPECT_TRUE(before.value.empty());
  };
  const std::uint64_t begun = live.value().revisions().at(0).revision;
  expect_told(live.value());
  auto again = client.value().watch({.name = "a", .previous = true, .from_revision = begun + 1});
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  expect_told(again.value());
}

// The first of them is neither the least nor the greatest.
class ResidentIdsTest : public ResidentProcessTest {
 protected:
  ResidentIdsTest(const std::string& durability = "memory")
      : ResidentProcessTest({.durability = durability, .ids = {500, 7, 65'535}}) {}
};

TEST_F(ResidentIdsTest, NodesOfAnyThreeIdsServeAndAreCalledByThem) {
  wait_until_whole();
  std::set<std::uint32_t> nodes;
  const auto status = ctl_->json({"status"});
  for (const auto& node : status["nodes"]) {
    nodes.insert(node["node"].get<std::uint32_t>());
    for (const auto& peer : node["peers"]) {
      EXPECT_THAT(std::string(peer["device_link"]), HasSubstr("shared memory"));
    }
  }
  EXPECT_EQ(nodes, (std::set<std::uint32_t>{7, 500, 65'535}));
  kill_each_in_turn();
}

class ResidentDurableIdsTest : public ResidentIdsTest {
 protected:
  ResidentDurableIdsTest() : ResidentIdsTest("durable") {}
};

TEST_F(ResidentDurableIdsTest, AllAreKilledAndComeBackAndLeadershipIsHandedOver) {
  const auto grant = acquire("a");
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    restart(node);
  }
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  // Who should lead a shard gets it back, so every node leads some.
  wait_for([this] {
    const auto status = ctl_->json({"status"});
    std::uint32_t leading = 0;
    for (const auto& node : status["nodes"]) {
      leading += node.value("leaders", 0u) != 0 ? 1 : 0;
    }
    return leading == 3;
  });
}

class ResidentStripesTest : public ResidentProcessTest {
 protected:
  ResidentStripesTest() : ResidentProcessTest({.stripes = "5"}) {}
};

TEST_F(ResidentStripesTest, ShardsAreDividedAmongAsManyAsWereAskedFor) {
  for (std::uint32_t k = 0; k < 16; ++k) {
    const std::string name = "name/" + std::to_string(k);
    EXPECT_EQ(verdict(name, acquire(name))["verdict"], "VALID");
  }
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), 16u);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentProcessTest, ASessionThatIsNotKeptAliveLosesItsLocks) {
  const auto first = acquire("a", "1s");
  const auto second =
      ctl_->json({"--timeout", "30s", "lock", "acquire", "a", "--ttl", "60s", "--wait", "30s"});
  EXPECT_GT(std::stoull(std::string(second["token"])), std::stoull(std::string(first["token"])));
  EXPECT_EQ(verdict("a", first, 1)["verdict"], "STALE");
}

TEST_F(ResidentProcessTest, ANodeThatWasKilledIsTakenBackAndCounts) {
  kill_each_in_turn();
}

// Who remembers is not enough, and who is enough does not remember.
TEST_F(ResidentProcessTest, AMajorityThatForgotIsSilentAndSaysSo) {
  acquire("before");
  cluster_->kill(1);
  cluster_->kill(2);
  ASSERT_TRUE(cluster_->spawn(1).ok());
  ASSERT_TRUE(cluster_->spawn(2).ok());
  const auto refused =
      (*ctl_)({"--timeout", "3s", "-o", "json", "lock", "acquire", "a", "--try", "--ttl", "60s"});
  EXPECT_NE(refused.code, 0);
  wait_for([this] { return file_text(cluster_->log_file(3)).find("GC5008") != std::string::npos; });
}

TEST_F(ResidentProcessTest, ANodeThatWasStoppedAndResumedServesAgain) {
  stop_and_resume();
}

// Nobody could miss a node within the test's patience.
class ResidentHandOverTest : public ResidentProcessTest {
 protected:
  ResidentHandOverTest() : ResidentProcessTest({.election_ms = "60000"}) {}
};

TEST_F(ResidentHandOverTest, ANodeThatStopsHandsItsShardsOver) {
  const auto grant = acquire("a");
  ::kill(cluster_->pid(3), SIGTERM);
  EXPECT_EQ(cluster_->wait_exit(3, kPatience), 0);
  wait_for(
      [this] {
        const auto status = (*ctl_)({"-o", "json", "status"}).json();  // 3: not all of them answer.
        std::uint32_t led = 0;
        for (const auto& node : status["nodes"]) {
          led += node.value("leaders", 0u);
        }
        return led == kShards;
      },
      kPatience / 2);
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
}

class ResidentDurableTest : public ResidentProcessTest {
 protected:
  ResidentDurableTest() : ResidentProcessTest({.durability = "durable"}) {}

  // More entries of one shard than a log page keeps: whoever lost them needs a snapshot.
  void keep_busy(const std::string& name) {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.request_timeout = kPatience;
    auto client = client::Client::connect(std::move(options));
    ASSERT_TRUE(client.ok()) << client.status().to_string();
    auto session = client.value().open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    for (int k = 0; k < 100; ++k) {
      auto lock = session.value().acquire(name);
      ASSERT_TRUE(lock.ok()) << lock.status().to_string();
      ASSERT_TRUE(lock.value().release().ok());
    }
  }
};

// Each in turn, and each time the two that are left need what the last one brought back.
TEST_F(ResidentDurableTest, EveryNodeIsKilledInTurnAndNothingAcknowledgedIsLost) {
  std::vector<nlohmann::json> grants;
  for (std::uint32_t node = 1; node <= 3; ++node) {
    for (int i = 0; i < 4; ++i) {
      grants.push_back(acquire("lock" + std::to_string(grants.size())));
    }
    cluster_->kill(node);
    for (std::size_t i = 0; i < grants.size(); ++i) {
      EXPECT_EQ(verdict("lock" + std::to_string(i), grants[i])["verdict"], "VALID") << node;
    }
    restart(node);
    acquire("after" + std::to_string(node));
    EXPECT_EQ((*ctl_)({"-o", "json", "lock", "acquire", "lock0", "--try", "--ttl", "60s"}).code, 6);
  }
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), grants.size() + 3);
}

TEST_F(ResidentDurableTest, AllNodesAreKilledAtOnceAndNothingAcknowledgedIsLost) {
  const std::string name(1024, 'n');
  std::vector<nlohmann::json> grants = {acquire(name)};
  for (int i = 1; i < 12; ++i) {
    grants.push_back(acquire("lock" + std::to_string(i)));
  }
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t node = 1; node <= 3; ++node) {
      cluster_->kill(node);
    }
    for (std::uint32_t node = 1; node <= 3; ++node) {
      restart(node);
    }
    EXPECT_EQ(verdict(name, grants[0])["verdict"], "VALID");
    for (int i = 1; i < 12; ++i) {
      EXPECT_EQ(verdict("lock" + std::to_string(i), grants[i])["verdict"], "VALID") << i;
    }
  }
  const auto next = acquire("another");
  EXPECT_FALSE(std::string(next["token"]).empty());
}

// Whoever has lost its directory is no vote until it was taken back; then it is one of two that
// decide. A node is never let in again without the operator's word.
TEST_F(ResidentDurableTest, ANodeThatLostItsDirectoryIsRefusedAndRejoinsAndCounts) {
  std::vector<nlohmann::json> grants;
  for (std::uint32_t node = 3; node >= 2; --node) {
    for (int i = 0; i < 4; ++i) {
      grants.push_back(acquire("lock" + std::to_string(grants.size()), "1h"));
    }
    keep_busy("busy" + std::to_string(node));
    cluster_->kill(node);
    std::filesystem::remove_all(cluster_->data_directory(node));
    acquire("without" + std::to_string(node));
    ASSERT_TRUE(cluster_->spawn(node).ok());
    EXPECT_NE(cluster_->wait_exit(node, kPatience).value_or(0), 0);
    EXPECT_THAT(file_text(cluster_->log_file(node)), HasSubstr("GC3008"));
    cluster_->lose_memory(node);
    restart(node);
    wait_until_rejoined(node);
    cluster_->end_rejoin(node);
    const std::uint32_t other = node % 3 + 1;
    cluster_->kill(other);
    for (std::size_t i = 0; i < grants.size(); ++i) {
      EXPECT_EQ(verdict("lock" + std::to_string(i), grants[i])["verdict"], "VALID") << node;
    }
    acquire("after" + std::to_string(node));
    restart(other);
    wait_until_whole();
  }
  const auto status = ctl_->json({"status"});
  for (const auto& node : status["nodes"]) {
    EXPECT_EQ(node["memory"]["rejoining"], false);
  }
}

// Two directories that know nothing are a majority of three, and the third, which is down,
// remembers what they had: so a new cluster waits for all of its nodes once (docs/adr/0012).
TEST_F(ResidentDurableTest, TwoEmptyDirectoriesDoNotBeginBesideANodeThatRemembers) {
  const auto grant = acquire("a");
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
  }
  for (std::uint32_t node = 2; node <= 3; ++node) {
    std::filesystem::remove_all(cluster_->data_directory(node));
    ASSERT_TRUE(cluster_->spawn(node).ok());
    ASSERT_TRUE(cluster_->wait_serving(node, kPatience).ok());
  }
  EXPECT_NE((*ctl_)({"--timeout", "2s", "lock", "acquire", "a", "--try", "--ttl", "60s"}).code, 0);
  ASSERT_TRUE(cluster_->spawn(1).ok());
  // One unproven word ends no node, and they stay as they are.
  for (std::uint32_t node = 2; node <= 3; ++node) {
    wait_for([this, node] {
      return file_text(cluster_->log_file(node)).find("node 1 refuses this node") !=
             std::string::npos;
    });
  }
  EXPECT_NE((*ctl_)({"--timeout", "2s", "lock", "acquire", "a", "--try", "--ttl", "60s"}).code, 0);
  EXPECT_TRUE(cluster_->running(1));
}

// An old copy of a directory is taken for what it is, and keeps its log.
TEST_F(ResidentDurableTest, AnOldCopyOfADirectoryRejoins) {
  const auto before = acquire("before", "1h");
  cluster_->kill(2);
  const auto copy = directory_.path() / "copy";
  copy_files(cluster_->data_directory(2), copy);
  restart(2);
  const auto since = acquire("since", "1h");
  wait_until_heard(2, 2);
  cluster_->kill(2);
  std::filesystem::remove_all(cluster_->data_directory(2));
  std::filesystem::rename(copy, cluster_->data_directory(2));
  cluster_->lose_memory(2);
  restart(2);
  wait_until_rejoined(2);
  cluster_->kill(1);
  EXPECT_EQ(verdict("before", before)["verdict"], "VALID");
  EXPECT_EQ(verdict("since", since)["verdict"], "VALID");
}

TEST_F(ResidentProcessTest, InMemoryModeALostDirectoryRejoinsToo) {
  const auto grant = acquire("a", "1h");
  cluster_->kill(3);
  std::filesystem::remove_all(cluster_->data_directory(3));
  cluster_->lose_memory(3);
  restart(3);
  wait_until_rejoined(3);
  wait_until_whole();
  cluster_->kill(1);
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
}

TEST_F(ResidentDurableTest, L7L20SharesAndNotesOutliveAllNodes) {
  const std::vector<std::string> read = {
      "--timeout", "30s", "lock", "acquire", "a", "--shared", "--try", "--ttl", "60s"};
  const auto one = ctl_->json(read);
  const std::string note(512, 'o');
  ctl_->json({"--timeout", "30s", "lock", "acquire", "noted", "--note", note, "--ttl", "60s"});
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    restart(node);
  }
  EXPECT_EQ(verdict("a", one)["verdict"], "VALID");
  EXPECT_NE(ctl_->json(read)["token"], one["token"]);
  EXPECT_EQ(ctl_->json({"--timeout", "30s", "lock", "get", "noted"})["note"], note);
}

TEST(ResidentRefusals, WhatTheResidentTurnDoesNotServeIsSaid) {
  const ScratchFolder directory;
  const std::string data_dir = (directory.path() / "data").string();
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--turn",
                                          "resident",
                                          "--listen-client",
                                          "127.0.0.1:0",
                                          "--listen-peer",
                                          "127.0.0.1:17999",
                                          "--listen-metrics",
                                          "off",
                                          "--data-dir",
                                          data_dir};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished finished = run("gcoordd", arguments);
    EXPECT_EQ(finished.code, 2);
    return finished.err;
  };
  EXPECT_THAT(refused({"--durability", "memory"}), HasSubstr("3, 5 or 7 nodes"));
  EXPECT_THAT(run("gcoordd", {"dev", "--turn", "graph"}).err,
              HasSubstr("neither host nor resident"));
}

}  // namespace
}  // namespace gcoord::cli
