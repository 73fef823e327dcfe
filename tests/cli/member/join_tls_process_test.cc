// A node joins three that speak TLS on every port and prove themselves to each other: by the two
// commands that gcoordctl member add prints, with only paths and addresses put in.
#include "chaos/process/free_ports.h"
#include "tests/cli/cluster/cluster_ports.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class JoinTls : public testing::Test {
 protected:
  void SetUp() override {
    port_ = first_port();
    ASSERT_NE(port_, 0);
    const Finished made = run("gcoordctl",
                              {"cluster",
                               "init",
                               "--with-tls",
                               "--dir",
                               made_file(""),
                               "--client-port",
                               std::to_string(port_),
                               "--shards",
                               "16"});
    ASSERT_EQ(made.code, 0) << made.err;
    for (int node = 1; node <= 3; ++node) {
      auto child = ChildProcess::start(
          program("gcoordd", {"--config", made_file("node-" + std::to_string(node) + ".toml")}));
      ASSERT_TRUE(child.ok());
      nodes_.push_back(std::move(child).value());
    }
    for (ChildProcess& node : nodes_) {
      ASSERT_TRUE(node.read_line(kPatience).has_value());
    }
  }

  std::string made_file(const std::string& name) const {
    return (folder_.path() / "gcoord").string() + (name.empty() ? "" : "/" + name);
  }

  std::string log() const { return (folder_.path() / "joiner.log").string(); }

  nlohmann::json ctl(Words words) const {
    words.insert(words.begin(),
                 {"--timeout",
                  "30s",
                  "--cacert",
                  made_file("ca.crt"),
                  "--cert",
                  made_file("admin.crt"),
                  "--key",
                  made_file("admin.key")});
    return Ctl{"127.0.0.1:" + std::to_string(port_)}.json(words);
  }

  // A printed command with what somebody puts in, run by a shell in the folder.
  ChildProcess typed(std::string line) const {
    line = replaced(line, "/etc/gcoord", made_file(""));
    line = replaced(line, "/var/lib/gcoord", (folder_.path() / "fourth").string());
    line = replaced(line, "ADDRESS:7500", "127.0.0.1:" + std::to_string(ports_[0]));
    line = replaced(line, "ADDRESS:7400", "127.0.0.1:" + std::to_string(ports_[1]));
    line = replaced(line, "ADDRESS,", "");
    ChildOptions options;
    options.arguments = {"/bin/sh", "-c", "cd " + folder_.path().string() + " && exec " + line};
    options.capture_output = true;
    options.error_file = log();
    const std::string programs = chaos::program_beside("gcoordd").parent_path().string();
    options.environment = {{"PATH", programs + ":" + std::getenv("PATH")},
                           {"GCOORD_LISTEN_METRICS", "off"}};
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok()) << child.status().to_string();
    return std::move(child).value();
  }

  // What the node said that did not start.
  std::string refused(const std::string& line, int code) const {
    EXPECT_EQ(typed(line).wait_for(kPatience), code);
    return file_text(log());
  }

  // The revocation list as a node gets it: from the folder of the CA.
  void revoke(const std::string& user) const {
    const Finished revoked =
        run("gcoordctl", {"cert", "revoke", made_file(user + ".crt"), "--dir", made_file("ca")});
    ASSERT_EQ(revoked.code, 0) << revoked.err;
    std::filesystem::copy_file(made_file("ca/ca.crl"), made_file("ca.crl.new"));
    std::filesystem::rename(made_file("ca.crl.new"), made_file("ca.crl"));
  }

  void issue(const std::string& user) const {
    const Finished issued =
        run("gcoordctl",
            {"cert", "issue", "user", user, "--dir", made_file("ca"), "--out", made_file(user)});
    ASSERT_EQ(issued.code, 0) << issued.err;
  }

  // What the fourth node says to this user.
  Finished at_fourth(const std::string& user) const {
    return run("gcoordctl",
               {"--endpoints",
                "127.0.0.1:" + std::to_string(ports_[1]),
                "--timeout",
                "10s",
                "--cacert",
                made_file("ca.crt"),
                "--cert",
                made_file(user + ".crt"),
                "--key",
                made_file(user + ".key"),
                "status"});
  }

  std::string state_of_fourth() const {
    const nlohmann::json view = ctl({"member", "list"});
    for (const auto& member : view["members"]) {
      if (member.value("node", 0) == 4) {
        return member.value("state", "");
      }
    }
    return "";
  }

  const ScratchFolder folder_;
  const std::vector<std::uint16_t> ports_ = chaos::free_ports(2).value();
  std::uint16_t port_ = 0;
  std::vector<ChildProcess> nodes_;
};

TEST_F(JoinTls, TheCommandsOfMemberAddAreComplete) {
  ctl({"member", "watch", "--count", "1"});  // The first view.
  const nlohmann::json added = ctl({"member", "add", "--name", "fourth"});
  ASSERT_EQ(added.value("node", 0), 4) << added;
  const std::string command = added.value("command", "");
  EXPECT_THAT(command, HasSubstr("--peer-tls required"));

  // Without the files of TLS, and with those of another node, it is refused, and the token stays.
  const std::string plain = command.substr(0, command.find(" --tls-ca"));
  const std::string without_tls = refused(plain, 4);
  EXPECT_THAT(without_tls, HasSubstr("GC1236"));
  EXPECT_THAT(without_tls, testing::Not(HasSubstr("--cacert"))) << "which is a client's option";
  EXPECT_THAT(refused(replaced(command, "node-4", "node-1"), 2), HasSubstr("GC1235"));

  EXPECT_EQ(
      typed(added.value("certificate_command", "") + " --out gcoord/node-4").wait_for(kPatience), 0)
      << file_text(log());
  EXPECT_THAT(refused(replaced(command, "ca.crt", "node-1.crt"), 4), HasSubstr("GC3103"));
  ChildProcess fourth = typed(command);
  ASSERT_TRUE(fourth.read_line(kPatience).has_value()) << file_text(log());
  EXPECT_THAT(file_text(log()), HasSubstr("over TLS"));
  EXPECT_THAT(file_text(log()), Not(HasSubstr("no revocation list")));
  const auto latest = std::chrono::steady_clock::now() + kPatience;
  while (state_of_fourth() != "active") {
    ASSERT_LT(std::chrono::steady_clock::now(), latest) << file_text(log());
  }
  const nlohmann::json status = ctl({"status"});
  ASSERT_EQ(status["nodes"].size(), 4u);
  for (const auto& node : status["nodes"]) {
    for (const auto& peer : node["peers"]) {
      EXPECT_THAT(peer.value("transport", ""), HasSubstr("with tls")) << node;
    }
  }
}

// The printed command names the list, so a node that joins refuses whom the others refuse.
TEST_F(JoinTls, ANodeThatJoinedRefusesWhoIsRevoked) {
  for (const char* user : {"before", "later", "good"}) {
    issue(user);
  }
  revoke("before");
  ctl({"member", "watch", "--count", "1"});  // The first view.
  const nlohmann::json added = ctl({"member", "add", "--name", "fourth"});
  ASSERT_EQ(
      typed(added.value("certificate_command", "") + " --out gcoord/node-4").wait_for(kPatience), 0)
      << file_text(log());
  ChildProcess fourth = typed(added.value("command", ""));
  ASSERT_TRUE(fourth.read_line(kPatience).has_value()) << file_text(log());
  for (const char* user : {"good", "later"}) {
    EXPECT_EQ(at_fourth(user).code, 0) << user << at_fourth(user).err << file_text(log());
  }
  const Finished refused = at_fourth("before");
  EXPECT_THAT(refused.err + refused.out, HasSubstr("GC6736")) << file_text(log());
  EXPECT_NE(refused.code, 0);

  // It was served, so the node knows its chain; that ends with the list.
  revoke("later");
  const auto latest = std::chrono::steady_clock::now() + kPatience;
  while (at_fourth("later").code == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), latest) << file_text(log());
  }
  EXPECT_EQ(at_fourth("good").code, 0);
}

}  // namespace
}  // namespace gcoord::cli
