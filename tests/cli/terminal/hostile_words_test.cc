// A node that sends what would control the operator's terminal.
#include "protocol/lock_messages.h"
#include "tests/cli/programs.h"
#include "tests/client/fake_cluster.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using client::FakeCluster;
using client::FakeReply;
using client::FakeRequest;
using testing::HasSubstr;

// A title, a cleared screen by C1, turned text, and a byte that is no text.
const std::string kHostile = "\x1b]0;owned\a\u009b2J\u202e\nx\xff";
const std::string kShown = R"(\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{a}x)";

FakeReply refused(const FakeRequest& request) {
  FakeReply reply = error_reply(request, protocol::ErrorCode::LockAbsent);
  reply.slot.code = StatusCode::Internal;
  reply.slot.detail = 0;
  reply.payload = kHostile;
  return reply;
}

FakeReply listed(const FakeRequest& request) {
  protocol::LockRow row;
  row.name = "\u009b2J\u202e\u65e5";
  row.note = kHostile;
  row.holder = SessionId{3};
  row.token = FencingToken{7};
  FakeReply reply = ok_reply(request);
  reply.payload = protocol::text_of(request.slot.kind == protocol::RequestKind::LockList
                                        ? protocol::encode_list_page({.rows = {row}})
                                        : protocol::encode_lock_details(row));
  return reply;
}

// Nothing but text and line feeds.
void expect_printable(const std::string& text) {
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    EXPECT_TRUE(value == '\n' || (value >= 0x20 && value != 0x7f && value != 0xff)) << text;
  }
  for (const char* control : {"\u009b", "\u202e"}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(control)));
  }
}

TEST(HostileWords, A12AnErrorTextOfANodeIsPrintedWithoutItsControls) {
  FakeCluster cluster{1};
  cluster.answer_with(refused);
  const Ctl ctl{cluster.endpoints().front()};
  const Finished table = ctl({"lock", "get", "a"});
  EXPECT_NE(table.code, 0);
  EXPECT_THAT(table.err, HasSubstr(kShown));
  expect_printable(table.err);
  const Finished json = ctl({"-o", "json", "lock", "get", "a"});
  expect_printable(json.out);
  EXPECT_THAT(json.json()["error"]["message"].get<std::string>(), HasSubstr("\u009b2J\u202e"));
}

TEST(HostileWords, A12NamesAndNotesOfBeforeArePrintedWithoutTheirControls) {
  FakeCluster cluster{1};
  cluster.answer_with(listed);
  const Ctl ctl{cluster.endpoints().front()};
  const Finished table = ctl({"lock", "ls"});
  EXPECT_EQ(table.code, 0) << table.err;
  expect_printable(table.out);
  EXPECT_THAT(table.out, HasSubstr("NAME                TOKEN"));
  EXPECT_THAT(table.out, HasSubstr("\\u{9b}2J\\u{202e}\u65e5  7"));
  const std::string name = "\u009b2J\u202e\u65e5";
  const Finished facts = ctl({"lock", "get", name});
  EXPECT_EQ(facts.code, 0) << facts.err;
  expect_printable(facts.out);
  const Finished json = ctl({"-o", "json", "lock", "ls"});
  expect_printable(json.out);
  EXPECT_EQ(json.json()["locks"][0]["name"], name);
}

}  // namespace
}  // namespace gcoord::cli
