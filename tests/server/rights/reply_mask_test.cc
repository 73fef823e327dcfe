// Masks of replies: what is left out, and what is hidden.
#include "server/rights/reply_mask.h"

#include "common/json/text.h"
#include "protocol/audit/messages.h"
#include "protocol/force_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/members/view_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "protocol/watch_messages.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

using protocol::RequestKind;
using security::Right;
using security::RightsOf;

constexpr SessionId kOwn{50};

security::Grant grant(std::string prefix, std::initializer_list<Right> rights) {
  security::RightMask mask = 0;
  for (const Right right : rights) {
    mask |= bit_of(right);
  }
  return {.prefix = std::move(prefix), .exact = false, .rights = mask};
}

Viewer viewer_of(const RightsOf& rights) {
  return {rights, [](SessionId session) { return session == kOwn; }};
}

protocol::LockRow row_of(std::string name) {
  protocol::LockRow row;
  row.name = std::move(name);
  row.holder = SessionId{7};
  row.token = FencingToken{70};
  row.waiter_count = 1;
  row.waiters = {{SessionId{8}, RequestSequence{3}, 20}};
  row.note = "secret";
  row.holders = {{SessionId{7}, FencingToken{70}, LogIndex{3}, 1}};
  return row;
}

void expect_hidden(const protocol::LockRow& row) {
  EXPECT_EQ(row.holder, protocol::kHiddenSession);
  EXPECT_EQ(row.token, FencingToken{});
  EXPECT_TRUE(row.waiters.empty());
  EXPECT_TRUE(row.holders.empty());
  EXPECT_TRUE(row.note.empty());
}

TEST(ReplyMaskTest, WhoSeesEverythingGetsTheBytesThatCame) {
  const auto bytes = protocol::encode_lock_row(row_of("jobs/1"));
  EXPECT_FALSE(mask_reply(RequestKind::LockGet, bytes, viewer_of(*security::all_rights())));
}

TEST(ReplyMaskTest, ListsLeaveOutForeignRowsAndHideDetailsOfOthers) {
  const RightsOf rights{
      {grant("jobs/", {Right::LockRead}), grant("jobs/mine/", {Right::LockReadDetails})}, 1};
  protocol::ListPage page;
  page.rows = {row_of("jobs/1"), row_of("payroll/1"), row_of("jobs/mine/2"), row_of("job")};
  page.next_cursor = "next";
  const auto masked =
      mask_reply(RequestKind::LockList, protocol::encode_list_page(page), viewer_of(rights));
  ASSERT_TRUE(masked);
  const auto shown = protocol::decode_list_page(*masked);
  ASSERT_TRUE(shown.ok());
  ASSERT_EQ(shown.value().rows.size(), 2u);
  EXPECT_EQ(shown.value().next_cursor, "next");
  expect_hidden(shown.value().rows[0]);
  EXPECT_EQ(shown.value().rows[1].name, "jobs/mine/2");
  EXPECT_EQ(shown.value().rows[1].holder, SessionId{7});
  EXPECT_EQ(shown.value().rows[1].waiters.size(), 1u);

  protocol::LockReadPage read_page;
  read_page.page = page;
  const auto read_masked = mask_reply(
      RequestKind::LockReadList, protocol::encode_read_page(read_page), viewer_of(rights));
  ASSERT_TRUE(read_masked);
  EXPECT_EQ(protocol::decode_read_page(*read_masked).value().page.rows.size(), 2u);
}

TEST(ReplyMaskTest, ALockIsShownAsHeldWithoutItsHolder) {
  const RightsOf rights{{grant("jobs/", {Right::LockRead, Right::LockHistory})}, 1};
  const protocol::LockRow row = row_of("jobs/1");
  const auto plain =
      mask_reply(RequestKind::LockGet, protocol::encode_lock_row(row), viewer_of(rights));
  ASSERT_TRUE(plain);
  expect_hidden(protocol::decode_lock_row(*plain).value());
  const auto details =
      mask_reply(RequestKind::LockGet, protocol::encode_lock_details(row), viewer_of(rights));
  ASSERT_TRUE(details);
  expect_hidden(protocol::decode_lock_details(*details).value());
  protocol::PastReply past;
  past.present = true;
  past.row = row;
  const auto masked =
      mask_reply(RequestKind::LockGetAt, protocol::encode_past_reply(past), viewer_of(rights));
  ASSERT_TRUE(masked);
  EXPECT_TRUE(protocol::decode_past_reply(*masked).value().present);
  expect_hidden(protocol::decode_past_reply(*masked).value().row);
}

TEST(ReplyMaskTest, RowsOfAReadAreMaskedOneByOne) {
  const RightsOf rights{{grant("", {Right::LockRead}), grant("b", {Right::LockReadDetails})}, 1};
  protocol::LockReadReply reply;
  reply.question = protocol::ReadQuestion::Row;
  reply.names = {{true, protocol::CheckVerdict::Free, true, row_of("a")},
                 {true, protocol::CheckVerdict::Free, false, {}},
                 {true, protocol::CheckVerdict::Free, true, row_of("b")}};
  const auto masked =
      mask_reply(RequestKind::LockRead, protocol::encode_lock_read_reply(reply), viewer_of(rights));
  ASSERT_TRUE(masked);
  const auto shown = protocol::decode_lock_read_reply(*masked);
  ASSERT_TRUE(shown.ok());
  expect_hidden(shown.value().names[0].row);
  EXPECT_FALSE(shown.value().names[1].present);
  EXPECT_EQ(shown.value().names[2].row.note, "secret");
}

TEST(ReplyMaskTest, NamesOfASessionsLocksAreThoseThatMayBeSeen) {
  const RightsOf rights{{grant("jobs/", {Right::LockRead}), grant("mine/", {Right::LockAcquire})},
                        1};
  protocol::SessionDetails details;
  details.row.session = kOwn;
  details.keys = {"jobs/1", "payroll/1", "mine/1"};
  const auto masked =
      mask_reply(RequestKind::SessionShow, protocol::encode_session(details), viewer_of(rights));
  ASSERT_TRUE(masked);
  EXPECT_EQ(protocol::decode_session(*masked).value().keys, std::vector<std::string>{"jobs/1"});

  const std::vector<protocol::LossEntry> losses{
      {FencingToken{1}, LogIndex{1}, ShardId{0}, "jobs/1"},
      {FencingToken{2}, LogIndex{1}, ShardId{0}, "payroll/1"},
      {FencingToken{3}, LogIndex{1}, ShardId{0}, "mine/1"}};
  const auto lost =
      mask_reply(RequestKind::SessionLosses, protocol::encode_losses(losses), viewer_of(rights));
  ASSERT_TRUE(lost);
  EXPECT_EQ(protocol::decode_losses(*lost).value().size(), 2u);
}

TEST(ReplyMaskTest, AListOfSessionsShowsOwnOnesUnlessAllMayBeSeen) {
  protocol::SessionPage page;
  page.rows.resize(3);
  page.rows[0].session = SessionId{1};
  page.rows[1].session = kOwn;
  page.rows[2].session = SessionId{2};
  page.count = 3;
  const auto bytes = protocol::encode_session_page(page);
  const RightsOf own{{grant("", {Right::SessionRead})}, 1};
  const auto masked = mask_reply(RequestKind::SessionList, bytes, viewer_of(own));
  ASSERT_TRUE(masked);
  const auto shown = protocol::decode_session_page(*masked);
  ASSERT_TRUE(shown.ok());
  ASSERT_EQ(shown.value().rows.size(), 1u);
  EXPECT_EQ(shown.value().rows[0].session, kOwn);
  EXPECT_EQ(shown.value().count, 1u);
  const RightsOf all{{grant("", {Right::SessionRead, Right::SessionReadAll})}, 1};
  EXPECT_FALSE(mask_reply(RequestKind::SessionList, bytes, viewer_of(all)));
}

TEST(ReplyMaskTest, WhoIsBehindSessionsOfOthersIsLeftOut) {
  std::vector<security::KnownOrigin> origins(2);
  origins[0].session = kOwn;
  origins[1].session = SessionId{kOwn.value + 1};
  for (security::KnownOrigin& each : origins) {
    each.origin.principal = {security::PrincipalKind::User, "ann"};
  }
  const auto bytes = protocol::encode_origins(origins);
  const RightsOf own{{grant("", {Right::SessionRead})}, 1};
  const auto masked = mask_reply(RequestKind::SessionDescribe, bytes, viewer_of(own));
  ASSERT_TRUE(masked);
  const auto shown = protocol::decode_origins(*masked);
  ASSERT_TRUE(shown.ok());
  ASSERT_EQ(shown.value().size(), 1u);
  EXPECT_EQ(shown.value()[0].session, kOwn);
  const RightsOf all{{grant("", {Right::SessionRead, Right::SessionReadAll})}, 1};
  EXPECT_FALSE(mask_reply(RequestKind::SessionDescribe, bytes, viewer_of(all)));
  EXPECT_TRUE(is_masked_kind(RequestKind::SessionDescribe));
}

TEST(ReplyMaskTest, ACircleWithAForeignNameIsLeftOut) {
  const std::string report = R"({"interval_ms":100,"coordinator":1,"deadlocks":[)"
                             R"({"victim":"1","cycle":[{"name":"jobs/1"},{"name":"payroll/1"}]},)"
                             R"({"victim":"2","cycle":[{"name":"jobs/1"},{"name":"jobs/2"}]}]})";
  const RightsOf rights{
      {grant("", {Right::ClusterRead}), grant("jobs/", {Right::LockRead, Right::LockReadDetails})},
      1};
  const auto masked =
      mask_reply(RequestKind::LockDeadlocks, protocol::bytes_of(report), viewer_of(rights));
  ASSERT_TRUE(masked);
  const std::string text{protocol::text_of(*masked)};
  EXPECT_EQ(text.find("payroll"), std::string::npos);
  const auto shown = parse_json_strict(text);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown.value()["deadlocks"].size(), 1u);
  EXPECT_EQ(shown.value()["coordinator"].dump(), "1");
}

TEST(ReplyMaskTest, WhatCannotBeReadIsShownToNobody) {
  const RightsOf rights{{grant("jobs/", {Right::LockRead})}, 1};
  const std::vector<std::byte> broken(3, std::byte{0xee});
  for (int number = 0; number < 256; ++number) {
    const auto kind = static_cast<RequestKind>(number);
    if (is_masked_kind(kind)) {
      const auto masked = mask_reply(kind, broken, viewer_of(rights));
      ASSERT_TRUE(masked) << number;
      EXPECT_TRUE(masked->empty()) << number;
    }
  }
}

TEST(ReplyMaskTest, AViewShowsEveryoneTheWayAndOperatorsTheRest) {
  protocol::ViewAnswer answer;
  answer.view.epoch = 3;
  protocol::Member node;
  node.id = NodeId{1};
  node.name = "node-1";
  node.peer_address = "10.0.0.1:7500";
  node.client_address = "10.0.0.1:7400";
  node.labels = {{"zone", "a"}};
  node.directory = 77;
  answer.view.nodes = {node};
  answer.sights.resize(1);
  answer.sights[0].node = NodeId{1};
  const auto bytes = protocol::encode_view_answer(answer);
  const auto seen_with = [&bytes](std::initializer_list<Right> rights) {
    const RightsOf granted{{grant("", rights)}, 1};
    const auto masked = mask_reply(RequestKind::ViewGet, bytes, viewer_of(granted));
    return protocol::decode_view_answer(masked.value()).value();
  };
  const auto anyone = seen_with({Right::LockAcquire});
  EXPECT_EQ(anyone.view.epoch, 3u);
  EXPECT_EQ(anyone.view.nodes[0].client_address, "10.0.0.1:7400");
  EXPECT_TRUE(anyone.view.nodes[0].peer_address.empty());
  EXPECT_TRUE(anyone.view.nodes[0].labels.empty());
  EXPECT_TRUE(anyone.sights.empty());
  const auto reader = seen_with({Right::ClusterRead});
  EXPECT_EQ(reader.view.nodes[0].peer_address, "10.0.0.1:7500");
  EXPECT_EQ(reader.sights.size(), 1u);
  EXPECT_EQ(reader.view.nodes[0].directory, 0u);
  EXPECT_EQ(seen_with({Right::ClusterRead, Right::ClusterAdmin}).view.nodes[0].directory, 77u);
}

std::vector<std::byte> events_message() {
  protocol::WatchBlock block;
  block.shard = ShardId{2};
  block.revision = LogIndex{5};
  protocol::WatchPrevious before{
      protocol::WatchBefore::Hold, FencingToken{1}, SessionId{6}, "before"};
  block.events = {
      {protocol::WatchEventKind::Granted, "jobs/1", FencingToken{9}, SessionId{7}, "v", before},
      {protocol::WatchEventKind::Granted, "payroll/1", FencingToken{9}, SessionId{7}, "v", before},
      {protocol::WatchEventKind::Granted, "jobs/2", FencingToken{8}, kOwn, "mine", {}}};
  std::vector<std::byte> bytes;
  protocol::begin_watch_events(bytes);
  protocol::append_watch_block(bytes, block);
  return bytes;
}

TEST(ReplyMaskTest, EventsOfForeignNamesAreLeftOutAndDetailsOfOthersHidden) {
  const RightsOf rights{{grant("jobs/", {Right::Watch})}, 1};
  const auto masked = mask_watch_message(events_message(), viewer_of(rights));
  const auto message = protocol::decode_watch_message(masked);
  ASSERT_TRUE(message.ok());
  ASSERT_EQ(message.value().blocks.size(), 1u);
  const auto& events = message.value().blocks[0].events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].name, "jobs/1");
  EXPECT_EQ(events[0].session, protocol::kHiddenSession);
  EXPECT_EQ(events[0].token, FencingToken{});
  EXPECT_TRUE(events[0].value.empty());
  EXPECT_EQ(events[0].previous, protocol::WatchPrevious{});
  EXPECT_EQ(events[1].session, kOwn);
  EXPECT_EQ(events[1].value, "mine");
}

TEST(ReplyMaskTest, AMessageOfWhichNothingIsLeftIsNotSentAndProgressIs) {
  const RightsOf rights{{grant("other/", {Right::Watch})}, 1};
  EXPECT_TRUE(mask_watch_message(events_message(), viewer_of(rights)).empty());
  const auto progress = protocol::encode_watch_progress({true, {{ShardId{1}, LogIndex{4}}}});
  EXPECT_EQ(mask_watch_message(progress, viewer_of(rights)), progress);
}

}  // namespace
}  // namespace gcoord::server
