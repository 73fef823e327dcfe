// What a node's log says of its links to peers that come, are killed and come back.
#include "chaos/process/local_cluster.h"
#include "tests/cli/line_fifo.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LinkLinesProcess, APeerThatComesGoesAndComesBackHasItsLines) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "log").string();
  LineFifo log(file);
  chaos::LocalClusterOptions options;
  options.program = chaos::program_beside("gcoordd");
  options.directory = folder.path();
  options.shards = 16;
  options.arguments_of_node = {{"--log-file", file, "--log-level", "info,peers=debug"}, {}, {}};
  auto planned = chaos::LocalCluster::plan(options);
  ASSERT_TRUE(planned.ok()) << planned.status().to_string();
  chaos::LocalCluster cluster = std::move(planned).value();
  ASSERT_TRUE(cluster.start_all(kPatience).ok());
  const std::string peer = "node 3 at 127.0.0.1:" + std::to_string(cluster.peer_port(3)) + " is ";
  EXPECT_THAT(log.line_with("debug node 1 peers: the link to " + peer + "up"),
              AllOf(HasSubstr(", and was "), HasSubstr("; credit stalls ")));
  EXPECT_THAT(log.line_with("info node 1 peers: " + peer + "up"),
              HasSubstr(", incarnation 1, over tcp"));
  cluster.kill(3);
  EXPECT_THAT(log.line_with("debug node 1 peers: the link to " + peer),
              AllOf(HasSubstr(", and was up; credit stalls "), HasSubstr(", reconnects ")));
  EXPECT_THAT(log.line_with("warning node 1 peers: " + peer), HasSubstr(" is down: "));
  ASSERT_TRUE(cluster.spawn(3).ok());
  EXPECT_THAT(log.line_with("info node 1 peers: " + peer + "up"),
              HasSubstr(", incarnation 2, over tcp"));
}

}  // namespace
}  // namespace gcoord::cli
