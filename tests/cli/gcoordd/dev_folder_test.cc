// The temporary directory of `gcoordd dev`.
#include "tests/cli/programs.h"

#include <algorithm>
#include <csignal>

namespace gcoord::cli {
namespace {

class DevFolder : public testing::Test {
 protected:
  // `dev` with its temporary directory in this test's folder; it serves.
  ChildProcess start() {
    ChildOptions options = program("gcoordd",
                                   {"dev",
                                    "--listen-client",
                                    "127.0.0.1:0",
                                    "--listen-peer",
                                    "127.0.0.1:0",
                                    "--listen-metrics",
                                    "off",
                                    "--shards",
                                    "4"});
    options.environment.emplace_back("TMPDIR", folder_.path().string());
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    EXPECT_TRUE(child.value().read_line(kPatience).has_value());
    return std::move(child).value();
  }

  std::ptrdiff_t folders() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()),
                         std::filesystem::directory_iterator());
  }

  const ScratchFolder folder_;
};

TEST_F(DevFolder, GoesWhenTheNodeEnds) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ChildProcess node = start();
    EXPECT_EQ(folders(), 1);
    node.signal(signal);
    EXPECT_EQ(node.wait_for(kPatience), 0);
    EXPECT_EQ(folders(), 0);
  }
}

TEST_F(DevFolder, OfAKilledNodeGoesWithTheNextOneAndOfALivingOneStays) {
  ChildProcess living = start();
  ChildProcess killed = start();
  EXPECT_EQ(folders(), 2);
  killed.signal(SIGKILL);
  killed.wait_for(kPatience);
  EXPECT_EQ(folders(), 2);
  ChildProcess next = start();
  EXPECT_EQ(folders(), 2);
  living.signal(SIGTERM);
  next.signal(SIGTERM);
  EXPECT_EQ(living.wait_for(kPatience), 0);
  EXPECT_EQ(next.wait_for(kPatience), 0);
  EXPECT_EQ(folders(), 0);
}

// Every directory of this name once went, if nobody had a lock on it.
TEST_F(DevFolder, ADirectoryThatDevDidNotMakeStays) {
  const std::filesystem::path mine = folder_.path() / "gcoord-dev-mine";
  std::filesystem::create_directories(mine / "precious");
  ChildProcess node = start();
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait_for(kPatience), 0);
  EXPECT_TRUE(std::filesystem::exists(mine / "precious"));
}

TEST_F(DevFolder, ALeftOneThatANodeUsesStays) {
  ChildProcess killed = start();
  killed.signal(SIGKILL);
  killed.wait_for(kPatience);
  const auto left = std::filesystem::directory_iterator(folder_.path())->path();
  ChildOptions options = program("gcoordd",
                                 {"dev",
                                  "--listen-client",
                                  "127.0.0.1:0",
                                  "--listen-peer",
                                  "127.0.0.1:0",
                                  "--listen-metrics",
                                  "off",
                                  "--shards",
                                  "4",
                                  "--data-dir",
                                  (left / "data").string()});
  auto user = ChildProcess::start(options);
  ASSERT_TRUE(user.ok() && user.value().read_line(kPatience).has_value());
  ChildProcess next = start();
  EXPECT_TRUE(std::filesystem::exists(left / "data"));
  next.signal(SIGTERM);
  next.wait_for(kPatience);
  user.value().signal(SIGTERM);
  EXPECT_EQ(user.value().wait_for(kPatience), 0);
}

}  // namespace
}  // namespace gcoord::cli
