// Two of three real nodes are lost for good: a new cluster is made of the third one's directory,
// keeps what that has, refuses who comes back from the old one, and grows again. The old cluster is
// of either turn; the new one, of one node, is always of the host's.
#include "chaos/process/directory_copy.h"
#include "chaos/process/free_ports.h"
#include "common/host/child_process.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kSurvivor = 3;
constexpr std::uint32_t kReturns = 1;

// What the facts of --force-new-cluster say under a name.
std::string fact(const Finished& finished, const std::string& name) {
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    if (words >> key && key == name && std::getline(words >> std::ws, value)) {
      return value;
    }
  }
  return "";
}

class ForceNodesTest : public ProcessCluster {
 protected:
  explicit ForceNodesTest(std::string turn) : ProcessCluster(16), turn_(std::move(turn)) {}

  // The survivor's next life is one node, which no resident turn has.
  void change(chaos::LocalClusterOptions& options) const override {
    options.arguments_of_life = [turn = turn_](std::uint32_t node, std::uint32_t life) {
      return turn_flags(node == kSurvivor && life > 1 ? "host" : turn);
    };
  }

  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ProcessCluster::SetUp());
    const auto first = ctl().json({"--timeout", "30s", "member", "watch", "--count", "1"});
    ASSERT_EQ(first.value("view", ""), "1") << first.dump();
  }

  std::string survivor() const { return cluster_->data_directory(kSurvivor).string(); }

  Finished force(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--force-new-cluster", "--data-dir", survivor()};
    all.insert(all.end(), more.begin(), more.end());
    return run("gcoordd", all);
  }

  // Names beside the survivor's directory that begin with its name.
  std::vector<std::string> traces() const {
    std::vector<std::string> names;
    const std::string own = std::filesystem::path(survivor()).filename().string();
    for (const auto& each : std::filesystem::directory_iterator(cluster_->directory())) {
      const std::string name = each.path().filename().string();
      if (name.starts_with(own + ".") && name != own + ".log") {
        names.push_back(name);
      }
    }
    return names;
  }

  std::string identity() const { return file_text(survivor() + "/identity"); }

  static nlohmann::json acquire(const Ctl& ctl, const std::string& name) {
    return ctl.json({"--timeout",
                     "30s",
                     "lock",
                     "acquire",
                     name,
                     "--ttl",
                     "1h",
                     "--try",
                     "--note",
                     "value of " + name});
  }

  Ctl survivors_ctl() const { return Ctl{cluster_->endpoints()[kSurvivor - 1]}; }

  // Locks under load, then an end for all nodes at once.
  void hold_and_kill() {
    for (int k = 0; k < 8; ++k) {
      const std::string name = "held-" + std::to_string(k);
      held_[name] = acquire(ctl(), name).value("token", "");
    }
    ChildProcess load = ctl().start({"bench", "lock", "--clients", "4", "--seconds", "30"});
    EXPECT_FALSE(load.wait_for(std::chrono::seconds{1}).has_value());
    const Finished running = force({"--dry-run"});
    EXPECT_EQ(running.code, 2);
    EXPECT_THAT(running.err, HasSubstr("GC2001"));
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      cluster_->kill(node);
    }
    load.kill_now();
    kept_copy_ = (directory_.path() / "copy").string();
    ASSERT_FALSE(chaos::copy_directory(cluster_->data_directory(kReturns), kept_copy_));
    std::filesystem::remove_all(cluster_->data_directory(1));
    std::filesystem::remove_all(cluster_->data_directory(2));
  }

  // Nothing but the right id does anything.
  void expect_refusals() {
    const std::string before = identity();
    const auto refused = [&](const std::vector<std::string>& more, int code, const char* error) {
      const Finished finished = force(more);
      EXPECT_EQ(finished.code, code) << finished.err;
      EXPECT_THAT(finished.err, HasSubstr(error));
      EXPECT_EQ(identity(), before);
      EXPECT_THAT(traces(), testing::IsEmpty());
    };
    refused({"--confirm", "4711"}, 2, "GC8316");
    refused({}, 2, "GC8315");
    refused({"--cluster-name", "other", "--confirm", "4711"}, 2, "GC2003");
    refused({"--node-id", "1", "--confirm", "4711"}, 2, "GC2004");
    const Finished dry = force({"--dry-run"});
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.err, HasSubstr("Lost: whatever the other nodes"));
    EXPECT_EQ(fact(dry, "other-nodes"), "1, 2");
    EXPECT_EQ(fact(dry, "turn"), turn_);
    EXPECT_GT(std::stoull(fact(dry, "entries")), 8u);
    EXPECT_EQ(identity(), before);
    retired_id_ = fact(dry, "cluster-id");
  }

  void make() {
    const Finished forced = force({"--cluster-name", "local", "--confirm", retired_id_});
    ASSERT_EQ(forced.code, 0) << forced.err;
    made_id_ = fact(forced, "new-cluster-id");
    EXPECT_EQ(fact(forced, "retired-id"), retired_id_);
    EXPECT_NE(made_id_, retired_id_);
    EXPECT_THAT(traces(), testing::ElementsAre("node-3.before-force-" + made_id_));
    EXPECT_TRUE(std::filesystem::exists(fact(forced, "old-directory") + "/identity"));
  }

  // The command line of before names the old cluster.
  void start_survivor() {
    ASSERT_TRUE(cluster_->spawn(kSurvivor).ok());
    EXPECT_EQ(cluster_->wait_exit(kSurvivor, kPatience), 2);
    EXPECT_THAT(file_text(cluster_->log_file(kSurvivor)), HasSubstr("--cluster-id " + made_id_));
    ASSERT_TRUE(cluster_->spawn(kSurvivor, {"--cluster-id", made_id_}).ok());
    const Status ready = cluster_->wait_ready(kSurvivor, kPatience);
    ASSERT_TRUE(ready.ok()) << ready.to_string();
    EXPECT_THAT(file_text(cluster_->log_file(kSurvivor)),
                HasSubstr("took the place of cluster " + retired_id_));
  }

  void expect_kept_and_rising() {
    const Ctl ctl = survivors_ctl();
    std::uint64_t newest = 0;
    for (const auto& [name, token] : held_) {
      newest = std::max<std::uint64_t>(newest, std::stoull(token));
      const auto checked =
          ctl({"-o", "json", "--timeout", "30s", "lock", "check", name, "--token", token}).json();
      EXPECT_EQ(checked.value("verdict", ""), "VALID") << name << checked.dump();
      const auto got = ctl.json({"--timeout", "30s", "lock", "get", name});
      EXPECT_EQ(got.value("note", ""), "value of " + name) << got.dump();
    }
    for (int k = 0; k < 16; ++k) {
      const auto grant = acquire(ctl, "after-" + std::to_string(k));
      EXPECT_GT(std::stoull(grant.value("token", "0")), newest + (std::uint64_t{1} << 39));
    }
    EXPECT_EQ(state_of(1), "removed");
    EXPECT_EQ(state_of(2), "removed");
    EXPECT_EQ(state_of(3), "active");
  }

  std::string state_of(std::uint32_t node) const {
    const auto view = survivors_ctl().json({"--timeout", "30s", "member", "list"});
    for (const auto& each : view["members"]) {
      if (each.value("name", "") == "node-" + std::to_string(node)) {
        return each.value("state", "");
      }
    }
    return "absent: " + view.dump();
  }

  // A node of the old cluster comes back with its directory.
  void expect_old_node_is_refused() {
    std::filesystem::rename(kept_copy_, cluster_->data_directory(kReturns));
    ASSERT_TRUE(cluster_->spawn(kReturns).ok());
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    const std::string words = "cluster " + retired_id_ + " is retired: cluster " + made_id_;
    while (file_text(cluster_->log_file(kReturns)).find(words) == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), latest)
          << file_text(cluster_->log_file(kReturns));
      std::this_thread::yield();
    }
    EXPECT_THAT(file_text(cluster_->log_file(kReturns)),
                HasSubstr("node 1 of the old one was removed"));
    cluster_->kill(kReturns);
  }

  void grow() {
    const Ctl ctl = survivors_ctl();
    const auto added = ctl.json({"--timeout", "30s", "member", "add", "--name", "fourth"});
    const auto ports = chaos::free_ports(3);
    ASSERT_TRUE(ports.ok());
    const auto address = [&](std::size_t k) {
      return "127.0.0.1:" + std::to_string(ports.value()[k]);
    };
    ChildOptions options = program("gcoordd",
                                   {"--data-dir",
                                    (directory_.path() / "fourth").string(),
                                    "--listen-client",
                                    address(0),
                                    "--listen-peer",
                                    address(1),
                                    "--listen-metrics",
                                    address(2),
                                    "--join",
                                    cluster_->endpoints()[kSurvivor - 1],
                                    "--join-token",
                                    added.value("token", "")});
    options.error_file = (directory_.path() / "fourth.log").string();
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child.ok());
    joined_.emplace(std::move(child).value());
    EXPECT_THAT(joined_->read_line(kPatience).value_or(""), HasSubstr("gcoordd ready"))
        << file_text(options.error_file);
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    const auto state = [&] {
      const auto view = ctl.json({"--timeout", "30s", "member", "list"});
      for (const auto& each : view["members"]) {
        if (each.value("name", "") == "fourth") {
          EXPECT_EQ(each.value("node", 0), 4) << "the ids of the old cluster are not used again";
          return each.value("state", "");
        }
      }
      return std::string{};
    };
    while (state() != "active") {
      ASSERT_LT(std::chrono::steady_clock::now(), latest) << file_text(options.error_file);
    }
    EXPECT_FALSE(acquire(ctl, "grown").value("token", "").empty());
  }

  const std::string turn_;
  std::map<std::string, std::string> held_;  // Tokens, by name.
  std::string kept_copy_;
  std::string retired_id_;
  std::string made_id_;
  std::optional<ChildProcess> joined_;
};

class ForceTurnTest : public AtBothTurns<ForceNodesTest> {};

TEST_P(ForceTurnTest, TheLastOfThreeNodesGoesOnAsANewClusterAndGrowsAgain) {
  ASSERT_NO_FATAL_FAILURE(hold_and_kill());
  ASSERT_NO_FATAL_FAILURE(expect_refusals());
  ASSERT_NO_FATAL_FAILURE(make());
  ASSERT_NO_FATAL_FAILURE(start_survivor());
  expect_kept_and_rising();
  ASSERT_NO_FATAL_FAILURE(expect_old_node_is_refused());
  ASSERT_NO_FATAL_FAILURE(grow());
}

INSTANTIATE_TEST_SUITE_P(BothTurns, ForceTurnTest, both_turns(), turn_name);

}  // namespace
}  // namespace gcoord::cli
