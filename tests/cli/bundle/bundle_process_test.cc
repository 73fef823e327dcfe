// `gcoordctl debug bundle` of real nodes: all well, one of them stopped, none of them there.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"
#include "tests/server/http/raw_http.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using server::http_answer;
using server::RawHttp;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::uint16_t port_of(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
}

// A bundle, unpacked by tar.
class Unpacked {
 public:
  explicit Unpacked(const std::string& file) {
    ChildOptions options;
    options.arguments = {"/usr/bin/env", "tar", "-C", folder_.path().string(), "-xzf", file};
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    EXPECT_EQ(child.value().wait_for(kPatience), 0);
  }

  std::string text(const std::string& name) const {
    return file_text(folder_.path() / "gcoord-debug" / name);
  }

  nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(text(name), nullptr, false);
  }

  // All files below the folder, with their content.
  std::string everything() const {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      all += entry.is_regular_file() ? file_text(entry.path()) : "";
    }
    return all;
  }

  // The file's content is that of which the manifest speaks.
  void check_manifest() const {
    for (const auto& file : json("manifest.json")["files"]) {
      const std::string content = text(file["name"]);
      EXPECT_EQ(file["bytes"], std::to_string(content.size())) << file;
      EXPECT_FALSE(file["cut"]) << file;
    }
  }

 private:
  const ScratchFolder folder_;
};

class BundleProcessTest : public testing::Test {
 protected:
  std::string file(const std::string& name = "bundle.tar.gz") const {
    return (folder_.path() / name).string();
  }

  std::vector<std::string> words(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"debug", "bundle", "--seconds", "1", "--out", file()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const ScratchFolder folder_;
};

class BundleOfThreeTest : public BundleProcessTest {
 protected:
  BundleOfThreeTest() {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 16;
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
  }

  Ctl ctl() const { return Ctl{comma_list(cluster_->endpoints())}; }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

TEST_F(BundleOfThreeTest, AStoppedNodeIsAGapAndTheOthersAreAllThere) {
  ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  cluster_->kill(3);
  const auto told = ctl().json(words(), 3);
  EXPECT_EQ(told["complete"], false);

  struct stat facts {};

  ASSERT_EQ(::stat(file().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  EXPECT_EQ(told["bytes"], std::to_string(facts.st_size));
  const Unpacked bundle(file());
  bundle.check_manifest();
  for (const std::string node : {"node-1/", "node-2/"}) {
    EXPECT_THAT(bundle.text(node + "metrics-1.txt"), HasSubstr("gcoord_server_turns_total"));
    EXPECT_THAT(bundle.text(node + "metrics-2.txt"), HasSubstr("gcoord_server_turns_total"));
    EXPECT_THAT(bundle.text(node + "config.toml"), HasSubstr("\nshards = 16  # "));
    EXPECT_THAT(bundle.text(node + "log.txt"), HasSubstr(" node "));
    EXPECT_EQ(bundle.json(node + "livez.json")["live"], true);
    EXPECT_EQ(bundle.json(node + "readyz.json")["ready"], true);
    EXPECT_FALSE(bundle.json(node + "build.json")["version"].get<std::string>().empty());
    EXPECT_THAT(bundle.json(node + "threads.json")["threads"], Not(IsEmpty()));
  }
  EXPECT_EQ(bundle.json("status.json")["nodes"].size(), 3u);
  EXPECT_EQ(bundle.json("status.json")["nodes"][1]["shards"], 16);
  EXPECT_EQ(bundle.json("doctor.json")["healthy"], false);
  const auto manifest = bundle.json("manifest.json");
  EXPECT_TRUE(manifest["nodes"][0]["clock"]["ahead_ms"].is_number_integer());
  EXPECT_EQ(manifest["nodes"][2]["reachable"], false);
  std::size_t of_the_third = 0;
  for (const auto& gap : manifest["gaps"]) {
    // Profiles of processors are off where nobody has allowed them.
    EXPECT_EQ(gap["failed"], gap["node"] == 3) << gap;
    of_the_third += gap["node"] == 3 ? 1 : 0;
  }
  EXPECT_EQ(of_the_third, 10u) << "its report and nine pages";
}

TEST_F(BundleOfThreeTest, ANodeThatHangsTakesNoLongerThanTheDeadline) {
  ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  cluster_->signal(2, SIGSTOP);
  const auto told = ctl().json(words({"--timeout", "3s"}), 3);
  cluster_->signal(2, SIGCONT);
  std::size_t of_the_second = 0;
  std::size_t waited_for = 0;
  for (const auto& gap : told["gaps"]) {
    const std::string why = gap["why"];
    const bool spared = why.starts_with("not tried: ") || why.starts_with("the time is over");
    of_the_second += gap["node"] == 2 ? 1 : 0;
    waited_for += gap["node"] == 2 && !spared ? 1 : 0;
  }
  EXPECT_EQ(of_the_second, 10u) << "its report and nine pages";
  EXPECT_LE(waited_for, 2u) << "its report and the first of its pages";
}

TEST_F(BundleOfThreeTest, WithoutTheClientPortsTheUserSaysWhereThePagesAre) {
  ASSERT_TRUE(cluster_->spawn(1).ok());
  ASSERT_TRUE(cluster_->wait_serving(1, kPatience).ok());
  // Nobody listens at port 1: what is left are the pages.
  const std::string pages = "http://127.0.0.1:" + std::to_string(cluster_->metrics_port(1));
  const auto told = Ctl{"127.0.0.1:1"}.json(words({"--metrics", pages}), 3);
  EXPECT_EQ(told["nodes"].front()["node"], 1);
  const Unpacked bundle(file());
  EXPECT_THAT(bundle.text("node-1/readyz.json"), HasSubstr("majority"));
  EXPECT_THAT(bundle.text("node-1/log.txt"), Not(IsEmpty()));
}

TEST_F(BundleProcessTest, ANodeThatIsWellIsCompleteAndHasNoSecrets) {
  // Variables of a process are its operator's, and a node's peers are none of those.
  ::setenv("PLANTED_PASSWORD", "hunter2-of-the-environment", 1);
  DevNode node({"--listen-metrics", "127.0.0.1:0", "--log-level", "info"});
  ::unsetenv("PLANTED_PASSWORD");
  const auto told = node.ctl().json(words());
  EXPECT_EQ(told["complete"], true);
  const Unpacked bundle(file());
  EXPECT_THAT(bundle.everything(), Not(HasSubstr("hunter2")));
  // The addresses that the system chose.
  EXPECT_THAT(bundle.text("node-1/config.toml"),
              AllOf(HasSubstr("listen_client = \"" + node.endpoint() + "\""),
                    HasSubstr("listen_metrics = \"" + node.metrics() + "\"")));
}

TEST_F(BundleProcessTest, WithoutPagesThereIsStillTheReport) {
  DevNode node;
  const auto told = node.ctl().json(words(), 1);
  EXPECT_EQ(told["complete"], false);
  EXPECT_THAT(told["gaps"][0]["why"].get<std::string>(), HasSubstr("--listen-metrics"));
  const Unpacked bundle(file());
  EXPECT_EQ(bundle.json("status.json")["nodes"][0]["reachable"], true);
  EXPECT_TRUE(bundle.json("doctor.json").contains("healthy"));
}

TEST_F(BundleProcessTest, NothingThatIsThereIsWrittenOver) {
  std::ofstream(file("victim")) << "theirs";
  std::filesystem::create_symlink(file("victim"), file());
  DevNode node;
  const Finished finished = node.ctl()(words());
  EXPECT_EQ(finished.code, 2) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("GC1001"));
  EXPECT_EQ(file_text(file("victim")), "theirs");
}

TEST_F(BundleProcessTest, NobodyThereIsNoBundle) {
  const Finished finished = Ctl{"127.0.0.1:1"}(words());
  EXPECT_EQ(finished.code, 3);
  EXPECT_THAT(finished.err, HasSubstr("GC3001"));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(BundleProcessTest, AReloadShowsInTheConfigurationWithItsSource) {
  const std::string config = file("node.toml");
  std::ofstream(config) << "log_level = \"warn\"\n";
  DevNode node({"--listen-metrics", "127.0.0.1:0", "--config", config});
  const std::uint16_t port = port_of(node.metrics());
  EXPECT_THAT(http_answer(port, "GET /debug/config"), HasSubstr("\nlog_level = \"warn\"  # "));
  std::ofstream(config) << "log_level = \"debug\"\n";
  node.child().signal(SIGHUP);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string page;
  const std::string wanted = "\nlog_level = \"debug\"  # " + config;
  while (page.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    page = http_answer(port, "GET /debug/config");
  }
  EXPECT_THAT(page, HasSubstr(wanted));
  EXPECT_THAT(http_answer(port, "GET /debug/log"), HasSubstr("SIGHUP: options read"));
}

TEST_F(BundleProcessTest, SamplesHoldUpNeitherHealthNorTheEndOfANode) {
  DevNode node({"--listen-metrics", "127.0.0.1:0"});
  const std::uint16_t port = port_of(node.metrics());
  std::vector<RawHttp> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back(port);
    clients.back().send(
        "GET /debug/threads?seconds=30 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  EXPECT_THAT(http_answer(port, "GET /livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http_answer(port, "GET /metrics"), StartsWith("HTTP/1.1 200"));
  node.child().signal(SIGTERM);
  for (RawHttp& client : clients) {
    // One of them was cut off, the others were refused.
    EXPECT_THAT(client.read_to_end(), Not(StartsWith("HTTP/1.1 200")));
  }
  EXPECT_EQ(node.child().wait_for(kPatience), 0);
}

// It sampled to the end, up to 30 s, and refused everybody meanwhile.
TEST_F(BundleProcessTest, ASampleEndsSoonAfterItsClient) {
  DevNode node({"--listen-metrics", "127.0.0.1:0"});
  const std::uint16_t port = port_of(node.metrics());
  EXPECT_THAT(http_answer(port, "HEAD /debug/threads?seconds=30"), StartsWith("HTTP/1.1 405"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{25};
  std::optional<RawHttp> client;
  std::string other = "HTTP/1.1 200";  // Whose request is the first begins.
  while (!other.starts_with("HTTP/1.1 503") && std::chrono::steady_clock::now() < deadline) {
    client.reset();
    client.emplace(port);
    client->send("GET /debug/threads?seconds=30 HTTP/1.1\r\nHost: x\r\n\r\n");
    other = http_answer(port, "GET /debug/threads?seconds=1");
  }
  client.reset();
  while (!other.starts_with("HTTP/1.1 200") && std::chrono::steady_clock::now() < deadline) {
    other = http_answer(port, "GET /debug/threads?seconds=1");
  }
  EXPECT_THAT(other, StartsWith("HTTP/1.1 200"));
}

TEST_F(BundleProcessTest, AProfileIsThereWhereItIsAllowedAndPossible) {
  DevNode node({"--listen-metrics", "127.0.0.1:0", "--cpu-profiles"});
  const std::string probe = http_answer(port_of(node.metrics()), "GET /debug/profile?seconds=1");
  if (probe.starts_with("HTTP/1.1 501")) {
    GTEST_SKIP() << probe;
  }
  EXPECT_EQ(node.ctl().json(words())["complete"], true);
  const std::string profile = Unpacked(file()).text("node-1/cpu.pprof");
  EXPECT_TRUE(profile.starts_with(std::string(8, '\0') + "\3"));
  EXPECT_THAT(profile, HasSubstr("gcoordd"));
}

}  // namespace
}  // namespace gcoord::cli
