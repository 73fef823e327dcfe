#include "chaos/process/free_ports.h"
#include "chaos/process/local_cluster.h"
#include "chaos/process/resource_usage.h"
#include "chaos/process/scratch_directory.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace gcoord::chaos {
namespace {

TEST(FreePorts, AreDistinct) {
  const auto ports = free_ports(32);
  ASSERT_TRUE(ports.ok());
  EXPECT_EQ(std::set<std::uint16_t>(ports.value().begin(), ports.value().end()).size(), 32u);
}

TEST(ScratchDirectory, GoesAwayWithItsObjectUnlessItIsKept) {
  const ScratchFolder parent;
  std::filesystem::path gone;
  std::filesystem::path kept;
  {
    auto first = ScratchDirectory::make(parent.path(), "scratch");
    auto second = ScratchDirectory::make(parent.path(), "scratch");
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(second.ok());
    second.value().keep();
    gone = first.value().path();
    kept = second.value().path();
    std::ofstream{gone / "file"} << "text";
    EXPECT_TRUE(std::filesystem::exists(gone / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(gone));
  EXPECT_TRUE(std::filesystem::exists(kept));
}

TEST(ResourceUsage, SaysWhatThisProcessTakes) {
  const auto usage = resource_usage(::getpid());
  ASSERT_TRUE(usage.ok());
  EXPECT_GT(usage.value().resident_bytes, usage.value().resident_anonymous_bytes);
  EXPECT_GT(usage.value().resident_anonymous_bytes, 0u);
}

TEST(ResourceUsage, OfNoProcessIsAnError) {
  EXPECT_EQ(resource_usage(0).status().code(), StatusCode::NotFound);
}

TEST(LocalCluster, WithoutItsProgramSaysHowToBuildIt) {
  const auto cluster = LocalCluster::plan({.program = "/nowhere/gcoordd", .directory = "/nowhere"});
  EXPECT_EQ(cluster.status().code(), StatusCode::NotFound);
  EXPECT_NE(cluster.status().message().find("./gcoord build"), std::string::npos);
}

TEST(LocalCluster, ANodeThatEndsIsReportedWithTheEndOfItsLog) {
  const ScratchFolder scratch;
  const auto program = scratch.path() / "broken";
  std::ofstream{program} << "#!/bin/sh\necho 'the disk is on fire' >&2\nexit 1\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto cluster = LocalCluster::plan({.program = program, .directory = scratch.path()});
  ASSERT_TRUE(cluster.ok());
  const Status started = cluster.value().start_all(std::chrono::seconds{30});
  EXPECT_EQ(started.code(), StatusCode::Unavailable);
  EXPECT_NE(started.message().find("the disk is on fire"), std::string::npos);
}

TEST(LocalCluster, EachLifeOfANodeHasFlagsOfItsOwn) {
  const ScratchFolder scratch;
  const auto program = scratch.path() / "speaks";
  std::ofstream{program} << "#!/bin/sh\necho \"$@\" >&2\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto planned =
      LocalCluster::plan({.program = program,
                          .directory = scratch.path(),
                          .node_count = 1,
                          .arguments_of_life = [](auto node, auto life) {
                            return std::vector<std::string>{"--threads-of-" + std::to_string(node),
                                                            std::to_string(life)};
                          }});
  ASSERT_TRUE(planned.ok());
  LocalCluster& cluster = planned.value();
  for (int life = 1; life <= 2; ++life) {
    ASSERT_TRUE(cluster.spawn(1).ok());
    EXPECT_EQ(cluster.wait_exit(1, std::chrono::seconds{30}), 0);
    EXPECT_EQ(cluster.arguments(1).back(), std::to_string(life));
  }
  std::ifstream log{cluster.log_file(1)};
  const std::string said{std::istreambuf_iterator<char>{log}, {}};
  EXPECT_NE(said.find("--threads-of-1 1\n"), std::string::npos) << said;
  EXPECT_NE(said.find("--threads-of-1 2\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace gcoord::chaos
