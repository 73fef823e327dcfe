// gcoordctl context, and which cluster a command then reaches.
#include "chaos/process/free_ports.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class ContextsTest : public testing::Test {
 protected:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  Finished ctl(const std::vector<std::string>& arguments, const Variables& variables = {}) const {
    ChildOptions options = program("gcoordctl", arguments);
    options.environment.back() = {"XDG_CONFIG_HOME", folder_.path()};
    options.environment.insert(options.environment.end(), variables.begin(), variables.end());
    options.error_file = (folder_.path() / "stderr").string();
    std::filesystem::remove(options.error_file);  // It is appended to.
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok()) << child.status().to_string();
    Finished finished;
    finished.out = child.value().read_all(kPatience);
    finished.code = child.value().wait_for(kPatience).value_or(-1);
    finished.err = file_text(folder_.path() / "stderr");
    return finished;
  }

  // The endpoint that a command reaches for, by the failure that names it.
  std::string reached(const std::vector<std::string>& flags,
                      const Variables& variables = {}) const {
    std::vector<std::string> arguments = {"--timeout", "20s", "lock", "list"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const std::string said = ctl(arguments, variables).err;
    for (const std::string& each : closed_) {
      if (said.find(each + ":") != std::string::npos) {
        return each;
      }
    }
    return said;
  }

  // Addresses where nobody listens.
  static std::vector<std::string> closed() {
    std::vector<std::string> addresses;
    const auto ports = chaos::free_ports(4);
    EXPECT_TRUE(ports.ok());
    for (const std::uint16_t port : ports.value()) {
      addresses.push_back("127.0.0.1:" + std::to_string(port));
    }
    return addresses;
  }

  const ScratchFolder folder_;
  const std::vector<std::string> closed_ = closed();
};

TEST_F(ContextsTest, ACommandReachesTheClusterOfItsContext) {
  const std::string &dev = closed_[0], &prod = closed_[1], &env = closed_[2], &typed = closed_[3];
  EXPECT_EQ(ctl({"context", "set", "dev", "--endpoints", dev}).code, 0);
  EXPECT_EQ(ctl({"context", "set", "prod", "--endpoints", prod, "--timeout", "20s"}).code, 0);
  EXPECT_EQ(reached({}), dev) << "the first one is in use";
  EXPECT_EQ(reached({"--context", "prod"}), prod);
  EXPECT_EQ(reached({}, {{"GCOORD_CONTEXT", "prod"}}), prod);
  EXPECT_EQ(reached({}, {{"GCOORD_ENDPOINTS", env}}), env);
  EXPECT_EQ(reached({"--context", "prod"}, {{"GCOORD_ENDPOINTS", env}}), prod);
  EXPECT_EQ(reached({"--context", "prod", "--endpoints", typed}), typed);
  EXPECT_EQ(ctl({"context", "use", "prod"}).code, 0);
  EXPECT_EQ(reached({}), prod);
  EXPECT_EQ(ctl({"context", "rm", "prod"}).code, 0);
  EXPECT_EQ(ctl({"context", "show", "prod"}).code, 2);
}

TEST_F(ContextsTest, ContextsAreListedAndShownWithTheirSources) {
  ctl({"context", "set", "dev", "--endpoints", "127.0.0.1:1"});
  ctl({"context", "set", "dev", "--timeout", "3s"});
  const auto listed = ctl({"context", "ls", "-o", "json"}).json();
  EXPECT_EQ(listed["current"], "dev");
  ASSERT_EQ(listed["contexts"].size(), 1u);
  EXPECT_EQ(listed["contexts"][0]["endpoints"], "127.0.0.1:1");
  EXPECT_EQ(listed["contexts"][0]["timeout"], "3s");
  const auto shown = ctl({"context", "show", "-o", "json"}, {{"GCOORD_TIMEOUT", "7s"}}).json();
  EXPECT_EQ(shown["context"], "dev");
  EXPECT_EQ(shown["endpoints_from"], "context");
  EXPECT_EQ(shown["timeout"], "7s");
  EXPECT_EQ(shown["timeout_from"], "environment");
  EXPECT_EQ(shown["output_from"], "command line");
}

TEST_F(ContextsTest, FilesOfAContextAreFoundFromEverywhere) {
  const auto set = ctl({"-o",
                        "json",
                        "context",
                        "set",
                        "lab",
                        "--cacert",
                        "c/ca.crt",
                        "--user",
                        R"(ann\:b)",
                        "--password-file",
                        "ann.pw",
                        "--token-file",
                        "here/../ann.token"})
                       .json();
  const auto here = std::filesystem::current_path();
  EXPECT_EQ(set["cacert"], (here / "c/ca.crt").string());
  EXPECT_EQ(set["password-file"], (here / "ann.pw").string());
  EXPECT_EQ(set["token-file"], (here / "ann.token").string());
  EXPECT_EQ(set["user"], R"(ann\:b)");
  const auto input = ctl({"-o", "json", "context", "set", "in", "--password-file", "-"}).json();
  EXPECT_EQ(input["password-file"], "-") << "standard input";
}

TEST_F(ContextsTest, WhatCannotBeChosenIsSaid) {
  const Finished absent = ctl({"--context", "nowhere", "status"});
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("'nowhere'"));
  EXPECT_EQ(ctl({"context", "set", "dev"}).code, 2) << "nothing to remember";
  EXPECT_EQ(ctl({"context", "set", "a b", "--timeout", "1s"}).code, 2);
  EXPECT_EQ(ctl({"context", "set", "dev", "--endpoints", "10.0.0.1:port"}).code, 2);
  EXPECT_EQ(ctl({"context", "use", "dev"}).code, 2);
  std::filesystem::create_directories(folder_.path() / "gcoord");
  std::ofstream(folder_.path() / "gcoord" / "contexts.json") << "nonsense";
  const Finished damaged = ctl({"status"});
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("contexts.json"));
  EXPECT_EQ(ctl({"context", "set", "dev", "--timeout", "1s"}).code, 2);
  EXPECT_EQ(file_text(folder_.path() / "gcoord" / "contexts.json"), "nonsense");
}

// A variable of `lock run` would stand above the context that the command, or its user, names.
TEST_F(ContextsTest, TheCommandOfLockRunIsGivenWhatItsUserTypedAndNoMore) {
  DevNode node;
  EXPECT_EQ(ctl({"context", "set", "dev", "--endpoints", node.endpoint()}).code, 0);
  EXPECT_EQ(ctl({"context", "set", "prod", "--endpoints", closed_[0]}).code, 0);
  const auto given = [&](const std::vector<std::string>& flags, const Variables& variables) {
    std::vector<std::string> arguments = flags;
    const std::vector<std::string> run = {
        "lock", "run", "a", "--", "sh", "-c", "echo \"[$GCOORD_CONTEXT][$GCOORD_ENDPOINTS]\""};
    arguments.insert(arguments.end(), run.begin(), run.end());
    return ctl(arguments, variables).out;
  };
  const std::string at = node.endpoint();
  EXPECT_EQ(given({}, {}), "[][]\n") << "the context in use is that of the command, too";
  EXPECT_EQ(given({}, {{"GCOORD_CONTEXT", "dev"}}), "[dev][]\n");
  EXPECT_EQ(given({"--context", "dev"}, {}), "[dev][]\n");
  EXPECT_EQ(given({"--context", "dev"}, {{"GCOORD_ENDPOINTS", closed_[1]}}), "[dev][" + at + "]\n");
  EXPECT_EQ(given({"--endpoints", at}, {{"GCOORD_CONTEXT", "prod"}}), "[prod][" + at + "]\n");
}

}  // namespace
}  // namespace gcoord::cli
