// gcoordctl log level at a running node: levels are shown, set and kept, and the node writes down
// who asked.
#include "tests/cli/line_fifo.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <csignal>
#include <string>

namespace gcoord::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LevelProcessTest : public testing::Test {
 protected:
  ~LevelProcessTest() override {
    node_.child().signal(SIGTERM);
    EXPECT_EQ(node_.child().wait_for(kPatience), 0);
  }

  // Of the only node.
  std::string level(const std::string& component) const {
    const auto nodes = ctl_.json({"log", "level"})["nodes"];
    return nodes[0]["levels"][component];
  }

  const ScratchFolder folder_;
  const std::string path_ = (folder_.path() / "log").string();
  LineFifo log_{path_};
  DevNode node_{{"--log-file", path_}};
  const Ctl ctl_ = node_.ctl();
};

TEST_F(LevelProcessTest, LevelsAreShownAndSetAndTheNodeSaysWhoAsked) {
  EXPECT_EQ(level("peers"), "warn");
  const Finished set = ctl_({"log", "level", "peers=debug", "--node", "1"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_THAT(set.out, HasSubstr("warn,peers=debug"));
  EXPECT_THAT(log_.line_with("log levels are"),
              AllOf(HasSubstr("info node 1 node: log levels are warn,peers=debug until this node "
                              "ends, and were warn; asked on "),
                    HasSubstr("of 127.0.0.1:"),
                    HasSubstr("(\"gcoordctl\")")));
  EXPECT_EQ(level("peers"), "debug");
  EXPECT_EQ(level("node"), "warn");
}

TEST_F(LevelProcessTest, SighupKeepsWhatWasSetByRequest) {
  ctl_.json({"log", "level", "node=info,disk=off"});
  node_.child().signal(SIGHUP);
  log_.line_with("SIGHUP: options read; changed: none");
  EXPECT_EQ(level("disk"), "off");
}

TEST_F(LevelProcessTest, WhatIsWrongIsRefusedByTheNode) {
  const Finished refused = ctl_({"log", "level", "peer=debug"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.out, AllOf(HasSubstr("GC1001"), HasSubstr("there are node, peers")));
  EXPECT_EQ(ctl_({"log", "level", "--node", "9"}).code, 2);
}

// An error of the node has the name under which its log knows the request.
TEST(RequestNameProcessTest, AnErrorOfANodeNamesTheRequest) {
  DevNode node({"--locks-max", "1"});
  const Ctl ctl = node.ctl();
  ctl.json({"lock", "acquire", "a", "--ttl", "10m"});
  const Finished refused = ctl({"lock", "acquire", "b", "--try", "--ttl", "10m"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("GC6012"),
                    testing::ContainsRegex("\\(request [0-9]+\\.[0-9]+/[0-9]+ of node 1\\)")));
  const Finished busy = ctl({"lock", "acquire", "a", "--try", "--ttl", "10m"});
  EXPECT_EQ(busy.code, 6);
  EXPECT_THAT(busy.err, testing::Not(HasSubstr("(request ")));
  node.child().signal(SIGTERM);
  EXPECT_EQ(node.child().wait_for(kPatience), 0);
}

}  // namespace
}  // namespace gcoord::cli
