// gcoordctl watch and gcoordctl elect observe against one node: lines, exit codes, signals.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <optional>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class WatchVerbNodesTest : public testing::Test {
 protected:
  explicit WatchVerbNodesTest(const std::string& turn = "host") : node_(turn) {}

  nlohmann::json acquire(const std::string& name, const std::string& note = {}) const {
    return ctl_.json({"lock", "acquire", name, "--ttl", "60s", "--try", "--note", note});
  }

  void release(const std::string& name, const nlohmann::json& grant) const {
    ctl_.json({"lock",
               "release",
               name,
               "--session",
               grant["session"].get<std::string>(),
               "--token",
               grant["token"].get<std::string>()});
  }

  static nlohmann::json next_line(ChildProcess& child) {
    return nlohmann::json::parse(child.read_line(kPatience).value_or(""), nullptr, false);
  }

  TurnNodes node_;
  Ctl ctl_ = node_.ctl();
};

class WatchVerbTest : public AtBothTurns<WatchVerbNodesTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, WatchVerbTest, both_turns(), turn_name);

TEST_F(WatchVerbNodesTest, W2AWatchFromThePastPrintsALinePerEventAndEndsAtItsCount) {
  const auto grant = acquire("jobs/train");
  release("jobs/train", grant);
  ChildProcess child =
      ctl_.start({"-o", "json", "watch", "jobs/train", "--from", "1", "--count", "2"});
  const auto granted = next_line(child);
  EXPECT_EQ(granted["event"], "granted");
  EXPECT_EQ(granted["name"], "jobs/train");
  EXPECT_EQ(granted["token"], grant["token"]);
  EXPECT_EQ(granted["session"], grant["session"]);
  EXPECT_TRUE(granted["revision"].is_string());
  const auto released = next_line(child);
  EXPECT_EQ(released["event"], "released");
  EXPECT_GT(std::stoull(released["revision"].get<std::string>()),
            std::stoull(granted["revision"].get<std::string>()));
  EXPECT_EQ(child.wait_for(kPatience), 0);
  const Finished text = ctl_({"watch", "jobs/train", "--from", "1", "--count", "1"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("granted jobs/train token="));
}

TEST_F(WatchVerbNodesTest, W2WhatWasHeldBeforeIsPrintedToWhoAsks) {
  const auto first = acquire("a", "it's \"mine\"");
  release("a", first);
  ChildProcess child =
      ctl_.start({"-o", "json", "watch", "a", "--from", "1", "--previous", "--count", "2"});
  const auto granted = next_line(child);
  EXPECT_EQ(granted["previous"], "nothing");
  EXPECT_FALSE(granted.contains("previous_token"));
  const auto released = next_line(child);
  EXPECT_EQ(released["previous"], "hold");
  EXPECT_EQ(released["previous_token"], first["token"]);
  EXPECT_EQ(released["previous_session"], first["session"]);
  EXPECT_EQ(released["previous_value"], "it's \"mine\"");
  EXPECT_EQ(child.wait_for(kPatience), 0);
  const Finished text = ctl_({"watch", "a", "--from", "1", "--previous", "--count", "2"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr(" previous=nothing\n"));
  EXPECT_THAT(text.out, HasSubstr(" previous=hold previous_token="));
  EXPECT_THAT(text.out, HasSubstr(" previous_value=\"it's \\\"mine\\\"\"\n"));
  const Finished without = ctl_({"watch", "a", "--from", "1", "--count", "2"});
  EXPECT_THAT(without.out, testing::Not(HasSubstr("previous")));
}

TEST_F(WatchVerbNodesTest, W2OnlyEventsOfTheKindsThatAreNamedArePrinted) {
  const auto first = acquire("a");
  release("a", first);
  const auto second = acquire("a");
  release("a", second);
  ChildProcess child = ctl_.start(
      {"-o", "json", "watch", "a", "--from", "1", "--events", "released,expired", "--count", "2"});
  for (const auto& grant : {first, second}) {
    const auto line = next_line(child);
    EXPECT_EQ(line["event"], "released");
    EXPECT_EQ(line["token"], grant["token"]);
  }
  EXPECT_EQ(child.wait_for(kPatience), 0);
  ChildProcess change = ctl_.start({"-o",
                                    "json",
                                    "--timeout",
                                    "60s",
                                    "watch",
                                    "a",
                                    "--from",
                                    "1",
                                    "--wait-for",
                                    "change",
                                    "--events",
                                    "released"});
  EXPECT_EQ(next_line(change)["token"], first["token"]);
  EXPECT_EQ(change.wait_for(kPatience), 0);
  for (const char* wrong : {"taken", "released,", ",", "Released"}) {
    EXPECT_EQ(ctl_.json({"watch", "a", "--events", wrong}, 2)["error"]["code"], "GC1001") << wrong;
  }
  EXPECT_EQ(
      ctl_.json({"watch", "a", "--events", "released", "--wait-for", "free"}, 2)["error"]["code"],
      "GC1001");
}

TEST_F(WatchVerbNodesTest, W3AWatchGoesOnUntilASignalAndMissesNothing) {
  const auto first = acquire("a/1");
  ChildProcess child = ctl_.start({"-o",
                                   "json",
                                   "watch",
                                   "--session",
                                   first["session"].get<std::string>(),
                                   "--from",
                                   "0:1,1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1,10:1,11:1,12:1,13:1,"
                                   "14:1,15:1"});
  EXPECT_EQ(next_line(child)["event"], "granted");
  acquire("other");  // Of another session, and so not told.
  release("a/1", first);
  EXPECT_EQ(next_line(child)["event"], "released");
  child.signal(SIGINT);
  EXPECT_EQ(child.wait_for(kPatience), 0);
  EXPECT_EQ(child.read_all(kPatience), "");
}

TEST_P(WatchVerbTest, W3AWatchEndsAtItsCountOrGoesOnUntilASignal) {
  ChildProcess counted = ctl_.start({"-o", "json", "watch", "--prefix", "a/", "--count", "2"});
  ChildProcess endless = ctl_.start({"-o", "json", "watch", "--prefix", "a/"});
  for (ChildProcess* const child : {&counted, &endless}) {
    std::optional<std::string> line;
    for (int k = 0; k < 100 && !line.has_value(); ++k) {  // Until the watch has begun.
      release("a/1", acquire("a/1"));
      line = child->read_line(std::chrono::milliseconds{200});
    }
    ASSERT_TRUE(line.has_value());
  }
  EXPECT_TRUE(next_line(counted).is_object());
  EXPECT_EQ(counted.wait_for(kPatience), 0);
  EXPECT_EQ(counted.read_all(kPatience), "");
  endless.signal(SIGINT);
  EXPECT_EQ(endless.wait_for(kPatience), 0);
}

TEST_P(WatchVerbTest, W6AQuestionWaitsForItsAnswer) {
  const auto grant = acquire("a");
  EXPECT_EQ(ctl_.json({"watch", "a", "--wait-for", "held"})["token"], grant["token"]);
  EXPECT_EQ(
      ctl_.json({"--timeout", "300ms", "watch", "a", "--wait-for", "free"}, 1)["error"]["code"],
      "GC6208");
  ChildProcess child =
      ctl_.start({"-o", "json", "--timeout", "60s", "watch", "a", "--wait-for", "free"});
  release("a", grant);
  EXPECT_EQ(next_line(child)["held"], false);
  EXPECT_EQ(child.wait_for(kPatience), 0);
  EXPECT_EQ(ctl_.json({"watch", "a", "--wait-for", "free"})["held"], false);
}

TEST_F(WatchVerbNodesTest, WhatIsWatchedMustBeNamedOnce) {
  EXPECT_EQ(ctl_.json({"watch"}, 2)["error"]["code"], "GC1002");
  EXPECT_EQ(ctl_.json({"watch", "a", "--prefix", "b"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl_.json({"watch", "--prefix", "b", "--wait-for", "free"}, 2)["error"]["code"],
            "GC1002");
  EXPECT_EQ(ctl_.json({"watch", "a", "--from", "yesterday"}, 2)["error"]["code"], "GC1001");
  EXPECT_EQ(ctl_.json({"watch", "--session", "1", "--from", "99999999:1"}, 2)["error"]["code"],
            "GC6204");
}

TEST_P(WatchVerbTest, E4ObserveTellsThePresentLeaderAndEachThatFollows) {
  const auto office = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  ChildProcess child = ctl_.start({"-o", "json", "elect", "observe", "chief", "--count", "2"});
  const auto present = next_line(child);
  EXPECT_EQ(present["epoch"], office["epoch"]);
  EXPECT_EQ(present["session"], office["session"]);
  ctl_.json({"elect",
             "resign",
             "chief",
             "--epoch",
             office["epoch"].get<std::string>(),
             "--session",
             office["session"].get<std::string>()});
  const auto second = ctl_.json({"elect", "campaign", "chief", "--once", "--ttl", "60s"});
  EXPECT_EQ(next_line(child)["epoch"], second["epoch"]);
  EXPECT_EQ(child.wait_for(kPatience), 0);
}

}  // namespace
}  // namespace gcoord::cli
