// A node's log and its signals as an operator meets them: forms, rotation, SIGHUP, a start that is
// cut off, and options that are checked and printed.
#include "tests/cli/line_fifo.h"
#include "tests/cli/programs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LogProcessTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string config(const std::string& text) const {
    const std::string file = path("node.toml");
    std::ofstream(file, std::ios::trunc) << text;
    return file;
  }

  static void stop(DevNode& node) {
    node.child().signal(SIGTERM);
    EXPECT_EQ(node.child().wait_for(kPatience), 0);
  }

  const ScratchFolder folder_;
};

TEST_F(LogProcessTest, JsonLinesHaveTimeLevelNodeAndMessage) {
  const std::string file = path("log");
  DevNode node({"--log-format", "json", "--log-level", "info", "--log-file", file});
  stop(node);
  std::ifstream lines(file);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto value = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(value.is_object()) << line;
    EXPECT_THAT(value.value("time", ""), testing::MatchesRegex("....-..-..T..:..:..\\....Z"));
    EXPECT_FALSE(value.value("level", "").empty());
    EXPECT_EQ(value.value("node", 0), 1);
    EXPECT_FALSE(value.value("component", "").empty());
    EXPECT_FALSE(value.value("message", "").empty());
  }
  EXPECT_GE(count, 2u);  // That it serves, and that it stops.
}

TEST_F(LogProcessTest, SighupOpensTheLogFileAnew) {
  const std::string file = path("log");
  DevNode node({"--log-level", "info", "--log-file", file});
  const std::string before = file_text(file);
  EXPECT_THAT(before, HasSubstr(" node 1 node: serving "));
  EXPECT_THAT(before, HasSubstr(" node 1 node: this node is a cluster of its own"));

  struct stat facts {};

  ASSERT_EQ(::stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  std::filesystem::rename(file, file + ".1");
  LineFifo fifo(file);
  node.child().signal(SIGHUP);
  fifo.line_with("SIGHUP: options read; changed: none");
  EXPECT_EQ(file_text(file + ".1"), before);
  stop(node);
}

TEST_F(LogProcessTest, SighupTakesALevelAndNamesWhatNeedsARestart) {
  LineFifo log(path("log"));
  const std::string file = config("log_level = \"error\"\n");
  DevNode node({"--config", file, "--log-file", path("log")});
  config("log_level = \"info\"\nlocks_max = 1000\n");
  node.child().signal(SIGHUP);
  EXPECT_THAT(log.read_line(), HasSubstr("SIGHUP: options read; changed: --log-level"));
  EXPECT_THAT(log.read_line(), AllOf(HasSubstr("only after a restart"), HasSubstr("--locks-max")));
  stop(node);
}

TEST_F(LogProcessTest, SighupWithAnInvalidFileLeavesTheOldValuesAndSaysWhy) {
  LineFifo log(path("log"));
  const std::string file = config("log_level = \"error\"\n");
  DevNode node({"--config", file, "--log-file", path("log")});
  config("log_level = \"loud\"\nlocks_max = 0\n");
  node.child().signal(SIGHUP);
  EXPECT_THAT(log.read_line(), HasSubstr("locks_max (line 2)"));
  EXPECT_THAT(log.read_line(), HasSubstr("log_level (line 1)"));
  EXPECT_THAT(log.read_line(), HasSubstr("the options keep their values"));
  node.ctl().json({"status"});
  stop(node);
}

TEST_F(LogProcessTest, LevelsAreOfComponentsAndAnUnknownOneIsNamed) {
  const std::string file = config("log_level = \"peers=debug,warn\"\n");
  const Finished printed = run("gcoordd", {"--config", file, "--data-dir", "d", "--print-config"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("log_level = \"warn,peers=debug\"  # " + file));
  EXPECT_THAT(printed.out, HasSubstr("slow_request_ms = 1000  # default"));
  const Finished refused = run("gcoordd",
                               {"--config",
                                config("log_level = \"warn,peer=debug\"\n"),
                                "--data-dir",
                                "d",
                                "--check-config"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("log_level (line 1)"),
                    HasSubstr("'peer' is no component of the log; there are node, peers, ")));
}

// Elections and checkpoints, whose lines A26 missed.
TEST_F(LogProcessTest, A26DebugTellsOfElectionsCheckpointsAndClients) {
  LineFifo log(path("log"));
  DevNode node({"--log-level",
                "info,consensus=debug,disk=debug,clients=debug",
                "--log-file",
                path("log"),
                "--checkpoint-interval",
                "1s"});
  EXPECT_THAT(log.line_with("debug node 1 consensus: roles of "), HasSubstr(" elections begun"));
  node.ctl().json({"lock", "acquire", "a", "--ttl", "10m"});
  EXPECT_THAT(log.line_with("debug node 1 clients: connection "), HasSubstr(" of 127.0.0.1:"));
  EXPECT_THAT(log.line_with(" is welcome: version 1"), HasSubstr("(\"gcoordctl\")"));
  EXPECT_THAT(log.line_with(" ends after "), HasSubstr("by_client"));
  node.ctl().json(
      {"lock", "acquire", "b", "--ttl", "10m"});  // A checkpoint may have had the first.
  EXPECT_THAT(log.line_with("debug node 1 disk: a checkpoint of "),
              testing::ContainsRegex("of [0-9]+ shards ends: [0-9]+ bytes in [0-9.]+ s"));
  stop(node);
}

TEST_F(LogProcessTest, ALogFileThatCannotBeOpenedIsRefused) {
  const Finished refused = run("gcoordd", {"dev", "--log-file", path("absent/log")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("GC1001"), HasSubstr("absent/log")));
}

// The start stands still while it reads its options from a pipe into which nobody writes.
TEST_F(LogProcessTest, ATermDuringTheStartEndsItCleanly) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string fifo = path("config" + std::to_string(signal));
    const std::string errors = path("errors" + std::to_string(signal));
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    ChildOptions options = program("gcoordd", {"dev", "--config", fifo});
    options.error_file = errors;
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child.ok());
    const int writer = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // Returns when it is read.
    ASSERT_GE(writer, 0);
    child.value().signal(signal);
    EXPECT_EQ(child.value().wait_for(kPatience), 0);
    ::close(writer);
    EXPECT_THAT(file_text(errors), HasSubstr("while it started"));
  }
}

TEST_F(LogProcessTest, CheckConfigNamesEveryProblem) {
  const std::string file = config("shards = 0\nno_such_option = 1\ntick_ms = 5000\n");
  const Finished refused = run("gcoordd", {"--config", file, "--check-config"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("shards (line 1)"),
                    HasSubstr("there is no option 'no_such_option'"),
                    HasSubstr("tick_ms (line 3)"),
                    HasSubstr("--data-dir")));
  const Finished accepted =
      run("gcoordd", {"--config", config("shards = 4\n"), "--data-dir", "d", "--check-config"});
  EXPECT_EQ(accepted.code, 0) << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr("valid"));
  EXPECT_FALSE(std::filesystem::exists("d"));
}

TEST_F(LogProcessTest, PrintConfigGivesValuesWithSourcesThatAreReadBack) {
  const std::string file = config("shards = 4\npeer = [\"2=127.0.0.1:7501\"]\n");
  const Finished first =
      run("gcoordd", {"--config", file, "--data-dir", "d", "--tick-ms", "7", "--print-config"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("tick_ms = 7  # --tick-ms\n"),
                    HasSubstr("shards = 4  # " + file + ": shards (line 1)\n"),
                    HasSubstr("peer = [\"2=127.0.0.1:7501\"]  # "),
                    HasSubstr("heartbeat_ms = 100  # default\n"),
                    HasSubstr("# log_file = \"\"  # default\n")));
  const Finished second = run("gcoordd", {"--config", config(first.out), "--check-config"});
  EXPECT_EQ(second.code, 0) << second.err;
}

}  // namespace
}  // namespace gcoord::cli
