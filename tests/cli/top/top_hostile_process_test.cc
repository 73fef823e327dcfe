// gcoordctl top against nodes that say what no node should.
#include "protocol/request.h"
#include "tests/cli/programs.h"
#include "tests/cli/top/top_terminal.h"
#include "tests/client/fake_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace gcoord::cli {
namespace {

using client::FakeCluster;
using client::FakeReply;
using client::FakeRequest;
using protocol::RequestKind;

TEST(TopHostile, AWatchThatANodeEndsIsBegunAgain) {
  bool refused = false;  // Of the cluster's thread, which ends before.
  FakeCluster cluster{1};
  cluster.answer_with([&refused](const FakeRequest& request) {
    if (request.slot.kind != RequestKind::WatchOpen) {
      return client::friendly_reply(request);
    }
    return std::exchange(refused, true) ? client::progress(request.slot.request_id, 5)
                                        : error_reply(request, protocol::ErrorCode::WatchCompacted);
  });
  TopTerminal terminal(
      Ctl{cluster.endpoints().front()}.with_endpoints({"top", "--interval", "100ms"}),
      {.ws_row = 24, .ws_col = 80});
  ASSERT_GE(cluster.wait_for(RequestKind::WatchOpen, 2).size(), 2u);
  ASSERT_TRUE(terminal.shows("no name has changed"));
  terminal.type("q");
  const int status = terminal.wait_for_change();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(TopHostile, WhoLeadsIsAskedAgainAfterARefusal) {
  FakeCluster cluster{1};
  cluster.answer_with([](const FakeRequest& request) {
    if (request.slot.kind == RequestKind::WatchOpen) {
      return client::progress(request.slot.request_id, 5);
    }
    return request.slot.kind == RequestKind::LeaderMap
               ? error_reply(request, protocol::ErrorCode::LockAbsent)
               : client::friendly_reply(request);
  });
  TopTerminal terminal(
      Ctl{cluster.endpoints().front()}.with_endpoints({"top", "--interval", "100ms"}),
      {.ws_row = 24, .ws_col = 80});
  ASSERT_TRUE(terminal.shows("0 of 1 nodes answer"));
  terminal.type("\r");
  EXPECT_GE(cluster.wait_for(RequestKind::LeaderMap, 2).size(), 2u);
}

TEST(TopHostile, NoWordsOfANodeFillASample) {
  FakeCluster cluster{1};
  cluster.answer_with([](const FakeRequest& request) {
    if (request.slot.kind == RequestKind::WatchOpen) {
      return client::progress(request.slot.request_id, 5);
    }
    FakeReply reply = ok_reply(request);
    reply.payload = R"({"metrics": ")" + std::string(500'000, 'x') + R"("})";
    return reply;
  });
  const Finished shown =
      Ctl{cluster.endpoints().front()}({"-o", "json", "top", "--interval", "100ms", "--once"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::HasSubstr("an address that is none"));
  EXPECT_LT(shown.out.size(), 4'000u);
}

}  // namespace
}  // namespace gcoord::cli
