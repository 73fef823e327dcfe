// The completion scripts in their shells.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

bool have(const std::string& shell) {
  return std::filesystem::exists("/bin/" + shell) || std::filesystem::exists("/usr/bin/" + shell);
}

std::string output_of(const std::vector<std::string>& command, const std::string& endpoints) {
  ChildOptions options;
  options.arguments = command;
  options.capture_output = true;
  options.environment = {{"GCOORD_ENDPOINTS", endpoints}};
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok());
  const std::string out = child.value().read_all(kPatience);
  EXPECT_EQ(child.value().wait_for(kPatience), 0);
  return out;
}

// What bash offers behind a line whose words it has cut as it does, at "=" and ":" too.
class BashCompletion : public testing::Test {
 protected:
  void SetUp() override {
    if (!have("bash")) {
      GTEST_SKIP() << "no bash here";
    }
    std::ofstream(script_) << run("gcoordctl", {"completion", "bash"}).out;
  }

  // `words` behind the program, as bash cuts `line`.
  std::string offered(const std::string& line, const std::string& words) {
    const std::string program = chaos::program_beside("gcoordctl").string();
    return output_of({"/bin/bash",
                      "-c",
                      "source " + script_ + "\nCOMP_WORDS=(" + program + " " + words +
                          ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\nCOMP_LINE='" + program + " " +
                          line + "'\ncd " + folder_.path().string() +
                          "\n_gcoordctl\nprintf '%s\\n' \"${COMPREPLY[@]}\""},
                     endpoint_);
  }

  ScratchFolder folder_;
  const std::string script_ = (folder_.path() / "completion").string();
  std::string endpoint_ = "127.0.0.1:1";
};

TEST_F(BashCompletion, VerbsOptionsAndValues) {
  EXPECT_THAT(offered("lock ", "lock ''"), HasSubstr("acquire\n"));
  EXPECT_EQ(offered("-o json lock acq", "-o json lock acq"), "acquire\n");
  EXPECT_EQ(offered("-o ", "-o ''"), "table\njson\n");
  EXPECT_EQ(offered("--output=j", "--output = j"), "json\n");
  EXPECT_THAT(offered("lock ls --", "lock ls --"), HasSubstr("--waiters\n"));
  EXPECT_THAT(offered("lock ls --en", "lock ls --en"), HasSubstr("--endpoints\n"));
  EXPECT_EQ(offered("bench lock --names ", "bench lock --names ''"), "distinct\nshared\n");
}

TEST_F(BashCompletion, Files) {
  std::ofstream(folder_.path() / "history.jsonl") << "x";
  EXPECT_EQ(offered("bench lock --history hist", "bench lock --history hist"), "history.jsonl\n");
  EXPECT_EQ(offered("bench lock --history=hist", "bench lock --history = hist"), "history.jsonl\n");
}

class BashTurnTest : public BashCompletion, public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, BashTurnTest, both_turns(), turn_name);

TEST_P(BashTurnTest, NamesOfLocks) {
  TurnNodes node(GetParam());
  endpoint_ = node.endpoint();
  node.ctl().json({"lock", "acquire", "jobs/a", "jobs/b c", "team:x", "other", "--ttl", "60s"});
  EXPECT_THAT(offered("lock get jobs/", "lock get jobs/"),  // As the shards' leaders answer.
              testing::AnyOf("jobs/a\njobs/b\\ c\n", "jobs/b\\ c\njobs/a\n"));
  EXPECT_EQ(offered("lock ls t", "lock ls t"), "team:x\n");
  EXPECT_EQ(offered("lock get team:", "lock get team :"), "x\n");
  endpoint_ = "127.0.0.1:1";
  EXPECT_EQ(offered("lock get jobs/", "lock get jobs/"), "\n") << "nobody answers";
}

TEST_F(BashCompletion, NamesOfNodes) {
  DevNode node;
  endpoint_ = node.endpoint();
  node.ctl().json({"--timeout", "60s", "member", "watch", "--count", "1"});  // The first view.
  EXPECT_EQ(offered("member drain no", "member drain no"), "node-1\n");
  EXPECT_EQ(offered("member replace ", "member replace ''"), "node-1\n");
  EXPECT_EQ(offered("member drain x", "member drain x"), "\n");
}

// What a colleague calls a lock, or an archive a file, once ran in the shell of who pressed TAB.
TEST_F(BashCompletion, WordsOfOthersAreQuotedOrNotOffered) {
  DevNode node;
  endpoint_ = node.endpoint();
  node.ctl().json({"lock", "acquire", "jobs/$(touch P)", "--ttl", "60s"});
  node.ctl().json({"lock", "acquire", "--ttl", "60s", "--", "--endpoints=evil:1"});
  node.ctl().json({"lock", "acquire", "odd/\u0378;touch P", "--ttl", "60s"});
  EXPECT_EQ(offered("lock get jobs/", "lock get jobs/"), "jobs/\\$\\(touch\\ P\\)\n");
  EXPECT_EQ(offered("lock get \"jobs/", "lock get \\\"jobs/"), "\n") << "the quote is open";
  EXPECT_THAT(offered("lock get -", "lock get -"), testing::Not(HasSubstr("evil")));
  EXPECT_EQ(offered("lock get odd/", "lock get odd/").find('$'), std::string::npos);
  std::ofstream(folder_.path() / "qq data;touch P #") << "x";
  EXPECT_EQ(offered("lock run a -- cat qq", "lock run a -- cat qq"), "qq\\ data\\;touch\\ P\\ #\n");
}

// The environment and the user's contexts once took the place of what the line says.
TEST_F(BashCompletion, TheClusterIsTheOneThatTheLineNames) {
  DevNode node;
  node.ctl().json({"lock", "acquire", "here", "--ttl", "60s"});
  endpoint_ = "127.0.0.1:1";
  EXPECT_EQ(output_of({chaos::program_beside("gcoordctl").string(),
                       "__complete",
                       "--endpoints",
                       node.endpoint(),
                       "lock",
                       "get",
                       "h"},
                      endpoint_),
            "here\n");
  ChildOptions options;
  options.arguments = {
      chaos::program_beside("gcoordctl").string(), "__complete", "lock", "get", "h"};
  options.capture_output = true;
  options.environment = {{"GCOORD_ENDPOINTS", endpoint_}, {"GCOORD_OUTPUT", "json"}};
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().read_all(kPatience), "") << "a failure is no candidate";
  EXPECT_EQ(child.value().wait_for(kPatience), 0);
}

// What gcoordctl offers to a shell, with a folder of contexts of its own.
class CompletedContext : public testing::Test {
 protected:
  CompletedContext() {
    node_.ctl().json({"lock", "acquire", "here", "--ttl", "60s"});
    other_.ctl().json({"lock", "acquire", "home", "--ttl", "60s"});
    EXPECT_THAT(told({"context", "set", "first", "--endpoints", node_.endpoint()}),
                HasSubstr("first"));
    EXPECT_THAT(told({"context", "set", "second", "--endpoints", other_.endpoint()}),
                HasSubstr("second"));
  }

  std::string told(const std::vector<std::string>& words, const std::string& endpoints = "") const {
    ChildOptions options;
    options.arguments = {chaos::program_beside("gcoordctl").string()};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.capture_output = true;
    options.environment = {{"XDG_CONFIG_HOME", folder_.path()}};
    if (!endpoints.empty()) {
      options.environment.emplace_back("GCOORD_ENDPOINTS", endpoints);
    }
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    const std::string out = child.value().read_all(kPatience);
    EXPECT_EQ(child.value().wait_for(kPatience), 0);
    return out;
  }

  const ScratchFolder folder_;
  DevNode node_;
  DevNode other_;
};

TEST_F(CompletedContext, NamesAreThoseOfTheContextThatTheLineNames) {
  EXPECT_EQ(told({"__complete", "lock", "get", "h"}), "here\n") << "the one in use";
  EXPECT_EQ(told({"__complete", "--context", "second", "lock", "get", "h"}), "home\n");
  EXPECT_EQ(told({"__complete", "--context=second", "lock", "get", "h"}), "home\n");
  EXPECT_EQ(told({"__complete", "lock", "get", "--context", "second", "h"}), "home\n");
  EXPECT_EQ(told({"__complete", "--context", "second", "lock", "get", "h"}, node_.endpoint()),
            "home\n")
      << "before the environment";
  EXPECT_EQ(told({"__complete",
                  "--context",
                  "second",
                  "--endpoints",
                  node_.endpoint(),
                  "lock",
                  "get",
                  "h"}),
            "here\n")
      << "behind an address";
  EXPECT_EQ(told({"__complete", "--context", "nowhere", "lock", "get", "h"}), "")
      << "the finished line would be refused";
}

TEST(Completion, NamesAreReadOverTlsByTheLineAndByTheEnvironment) {
  const ScratchFolder folder;
  const std::string directory = (folder.path() / "node").string();
  DevNode node({"--data-dir", directory, "--client-tls", "required"});
  const std::string authority = directory + "/tls/ca.crt";
  node.ctl().json({"--cacert", authority, "lock", "acquire", "jobs/a", "--ttl", "60s"});
  const std::string program = chaos::program_beside("gcoordctl").string();
  EXPECT_EQ(output_of({program, "__complete", "--cacert=" + authority, "lock", "get", "jo"},
                      node.endpoint()),
            "jobs/a\n");
  EXPECT_EQ(output_of({program, "__complete", "lock", "get", "jo"}, node.endpoint()), "");
  EXPECT_EQ(output_of({"/usr/bin/env",
                       "GCOORD_CACERT=" + authority,
                       "GCOORD_CERT=" + directory + "/tls/admin.crt",
                       "GCOORD_KEY=" + directory + "/tls/admin.key",
                       program,
                       "__complete",
                       "lock",
                       "get",
                       "jo"},
                      node.endpoint()),
            "jobs/a\n");
  EXPECT_EQ(
      output_of(
          {program, "__complete", "--cacert", authority, "--user", "bob", "lock", "get", "jo"},
          node.endpoint()),
      "jobs/a\n")
      << "nobody is prompted";
}

TEST(Completion, EveryVerbIsOffered) {
  const std::string verbs = run("gcoordctl", {"__complete", ""}).out;
  for (const char* verb : {"lock\n", "quorum\n", "bench\n", "watch\n", "version\n"}) {
    EXPECT_THAT(verbs, HasSubstr(verb));
  }
  EXPECT_EQ(run("gcoordctl", {"--help"}).out.find("__complete"), std::string::npos);
}

TEST(Completion, TheScriptsAreSoundInTheirShells) {
  const ScratchFolder folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string file = (folder.path() / shell).string();
    std::ofstream(file) << run("gcoordctl", {"completion", shell}).out;
    EXPECT_THAT(file_text(file), HasSubstr("__complete"));
    if (have(shell)) {
      EXPECT_EQ(output_of({"/usr/bin/env", shell, "-n", file}, ""), "") << shell;
    }
  }
  EXPECT_EQ(run("gcoordctl", {"completion", "tcsh"}).code, 2);
}

}  // namespace
}  // namespace gcoord::cli
