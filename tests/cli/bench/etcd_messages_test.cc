#include "cli/bench/etcd/clients.h"
#include "cli/bench/etcd/messages.h"
#include "cli/bench/load/watched_operation.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace gcoord::cli {
namespace {

TEST(ProtobufTest, WritesTheBytesOfTheSpecification) {
  // The two examples of the encoding's documentation: field 1 is 150, field 2 is "testing".
  EXPECT_EQ(ProtoWriter{}.number(1, 150).text(), "\x08\x96\x01");
  EXPECT_EQ(ProtoWriter{}.bytes(2, "testing").text(), "\x12\x07testing");
  EXPECT_EQ(ProtoWriter{}.number(5, 0).text(), std::string("\x28\x00", 2));
}

RC_GTEST_PROP(ProtobufProperty, ReadsWhatItWrote, ()) {
  const auto number = *rc::gen::arbitrary<std::int64_t>();
  const auto text = *rc::gen::arbitrary<std::string>();
  const ProtoWriter inner = ProtoWriter{}.number(7, number);
  const std::string message =
      ProtoWriter{}.bytes(1, text).number(2, number).message(3, inner).text();
  RC_ASSERT(proto_bytes(message, 1) == text);
  RC_ASSERT(static_cast<std::int64_t>(proto_number(message, 2)) == number);
  RC_ASSERT(static_cast<std::int64_t>(proto_number(proto_bytes(message, 3), 7)) == number);
}

RC_GTEST_PROP(ProtobufProperty, AnyBytesAreSafeToRead, (const std::string& noise)) {
  ProtoReader reader(noise);
  std::size_t fields = 0;
  while (const auto field = reader.next()) {
    RC_ASSERT(field->bytes.size() <= noise.size());
    ++fields;
  }
  RC_ASSERT(fields <= noise.size());
  static_cast<void>(etcd_held_of(noise, "key"));
  static_cast<void>(etcd_watch_reply_of(noise));
  static_cast<void>(etcd_status_reply_of(noise));
}

TEST(ProtobufTest, ACutMessageEndsEarly) {
  const std::string message = ProtoWriter{}.number(1, 7).bytes(2, "testing").text();
  const std::string cut = message.substr(0, message.size() - 1);
  EXPECT_EQ(proto_number(cut, 1), 7u);
  EXPECT_EQ(proto_bytes(cut, 2), "");
}

// A reply of KV/Txn: header {revision}, succeeded, a put, and the range of the oldest key.
std::string txn_reply(const std::string& oldest) {
  const ProtoWriter kv = ProtoWriter{}.bytes(1, oldest);
  const ProtoWriter range = ProtoWriter{}.message(2, kv);
  return ProtoWriter{}
      .message(1, ProtoWriter{}.number(3, 42))
      .number(2, 1)
      .message(3, ProtoWriter{}.message(2, ProtoWriter{}))
      .message(3, ProtoWriter{}.message(1, range))
      .text();
}

TEST(EtcdMessagesTest, ALockIsOursWhenItsOldestKeyIsOurs) {
  const std::string own = etcd_hold_key("bench/lock/7", 0x1f);
  EXPECT_EQ(own, "bench/lock/7/1f");
  EXPECT_TRUE(etcd_held_of(txn_reply(own), own).held);
  EXPECT_EQ(etcd_held_of(txn_reply(own), own).revision, 42u);
  EXPECT_FALSE(etcd_held_of(txn_reply("bench/lock/7/2a"), own).held);
  EXPECT_FALSE(etcd_held_of("", own).held);
}

TEST(EtcdMessagesTest, AWatchTellsTheKeysThatWerePut) {
  const ProtoWriter kv = ProtoWriter{}.bytes(1, "bench/watch/0/3/4/1f").number(3, 43);
  const std::string reply = ProtoWriter{}
                                .message(1, ProtoWriter{})
                                .message(11, ProtoWriter{}.message(2, kv))
                                .message(11, ProtoWriter{}.message(2, kv))
                                .text();
  const EtcdWatchReply told = etcd_watch_reply_of(reply);
  EXPECT_FALSE(told.created);
  ASSERT_EQ(told.events.size(), 2u);
  EXPECT_EQ(told.events[0].key, "bench/watch/0/3/4/1f");
  EXPECT_EQ(told.events[0].revision, 43u);
}

TEST(EtcdEndpointsTest, AreHostsAndPorts) {
  const auto found = parse_etcd_endpoints("etcd://10.0.0.1:2379,db-2,[::1]:7");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found.value().size(), 3u);
  EXPECT_EQ(found.value()[0].host, "10.0.0.1");
  EXPECT_EQ(found.value()[1].host, "db-2");
  EXPECT_EQ(found.value()[1].port, "2379");
  EXPECT_EQ(found.value()[2].host, "::1");
  EXPECT_EQ(found.value()[2].port, "7");
}

TEST(EtcdEndpointsTest, AnythingElseIsRefused) {
  for (const char* text : {"",
                           "etcd://",
                           "10.0.0.1:2379",
                           "http://a:1",
                           "etcd://a:b",
                           "etcd://a:1,",
                           "etcd://a b:1",
                           "etcd://a/x:1",
                           "etcd://a:123456"}) {
    EXPECT_FALSE(parse_etcd_endpoints(text).ok()) << text;
  }
}

const Moment kMoment = Moment{} + std::chrono::seconds{5};

TEST(WatchedOperationTest, IsOverWhenChangedUndoneAndTold) {
  WatchedOperation operation;
  operation.begin();
  EXPECT_FALSE(operation.note_told(7, kMoment).has_value());  // The event came first.
  EXPECT_FALSE(operation.note_changed(7).has_value());
  const auto over = operation.note_undone({});
  ASSERT_TRUE(over.has_value());
  EXPECT_EQ(over->at, kMoment);
  EXPECT_TRUE(over->status.ok());
  EXPECT_FALSE(operation.note_told(7, kMoment).has_value());
}

TEST(WatchedOperationTest, ALateEventOfTheOneBeforeIsNotItsOwn) {
  WatchedOperation operation;
  operation.begin();
  EXPECT_TRUE(operation.note_undone(Status{StatusCode::Unavailable, "lost"}).has_value());
  operation.begin();
  EXPECT_FALSE(operation.note_changed(8).has_value());
  EXPECT_FALSE(operation.note_undone({}).has_value());
  EXPECT_FALSE(operation.note_told(7, kMoment).has_value());
  EXPECT_TRUE(operation.note_told(8, kMoment).has_value());
}

}  // namespace
}  // namespace gcoord::cli
