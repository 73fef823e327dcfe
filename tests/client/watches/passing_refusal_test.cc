// A watch is opened at another node where one refuses it for a reason that passes.
#include "tests/client/client_fixture.h"
#include "tests/client/fake_watches.h"

#include <atomic>
#include <optional>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

class PassingRefusalTest : public ClientTest {};

// GC6561: the node could not confirm in time that it knows the newest roles.
TEST_F(PassingRefusalTest, ANodeThatDoesNotKnowTheNewestRolesIsLeftForAnother) {
  std::atomic<int> refused{0};
  cluster_.answer_with(
      [&refused, open = watches({}, {})](const FakeRequest& request) -> std::optional<FakeReply> {
        if (request.slot.kind == RequestKind::WatchOpen && refused++ == 0) {
          return error_reply(request, protocol::ErrorCode::RightsUnconfirmed);
        }
        return open(request);
      });
  ClientOptions how = options();
  how.clock = boot_clock();  // Attempts come with pauses.
  auto client = Client::connect(how);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  const auto watch = client.value().watch({.prefix = ""});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const auto opened = cluster_.requests(RequestKind::WatchOpen);
  ASSERT_GE(opened.size(), 2u);
  EXPECT_NE(opened[0].node, opened[1].node);
}

}  // namespace
}  // namespace gcoord::client
