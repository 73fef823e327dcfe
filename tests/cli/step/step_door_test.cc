#include "cli/step/shell.h"
#include "consensus/step/stepper.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using Json = nlohmann::ordered_json;

Json ask(StepShell& door, const std::string& request) {
  return Json::parse(door.answer(request));
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// The page with every answer of its session as the door gives it now.
std::vector<std::string> replay(const std::vector<std::string>& page) {
  StepShell door(consensus::make_cpu_stepper);
  std::vector<std::string> replayed;
  bool session = false;
  for (const std::string& line : page) {
    const bool request = session && line.rfind("> ", 0) == 0;
    const bool fence = line.rfind("```", 0) == 0;
    session = fence ? line == "```gcoord-step" : session;
    if (!session || request || fence) {
      replayed.push_back(line);
    }
    if (request) {
      replayed.push_back(door.answer(line.substr(2)));
    }
  }
  return replayed;
}

TEST(StepShell, AnswersAsTheDocumentedSessionSays) {
  const std::string path = in_sources("docs/reference/machine_interfaces.md");
  const std::vector<std::string> written = read_lines(path);
  const std::vector<std::string> happened = replay(written);
  if (std::getenv("GCOORD_REWRITE") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : happened) {
      file << line << '\n';
    }
    return;
  }
  EXPECT_EQ(written, happened);
}

TEST(StepShell, WritesNumbersOf64BitsAsStringsAndReadsThemEitherWay) {
  StepShell door(consensus::make_cpu_stepper);
  EXPECT_TRUE(ask(door, R"({"op": "create", "nodes": "3", "seed": "18446744073709551615"})")["ok"]);
  EXPECT_TRUE(ask(door, R"({"op": "tick", "count": 30})")["ok"]);
  const Json node = ask(door, R"({"op": "dump", "node": 1})")["nodes"][0];
  EXPECT_TRUE(node["tick"].is_string());
  EXPECT_TRUE(node["shards"][0]["term"].is_string());
  EXPECT_TRUE(node["node"].is_number());
}

TEST(StepShell, HoldsEveryMessageAndEveryWriteOfAManualCluster) {
  StepShell door(consensus::make_cpu_stepper);
  ask(door, R"({"op": "create", "nodes": 3, "manual": true})");
  ask(door, R"({"op": "campaign", "node": 1})");
  EXPECT_EQ(ask(door, R"({"op": "held"})")["messages"].size(), 2u);
  ask(door, R"({"op": "deliver", "from": 1, "to": 2})");
  ask(door, R"({"op": "deliver", "from": 2, "to": 1})");
  EXPECT_EQ(ask(door, R"({"op": "dump", "node": 1})")["nodes"][0]["shards"][0]["role"],
            "candidate");
  EXPECT_TRUE(ask(door, R"({"op": "ack_storage", "node": 1})")["acknowledged"]);
  ask(door, R"({"op": "deliver", "from": 1, "to": 2})");
  EXPECT_EQ(ask(door, R"({"op": "deliver", "from": 2, "to": 1})")["delivered"], 0);
  EXPECT_TRUE(ask(door, R"({"op": "ack_storage", "node": 2})")["acknowledged"]);
  const Json elected = ask(door, R"({"op": "deliver", "from": 2, "to": 1})");
  EXPECT_EQ(elected["events"][0]["cause"], "elected");
}

TEST(StepShell, SaysWhichMemberIsWrong) {
  StepShell door(consensus::make_cpu_stepper);
  EXPECT_EQ(ask(door, R"({"op": "tick"})")["code"], "GC1002");
  ask(door, R"({"op": "create"})");
  EXPECT_EQ(ask(door, R"({"op": "no such"})")["code"], "GC1006");
  EXPECT_EQ(ask(door, R"({"op": "propose", "node": 1})")["code"], "GC1002");
  EXPECT_EQ(ask(door, R"({"op": "campaign", "node": 4})")["code"], "GC1001");
  EXPECT_EQ(ask(door, R"({"op": "cut", "from": 1, "to": 1})")["code"], "GC1001");
  EXPECT_EQ(ask(door, R"({"op": "configure", "node": 1, "voters": []})")["code"], "GC1001");
  EXPECT_EQ(ask(door, "[]")["code"], "GC1001");
  EXPECT_EQ(ask(door, std::string(2 << 20, ' '))["code"], "GC1001");
}

TEST(StepShell, RefusesToLeaveWhatIsNotJoint) {
  StepShell door(consensus::make_cpu_stepper);
  ask(door, R"({"op": "create"})");
  ask(door, R"({"op": "campaign", "node": 1})");
  ask(door, R"({"op": "tick", "count": 3})");
  EXPECT_EQ(ask(door, R"({"op": "leave", "node": 1})")["code"], "GC1001");
  ask(door, R"({"op": "configure", "node": 1, "change": "joint-until-leave", "voters": [1, 2]})");
  ask(door, R"({"op": "tick", "count": 3})");
  EXPECT_EQ(ask(door, R"({"op": "leave", "node": 1})")["ok"], true);
}

// A request made of plausible names and values, most of them wrong for each other.
Json any_request() {
  static const std::vector<std::string> ops = {
      "create",   "tick",       "campaign", "propose",     "configure",       "leave",
      "transfer", "read_index", "lease",    "hold",        "release",         "deliver",
      "drop",     "held",       "cut",      "heal",        "partition",       "mute",
      "credit",   "inject",     "storage",  "ack_storage", "application",     "ack_apply",
      "stop",     "start",      "restart",  "pause",       "resume",          "rate",
      "compact",  "snapshot",   "dump",     "digest",      "install_snapshot"};
  const auto number =
      rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 5), rc::gen::arbitrary<std::uint64_t>());
  Json request = {{"op", *rc::gen::elementOf(ops)}};
  for (const char* name :
       {"node", "from", "to", "shard", "index", "term", "count", "credit", "nodes"}) {
    if (*rc::gen::inRange(0, 2) == 1) {
      request[name] =
          std::string(name) == "nodes" ? *rc::gen::inRange<std::uint64_t>(0, 6) : *number;
    }
  }
  if (request["op"] == "tick") {
    request["count"] = *rc::gen::inRange(0, 30);
  }
  if (request["op"] == "inject" || *rc::gen::inRange(0, 4) == 0) {
    request["kind_number"] = *rc::gen::inRange(0, 14);
    request["flags"] = *rc::gen::inRange(0, 16);
    request["count"] = *rc::gen::inRange(0, 4);
    request["log_term"] = *number;
    request["entry_term"] = *number;
    request["commit"] = *number;
    request["context"] = *number;
  }
  request["commands"] = {"a"};
  request["voters"] = {*rc::gen::inRange(0, 4), *rc::gen::inRange(1, 4)};
  request["sides"] = {{1}, {*rc::gen::inRange(0, 5)}};
  return request;
}

RC_GTEST_PROP(StepShell, AnswersWhateverItIsAsked, ()) {
  StepShell door(consensus::make_cpu_stepper);
  door.answer(R"({"op": "create", "nodes": 3, "shards": 2})");
  const int requests = *rc::gen::inRange(1, 40);
  for (int k = 0; k < requests; ++k) {
    const Json answer = Json::parse(door.answer(any_request().dump()));
    RC_ASSERT(answer.contains("ok"));
    RC_ASSERT(answer["ok"].get<bool>() || answer.contains("code"));
  }
}

RC_GTEST_PROP(StepShell, AnswersBytesThatAreNoJson, (const std::string& line)) {
  StepShell door(consensus::make_cpu_stepper);
  RC_ASSERT(Json::parse(door.answer(line)).contains("ok"));
}

RC_GTEST_PROP(StepShell, GivesEqualAnswersToEqualRequests, ()) {
  StepShell first(consensus::make_cpu_stepper);
  StepShell second(consensus::make_cpu_stepper);
  const int requests = *rc::gen::inRange(1, 30);
  first.answer(R"({"op": "create"})");
  second.answer(R"({"op": "create"})");
  for (int k = 0; k < requests; ++k) {
    const std::string request = any_request().dump();
    RC_ASSERT(first.answer(request) == second.answer(request));
  }
  RC_ASSERT(first.answer(R"({"op": "digest"})") == second.answer(R"({"op": "digest"})"));
}

}  // namespace
}  // namespace gcoord::cli
