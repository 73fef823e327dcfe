// A cluster by hand in three commands: those that `gcoordctl cluster init` prints.
#include "tests/cli/cluster/cluster_ports.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

// A line of the output, as somebody types it.
ChildProcess typed(const std::string& line) {
  ChildOptions options;
  options.arguments = {"/bin/sh", "-c", "exec " + line};
  options.capture_output = true;
  const std::string programs = chaos::program_beside("gcoordd").parent_path().string();
  options.environment = {{"PATH", programs + ":" + std::getenv("PATH")}};
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child.ok()) << child.status().to_string();
  return std::move(child).value();
}

TEST(ClusterInit, WhatItPrintsStartsThreeNodesThatGrantALock) {
  const ScratchFolder folder;
  const std::uint16_t port = first_port();
  ASSERT_NE(port, 0);
  const std::string directory = (folder.path() / "my cluster").string();
  const std::vector<std::string> init = {"cluster",
                                         "init",
                                         "--nodes",
                                         "3",
                                         "--dir",
                                         directory,
                                         "--client-port",
                                         std::to_string(port),
                                         "--shards",
                                         "16"};
  const Finished made = run("gcoordctl", init);
  ASSERT_EQ(made.code, 0) << made.err;
  std::vector<ChildProcess> nodes;
  std::istringstream lines(made.out);
  for (std::string line; std::getline(lines, line);) {
    nodes.push_back(typed(line));
  }
  ASSERT_EQ(nodes.size(), 3u) << made.out;
  for (ChildProcess& node : nodes) {
    const auto ready = node.read_line(kPatience);
    ASSERT_TRUE(ready.has_value());
    EXPECT_TRUE(ready->starts_with("gcoordd ready: client 127.0.0.1:")) << *ready;
  }
  const std::string marker = "GCOORD_ENDPOINTS=";
  const std::size_t at = made.err.find(marker);
  ASSERT_NE(at, std::string::npos) << made.err;
  const std::string endpoints =
      made.err.substr(at + marker.size(), made.err.find('\n', at) - at - marker.size());
  EXPECT_EQ(Ctl{endpoints}.json({"lock", "acquire", "first", "--ttl", "30s"})["name"], "first");
  EXPECT_EQ(Ctl{endpoints}.json({"status"})["nodes"].size(), 3u);
  const std::string ledger = "http://127.0.0.1:" + std::to_string(port + 300);
  const Finished keys = run("gcoordctl", {"ledger", "keys", "--ledger", ledger});
  EXPECT_EQ(keys.code, 0) << keys.err;

  EXPECT_NE(made.err.find("context set gcoord --endpoints " + endpoints), std::string::npos);

  const Finished again = run("gcoordctl", init);
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("is there already"), std::string::npos) << again.err;
}

TEST(ClusterInit, WithHostsItSaysWhichFileGoesWhere) {
  const ScratchFolder folder;
  const Finished made = run("gcoordctl",
                            {"-o",
                             "json",
                             "cluster",
                             "init",
                             "--hosts",
                             "10.0.0.1,10.0.0.2,10.0.0.3",
                             "--insecure",
                             "--dir",
                             folder.path() / "made"});
  ASSERT_EQ(made.code, 0) << made.out;
  const auto json = made.json();
  EXPECT_EQ(json["endpoints"], "10.0.0.1:7400,10.0.0.2:7400,10.0.0.3:7400");
  EXPECT_EQ(json["nodes"][2]["peer"], "10.0.0.3:7500");
  EXPECT_EQ(json["nodes"][2]["ledger"], "127.0.0.1:7700");
  EXPECT_EQ(json["nodes"][2]["data_dir"], "/var/lib/gcoord");
  EXPECT_EQ(json["nodes"][2]["configuration"], (folder.path() / "made" / "node-3.toml").string());
  EXPECT_EQ(json["nodes"][2]["command"], "gcoordd --config /etc/gcoord/node-3.toml");
}

}  // namespace
}  // namespace gcoord::cli
