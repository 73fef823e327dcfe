// A cluster is saved under load, lost, and comes back from the file as another cluster; saves that
// are interrupted leave no file.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/gcoordd/applied_everywhere.h"
#include "tests/cli/gcoordd/saved_cluster.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kShards = 256;

chaos::LocalCluster planned(const std::filesystem::path& directory,
                            std::vector<std::string> more = {}) {
  std::filesystem::create_directories(directory);
  chaos::LocalClusterOptions options;
  options.program = chaos::program_beside("gcoordd");
  options.directory = directory;
  options.shards = kShards;
  options.node_arguments = {"--election-ms", "1000"};
  options.node_arguments.insert(options.node_arguments.end(), more.begin(), more.end());
  auto cluster = chaos::LocalCluster::plan(options);
  EXPECT_TRUE(cluster.ok()) << cluster.status().to_string();
  return std::move(cluster).value();
}

class SnapshotProcessTest : public testing::Test {
 protected:
  void start(std::vector<std::string> more = {}) {
    more_ = std::move(more);
    cluster_.emplace(planned(directory_.path() / "old", more_));
    const Status started = cluster_->start_all(kPatience);
    ASSERT_TRUE(started.ok()) << started.to_string();
    ctl_.emplace(ctl_of(*cluster_));
  }

  std::string file() const { return (directory_.path() / "saved").string(); }

  Ctl ctl_of_node(std::uint32_t node) const { return Ctl(cluster_->endpoints()[node - 1]); }

  const LockCalls calls_{"30s"};
  const ScratchFolder directory_;
  std::vector<std::string> more_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
};

TEST_F(SnapshotProcessTest,
       ARestoredClusterHoldsTheSameLocksUnderTheSameTokensAndGrantsHigherOnes) {
  start();
  Grants held;
  for (int k = 0; k < 8; ++k) {
    const std::string name = "held-" + std::to_string(k);
    held[name] = calls_.acquire(*ctl_, name);
  }
  await_equal(*cluster_, 2);
  ChildProcess load = ctl_->start({"bench", "lock", "--clients", "4", "--seconds", "3"});
  const nlohmann::json saved = ctl_->json({"snapshot", "save", file(), "--node", "2"});
  EXPECT_EQ(saved.value("node", 0), 2);
  EXPECT_TRUE(load.wait_for(kPatience).has_value());

  // After the save: one lock changes hands, and its new holder's token is lost with the cluster.
  calls_.release(*ctl_, "held-0", held["held-0"]);
  const nlohmann::json lost = calls_.acquire(*ctl_, "held-0");
  EXPECT_GT(number(lost, "token"), number(held["held-0"], "token"));
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);

  expect_whole(file(), saved, held.size());

  const std::filesystem::path place = directory_.path() / "new";
  chaos::LocalCluster unnamed = planned(place);
  const std::string id = restore_all(file(), unnamed);
  EXPECT_NE(id, saved.value("cluster_id", ""));
  chaos::LocalCluster fresh = planned(place, {"--cluster-id", id});
  const Status started = fresh.start_all(kPatience);
  ASSERT_TRUE(started.ok()) << started.to_string();
  const Ctl ctl = ctl_of(fresh);
  const nlohmann::json next = calls_.expect_restored(ctl, held, lost);
  EXPECT_NE(next.value("session", ""), lost.value("session", "-"));
  EXPECT_EQ(calls_.verdict(ctl, "held-0", lost.value("token", "")), "STALE");
  EXPECT_EQ(fresh.stop_all(kPatience), 3u);
}

TEST_F(SnapshotProcessTest, ARestoredClusterServesAndSurvivesItsNodesWithoutADisk) {
  start({"--durability", "memory"});
  const nlohmann::json grant = calls_.acquire(*ctl_, "a");
  await_equal(*cluster_, 1);
  const nlohmann::json saved = ctl_->json({"snapshot", "save", file(), "--node", "1"});
  EXPECT_EQ(saved.value("durability", ""), "memory");
  cluster_->stop_all(kPatience);
  const std::filesystem::path place = directory_.path() / "new";
  const chaos::LocalCluster unnamed = planned(place);
  const std::string id = restore_all(file(), unnamed);
  chaos::LocalCluster fresh = planned(place, {"--cluster-id", id, "--durability", "memory"});
  ASSERT_TRUE(fresh.start_all(kPatience).ok());
  const Ctl ctl = ctl_of(fresh);
  EXPECT_EQ(calls_.verdict(ctl, "a", grant.value("token", "")), "VALID");
  // A node that loses all gets what the restore did, too, in every shard.
  fresh.kill(3);
  std::filesystem::remove_all(fresh.data_directory(3));
  ASSERT_TRUE(fresh.spawn(3, {"--rejoin"}).ok());
  ASSERT_TRUE(fresh.wait_ready(3, kPatience).ok());
  const nlohmann::json next = calls_.acquire(ctl, "b");
  EXPECT_GT(number(next, "token"), std::uint64_t{1} << 40);
  fresh.stop_all(kPatience);
}

// A directory of the old cluster cannot be started as the new one, and a node of the old cluster
// finds nobody there.
TEST_F(SnapshotProcessTest, NodesOfTheOldClusterAreRefusedByTheNew) {
  start();
  calls_.acquire(*ctl_, "a");
  ctl_->json({"snapshot", "save", file()});
  cluster_->stop_all(kPatience);
  const std::filesystem::path place = directory_.path() / "new";
  const chaos::LocalCluster unnamed = planned(place);
  const std::string id = restore_all(file(), unnamed);
  chaos::LocalCluster fresh = planned(place, {"--cluster-id", id});
  ASSERT_TRUE(fresh.spawn(1).ok());
  ASSERT_TRUE(fresh.spawn(2).ok());
  ASSERT_TRUE(fresh.wait_ready(1, kPatience).ok());

  // Node 3 with its directory of old, and the new cluster's id.
  std::filesystem::remove_all(fresh.data_directory(3));
  std::filesystem::copy(cluster_->data_directory(3),
                        fresh.data_directory(3),
                        std::filesystem::copy_options::recursive);
  std::filesystem::permissions(fresh.data_directory(3), std::filesystem::perms::owner_all);
  ASSERT_TRUE(fresh.spawn(3).ok());
  EXPECT_FALSE(fresh.wait_ready(3, kPatience).ok());
  EXPECT_THAT(file_text(fresh.log_file(3)), HasSubstr("GC2003"));
  fresh.kill(3);

  // The same as the node of the old cluster that it is: later options count.
  std::vector<std::string> arguments = fresh.arguments(3);
  const auto named = std::ranges::find(arguments, "--cluster-id");
  ASSERT_NE(named, arguments.end());
  arguments.erase(named, named + 2);
  arguments.erase(arguments.begin());
  ChildOptions options = program("gcoordd", arguments);
  options.error_file = (directory_.path() / "old-3.log").string();
  auto old_node = ChildProcess::start(options);
  ASSERT_TRUE(old_node.ok());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  nlohmann::json peers;
  bool refused = false;
  while (!refused && std::chrono::steady_clock::now() < deadline) {
    const Finished status = Ctl(fresh.endpoints()[0])({"-o", "json", "status"});
    for (const auto& node : status.json().value("nodes", nlohmann::json::array())) {
      peers = node.value("peers", nlohmann::json::array());
      refused = refused || peers.dump().find("cluster") != std::string::npos;
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(refused) << peers.dump();
  old_node.value().kill_now();
  fresh.kill(1);
  fresh.kill(2);
}

// Two of three that nobody restored are a majority of nothing.
TEST_F(SnapshotProcessTest, NodesThatBeginWithNothingUnderTheNewIdDecideNothing) {
  start();
  calls_.acquire(*ctl_, "a");
  ctl_->json({"snapshot", "save", file()});
  cluster_->stop_all(kPatience);
  const std::filesystem::path place = directory_.path() / "new";
  const chaos::LocalCluster unnamed = planned(place);
  const std::string id = restore_all(file(), unnamed);
  chaos::LocalCluster fresh = planned(place, {"--cluster-id", id});
  std::filesystem::remove_all(fresh.data_directory(2));
  std::filesystem::remove_all(fresh.data_directory(3));
  // The first refuses the others, so none of the three hears a majority.
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    ASSERT_TRUE(fresh.spawn(node).ok());
  }
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    ASSERT_TRUE(fresh.wait_serving(node, kPatience).ok());
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  nlohmann::json nodes;
  while (nodes.dump().find("not restored") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    nodes = ctl_of(fresh)({"-o", "json", "status"}).json().value("nodes", nlohmann::json::array());
    std::this_thread::yield();
  }
  ASSERT_EQ(nodes.size(), 3u) << nodes.dump();
  EXPECT_THAT(nodes.dump(), HasSubstr("not restored"));
  for (const auto& node : nodes) {
    EXPECT_EQ(node.value("leaders", 1u), 0u) << node.dump();
  }
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    fresh.kill(node);
  }
}

TEST_F(SnapshotProcessTest, ASaveWhoseNodeDiesLeavesNoFile) {
  start();
  // The node cannot answer before it dies, so no speed of a machine lets the save end well.
  cluster_->signal(1, SIGSTOP);
  ChildProcess save = ctl_of_node(1).start({"--timeout", "60s", "snapshot", "save", file()});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!std::filesystem::exists(file() + ".part") &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(std::filesystem::exists(file() + ".part"));
  cluster_->kill(1);
  EXPECT_NE(save.wait_for(kPatience).value_or(0), 0);
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_FALSE(std::filesystem::exists(file() + ".part"));
}

TEST_F(SnapshotProcessTest, ASaveThatIsKilledLeavesNoFileAndTheNextOneWorks) {
  start();
  cluster_->signal(1, SIGSTOP);
  ChildProcess save = ctl_of_node(1).start({"--timeout", "60s", "snapshot", "save", file()});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!std::filesystem::exists(file() + ".part") &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  save.kill_now();
  EXPECT_FALSE(std::filesystem::exists(file()));
  const Finished inspected =
      run("gcoordctl", {"-o", "json", "snapshot", "inspect", file() + ".part"});
  EXPECT_EQ(inspected.code, 1);
  EXPECT_EQ(inspected.error_code(), "GC8303");
  cluster_->signal(1, SIGCONT);
  EXPECT_EQ(ctl_of_node(1)
                .json({"--timeout", "60s", "snapshot", "save", file(), "--node", "1"})
                .value("node", 0),
            1);
  EXPECT_EQ(run("gcoordctl", {"snapshot", "inspect", file()}).code, 0);
}

// Killed wherever it happens to be: the file is whole or is not there.
TEST_F(SnapshotProcessTest, ANodeThatDiesInTheMiddleOfASaveLeavesAWholeFileOrNone) {
  start();
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove(file());
    ChildProcess save =
        ctl_of_node(1).start({"--timeout", "5s", "snapshot", "save", file(), "--node", "1"});
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::error_code none;
    while (std::filesystem::file_size(file() + ".part", none) + 1 <= 1 &&
           !std::filesystem::exists(file()) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    cluster_->kill(1);
    const int code = save.wait_for(kPatience).value_or(-1);
    const bool there = std::filesystem::exists(file());
    EXPECT_EQ(code == 0, there);
    if (there) {
      EXPECT_EQ(run("gcoordctl", {"snapshot", "inspect", file()}).code, 0);
    }
    ASSERT_TRUE(cluster_->spawn(1).ok());
    ASSERT_TRUE(cluster_->wait_ready(1, kPatience).ok());
  }
}

TEST_F(SnapshotProcessTest, ADiskWithoutSpaceFailsTheSaveAndKeepsTheOlderFile) {
  start();
  ctl_->json({"snapshot", "save", file()});
  // No byte of the file can be written; the signal that comes with that is ignored.
  ChildOptions options =
      program("gcoordctl", ctl_->with_endpoints({"-o", "json", "snapshot", "save", file()}));
  options.arguments.insert(options.arguments.begin(),
                           {"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"});
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  Finished failed;
  failed.out = child.value().read_all(kPatience);
  failed.code = child.value().wait_for(kPatience).value_or(-1);
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.error_code(), "GC8308") << failed.out;
  EXPECT_EQ(run("gcoordctl", {"snapshot", "inspect", file()}).code, 0);
}

// The number behind the phrase, if both are there.
std::optional<std::uintmax_t> number_behind(const std::string& text, const std::string& phrase) {
  const std::size_t at = text.find(phrase);
  std::uintmax_t number = 0;
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const char* const first = text.data() + at + phrase.size();
  const bool read = std::from_chars(first, text.data() + text.size(), number).ec == std::errc{};
  return read ? std::optional{number} : std::nullopt;
}

// Whether the text names this very byte; or the bytes around it, when it is of the sum by which a
// flipped bit is found: "bytes 17 to 25".
bool names_place(const std::string& text, std::uintmax_t place) {
  if (const auto byte = number_behind(text, "of byte ")) {
    return *byte == place;
  }
  const auto first = number_behind(text, "bytes ");
  const auto last =
      first ? number_behind(text, "bytes " + std::to_string(*first) + " to ") : std::nullopt;
  return last && *first <= place && place <= *last;
}

TEST_F(SnapshotProcessTest, ADamagedFileIsNeitherShownNorRestored) {
  start();
  ctl_->json({"snapshot", "save", file()});
  const auto size = std::filesystem::file_size(file());
  {
    std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(size / 2));
    const int before = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(size / 2));
    bytes.put(static_cast<char>(before ^ 8));
  }
  const Finished inspected = run("gcoordctl", {"-o", "json", "snapshot", "inspect", file()});
  EXPECT_EQ(inspected.error_code(), "GC8304") << inspected.out;
  EXPECT_TRUE(names_place(inspected.out, size / 2)) << size / 2 << ": " << inspected.out;
  const std::string directory = (directory_.path() / "restored").string();
  const Finished restored = run("gcoordctl",
                                {"-o",
                                 "json",
                                 "snapshot",
                                 "restore",
                                 file(),
                                 "--data-dir",
                                 directory,
                                 "--node",
                                 "1",
                                 "--nodes",
                                 "1"});
  EXPECT_EQ(restored.error_code(), "GC8304");
  EXPECT_FALSE(std::filesystem::exists(directory)) << "what was begun is removed";
}

}  // namespace
}  // namespace gcoord::cli
