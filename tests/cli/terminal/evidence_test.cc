// What an error says of each node.
#include "tests/cli/programs.h"
#include "tests/client/fake_cluster.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using client::FakeCluster;
using client::FakeRequest;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Evidence, AnEndpointThatNeverAnsweredIsNoNodeZero) {
  FakeCluster cluster{1};
  cluster.answer_with([](const FakeRequest& request) {
    return error_reply(request, protocol::ErrorCode::NoLeader);
  });
  const Ctl ctl{cluster.endpoints().front() + ",127.0.0.1:1"};
  const auto error = ctl.json({"--timeout", "300ms", "lock", "get", "a"}, 5)["error"];
  const auto evidence = error["evidence"].get<std::vector<std::string>>();
  EXPECT_THAT(evidence, Contains(HasSubstr("node 1 at " + cluster.endpoints().front())));
  EXPECT_THAT(evidence, Contains(HasSubstr("endpoint 127.0.0.1:1: ")));
  EXPECT_THAT(evidence, Not(Contains(HasSubstr("node 0"))));
}

}  // namespace
}  // namespace gcoord::cli
