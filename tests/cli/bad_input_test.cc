// Bad input to the lock verbs of gcoordctl: each mistake has a number of its own.
// tests/server/lock_service/bad_input_test.cc is the node's part; a number that was used before is
// the library's to avoid, and has no verb.
#include "tests/bad_requests.h"
#include "tests/cli/programs.h"

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

// An acquire opens its own session.
std::vector<std::string> words_of(const BadRequest& bad, const std::string& session) {
  const std::string token = std::to_string(bad.token);
  switch (bad.verb) {
    case BadVerb::Acquire:
      return {"acquire", bad.name};
    case BadVerb::Release:
      return {"release", bad.name, "--token", token, "--session", session};
    case BadVerb::Check:
      return {"check", bad.name, "--token", token};
    case BadVerb::Open:
      return {"acquire", "c", "--ttl", std::to_string(bad.ttl_ms) + "ms"};
  }
  return {};
}

TEST(BadInput, EachMistakeOnTheCommandLineHasItsNumber) {
  DevNode node;
  const Ctl ctl = node.ctl();
  const auto held = ctl.json({"lock", "acquire", "a", "--ttl", "60s"});
  const auto other = ctl.json({"lock", "acquire", "b", "--ttl", "60s"});
  const std::string token = held["token"];
  const std::string session = held["session"];
  const std::string other_token = other["token"];
  const std::string other_session = other["session"];
  const std::string no_text = "\xff\xfe";

  struct Case {
    std::vector<std::string> words;
    int exit_code;
    std::string error;
  };

  std::vector<Case> cases = {
      {{"acquire", "c", ""}, 2, "GC1101"},
      {{"get", ""}, 2, "GC1101"},
      {{"get", no_text}, 2, "GC1103"},
      {{"break", "", "--reason", "x"}, 2, "GC1101"},
      {{"break", no_text, "--reason", "x"}, 2, "GC1103"},
      {{"break", "a", "--reason", ""}, 2, "GC6034"},
      {{"acquire", "c", "--ttl", "0s"}, 2, "GC1104"},
      {{"acquire", "c", "--ttl", "0"}, 2, "GC1104"},
      {{"acquire", "c", "--ttl=-5s"}, 2, "GC1104"},
      {{"acquire", "c", "--ttl", "25h"}, 2, "GC1105"},
      {{"acquire", "c", "--ttl", "99999999999999999999h"}, 2, "GC1105"},
      {{"acquire", "c", "--ttl", "soon"}, 2, "GC1001"},
      {{"acquire", "c", "--lock-delay", "2m"}, 2, "GC6032"},
      {{"check", "a", "--token", "18446744073709551616"}, 2, "GC1001"},
      {{"release", "a", "--token", token, "--session", "0"}, 2, "GC1108"},
      // By a session that does not hold it, and is known in the shard or not.
      {{"release", "a", "--token", token, "--session", "999"}, 1, "GC6008"},
      {{"release", "a", "--token", other_token + "9", "--session", session}, 1, "GC6003"},
      {{"release", "free", "--token", token, "--session", session}, -1, ""},
      {{"break", "a", "--reason", "x", "--token", other_token + "9"}, 1, "GC6003"},
  };
  for (const BadRequest& bad : bad_requests()) {
    cases.push_back({words_of(bad, session), 2, "GC" + std::to_string(bad.number())});
  }
  for (const Case& each : cases) {
    std::vector<std::string> words = {"-o", "json", "lock"};
    words.insert(words.end(), each.words.begin(), each.words.end());
    const Finished finished = ctl(words);
    const std::string what = each.words[0] + " " + each.words.back();
    if (each.error.empty()) {
      // The session is known in the name's shard only if that is the shard of "a".
      EXPECT_TRUE(finished.error_code() == "GC6002" || finished.error_code() == "GC6008") << what;
      continue;
    }
    EXPECT_EQ(finished.error_code(), each.error) << what << finished.out << finished.err;
    EXPECT_EQ(finished.code, each.exit_code) << what;
  }
  // Nothing of this changed anything.
  ctl.json({"lock", "check", "a", "--token", token});
  ctl.json({"lock", "check", "b", "--token", other_token});
  EXPECT_EQ(ctl.json({"lock", "ls"})["locks"].size(), 2u);
}

// Session 2 waits for the lock of session 1 in the same shard, so it is known there.
TEST(BadInput, AReleaseByWhoDoesNotHoldTheLockSaysWhoDoes) {
  DevNode node;
  const Ctl ctl = node.ctl();
  const auto reader = ctl.json({"lock", "acquire", "a", "--shared", "--ttl", "60s"});
  const auto second = ctl.json({"lock", "acquire", "a", "--shared", "--ttl", "60s"});
  ctl.json({"lock", "release", "a", "--token", second["token"], "--session", second["session"]});
  const auto error =
      ctl.json({"lock", "release", "a", "--token", reader["token"], "--session", second["session"]},
               1)["error"];
  EXPECT_EQ(error["code"], "GC6004");
}

}  // namespace
}  // namespace gcoord::cli
