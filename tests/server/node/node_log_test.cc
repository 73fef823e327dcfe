// Lines of the log about peers: each change once, with its reason.
#include "server/node/node_log.h"

#include "server/log_levels/present.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace gcoord::server {
namespace {

using netcore::LinkState;
using testing::HasSubstr;
using testing::Not;

class NodeLogTest : public testing::Test {
 protected:
  NodeLogTest() {
    const auto logger = std::make_shared<spdlog::logger>(
        "node", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l %n: %v");
    spdlog::set_default_logger(logger);
    set_log_levels(LogLevels::all(LogLevel::Debug));
    view_.peers.resize(2);
    view_.peers[0].link = {.id = NodeId{2}, .address = "10.0.0.2:7500"};
    view_.peers[0].live = true;  // A majority, whose own lines would be in the way.
    view_.peers[1].link = {.id = NodeId{3}, .address = "10.0.0.3:7500"};
    look();
  }

  ~NodeLogTest() override {
    spdlog::set_default_logger(logger_before_);
    set_log_levels(levels_before_);
  }

  // What one look adds.
  std::string look() {
    text_.str("");
    log_.on_look(view_);
    return text_.str();
  }

  netcore::PeerStatus& link() { return view_.peers[1].link; }

  void set(LinkState state, bool live) {
    link().state = state;
    view_.peers[1].live = live;
  }

  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
  const LogLevels levels_before_ = log_levels();
  std::ostringstream text_;
  NodeView view_;
  NodeLog log_;
};

TEST_F(NodeLogTest, APeerThatComesAndGoesHasALineForEachChange) {
  link().incarnation = Incarnation{4};
  link().transport = "tcp";
  set(LinkState::Up, true);
  EXPECT_EQ(
      look(),
      "debug peers: the link to node 3 at 10.0.0.3:7500 is up, and was idle; credit stalls 0, "
      "reconnects 0\n"
      "info peers: node 3 at 10.0.0.3:7500 is up, incarnation 4, over tcp\n");
  EXPECT_EQ(look(), "");
  link().last_error = "Connection reset by peer";
  link().traffic.reconnects = 1;
  set(LinkState::Dialing, false);
  EXPECT_EQ(
      look(),
      "debug peers: the link to node 3 at 10.0.0.3:7500 is dialing, and was up; credit stalls "
      "0, reconnects 1; Connection reset by peer\n"
      "warning peers: node 3 at 10.0.0.3:7500 is down: Connection reset by peer\n");
  EXPECT_EQ(look(), "");
}

TEST_F(NodeLogTest, ALinkThatIsUpWhileItsPeerIsSilentSaysSo) {
  set(LinkState::Up, true);
  look();
  set(LinkState::Up, false);
  EXPECT_EQ(look(), "warning peers: node 3 at 10.0.0.3:7500 is down: it does not answer\n");
}

TEST_F(NodeLogTest, ARefusalIsToldOnceForEachReason) {
  link().last_error = "another cluster";
  set(LinkState::Refused, false);
  EXPECT_THAT(look(), HasSubstr("error peers: node 3 at 10.0.0.3:7500 refuses this node: another"));
  EXPECT_THAT(look(), Not(HasSubstr("refuses")));
  link().last_error = "an old copy";
  EXPECT_THAT(look(), HasSubstr("refuses this node: an old copy"));
}

TEST_F(NodeLogTest, WithoutDebugOnlyPeersHaveLines) {
  set_log_levels(LogLevels::all(LogLevel::Plain));
  set(LinkState::Up, true);
  EXPECT_THAT(look(), Not(HasSubstr("the link to")));
}

}  // namespace
}  // namespace gcoord::server
