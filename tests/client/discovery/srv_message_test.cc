#include "client/discovery/srv_message.h"

#include "tests/client/discovery/dns_server.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

namespace gcoord::client {
namespace {

constexpr std::uint16_t kId = 0x1234;
const std::string kName = "_gcoord._tcp.example.org";

std::string query() {
  const auto bytes = encode_srv_query(kId, kName, DnsExtension::Edns);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<SrvAnswer> decoded(const std::string& message, const std::string& name = kName) {
  return decode_srv_answer(std::as_bytes(std::span{message}), kId, name);
}

std::string one_record() {
  return DnsBytes{}.record(33, srv_content({1, 2, 7400, "node-1.example.org"})).bytes();
}

TEST(SrvMessage, RecordsOfAnAnswerAreRead) {
  const std::string records = one_record() +
                              DnsBytes{}.record(33, srv_content({3, 4, 7401, "node_2"})).bytes() +
                              address_record("NODE-1.example.org", {"\x0a\0\0\1", 4});
  const auto answer = decoded(dns_answer(query(), {2, records, 1}));
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->records.size(), 2u);
  EXPECT_EQ(answer->records[0].priority, 1);
  EXPECT_EQ(answer->records[0].weight, 2);
  EXPECT_EQ(answer->records[0].port, 7400);
  EXPECT_EQ(answer->records[0].target, "node-1.example.org");
  EXPECT_EQ(answer->records[0].addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(answer->records[1].target, "node_2");
  EXPECT_TRUE(
      decoded(dns_answer(query(), {1, one_record()}), "_GCOORD._tcp.example.org.").has_value());
}

TEST(SrvMessage, ATargetMayBeShortenedByAPointer) {
  // "node" and then the question's "example.org", whose place is 12 + 8 + 5.
  const std::string content =
      DnsBytes{}.number(0).number(0).number(1).raw("\4node").number(0xc019).bytes();
  const auto answer = decoded(dns_answer(query(), {1, DnsBytes{}.record(33, content).bytes()}));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->records.at(0).target, "node.example.org");
}

TEST(SrvMessage, WhatLeadsNowhereIsLeftOut) {
  for (const std::string& content : {srv_content({0, 0, 7400, ""}),
                                     srv_content({0, 0, 0, "node"}),
                                     srv_content({0, 0, 7400, "no de"}),
                                     srv_content({0, 0, 7400, "node\x1b[2J"}),
                                     srv_content({0, 0, 7400, "a/b"})}) {
    const auto answer = decoded(dns_answer(query(), {1, DnsBytes{}.record(33, content).bytes()}));
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(answer->records.empty());
  }
  EXPECT_EQ(decoded(dns_answer(query(), {0, "", 0, 0x8183}))->result, kDnsNoSuchName);
}

TEST(SrvMessage, ServicesOfOtherNamesAndSectionsAreNotBelieved) {
  const std::string content = srv_content({0, 0, 7400, "evil"});
  const std::string other = record_of("_other._tcp.example.org", 33, content);
  EXPECT_TRUE(decoded(dns_answer(query(), {1, other}))->records.empty());
  EXPECT_TRUE(decoded(dns_answer(query(), {0, one_record(), 1}))->records.empty());
  const auto answer = decoded(dns_answer(query(), {2, other + one_record() + one_record(), 1}));
  ASSERT_EQ(answer->records.size(), 1u);
  EXPECT_EQ(answer->records[0].target, "node-1.example.org");
  std::string authority = dns_answer(query(), {0, one_record()});
  authority[9] = 1;
  EXPECT_TRUE(decoded(authority)->records.empty());
}

TEST(SrvMessage, AliasesAreFollowed) {
  const auto alias = [](std::string_view from, std::string_view to) {
    return record_of(from, 5, DnsBytes{}.name(to).bytes());
  };
  const std::string service = record_of("C.org", 33, srv_content({0, 0, 7400, "node"}));
  const auto found = [&](const std::string& aliases, std::uint16_t count) {
    const auto answer =
        decoded(dns_answer(query(), {static_cast<std::uint16_t>(count + 1), aliases + service}));
    return answer ? answer->records.size() : 99;
  };
  EXPECT_EQ(found(alias(kName, "c.org"), 1), 1u);
  EXPECT_EQ(found(alias("b.org", "c.org") + alias(kName, "b.org"), 2), 1u) << "in any order";
  EXPECT_EQ(found(alias("b.org", "c.org"), 1), 0u) << "from elsewhere";
  EXPECT_EQ(found(alias(kName, "b.org") + alias("b.org", kName), 2), 0u) << "in a circle";
  const std::string outside = alias(kName, "c.org");
  EXPECT_TRUE(decoded(dns_answer(query(), {1, service + outside, 1}))->records.empty());
  const std::string unusable = record_of("c d", 33, srv_content({0, 0, 7400, "node"}));
  EXPECT_TRUE(decoded(dns_answer(query(), {2, alias(kName, "a b") + unusable}))->records.empty());
  EXPECT_FALSE(decoded(dns_answer(query(), {1, record_of(kName, 5, "\5short")})).has_value());
}

TEST(SrvMessage, ATruncatedAnswerIsKnown) {
  EXPECT_FALSE(decoded(dns_answer(query(), {1, one_record()}))->truncated);
  EXPECT_TRUE(decoded(dns_answer(query(), {1, one_record(), 0, 0x8380}))->truncated);
}

TEST(SrvMessage, AnAnswerThatIsTruncatedInTheMidstOfARecordIsNoLess) {
  const std::string whole = dns_answer(query(), {1, one_record(), 0, 0x8380});
  const std::size_t head = 12 + question_of(query()).size();
  for (std::size_t bytes = head; bytes < whole.size(); ++bytes) {
    const auto answer = decoded(whole.substr(0, bytes));
    ASSERT_TRUE(answer.has_value()) << bytes;
    EXPECT_TRUE(answer->truncated);
    EXPECT_TRUE(answer->records.empty());
  }
  EXPECT_FALSE(decoded(whole.substr(0, head - 1)).has_value()) << "not even the question";
  EXPECT_FALSE(decoded(whole.substr(0, head), "_other._tcp.example.org").has_value());
}

TEST(SrvMessage, AnswersToAnotherQuestionAreNone) {
  const std::string answer = dns_answer(query(), {1, one_record()});
  EXPECT_TRUE(decoded(answer).has_value());
  EXPECT_FALSE(decode_srv_answer(std::as_bytes(std::span{answer}), kId + 1, kName).has_value());
  EXPECT_FALSE(decoded(answer, "_other._tcp.example.org").has_value());
  EXPECT_FALSE(decoded(query()).has_value()) << "a question";
  std::string other_type = answer;
  other_type[12 + kName.size() + 3] = 1;
  EXPECT_FALSE(decoded(other_type).has_value());
  std::string no_question = answer;
  no_question[5] = 0;
  EXPECT_FALSE(decoded(no_question).has_value());
}

TEST(SrvMessage, MalformedAnswersAreNone) {
  const auto with = [](const std::string& content) {
    return dns_answer(query(), {1, DnsBytes{}.record(33, content).bytes()});
  };
  const std::string fields = DnsBytes{}.number(0).number(0).number(1).bytes();
  const auto here = static_cast<std::uint16_t>(0xc000 | (with("").size() + fields.size()));
  EXPECT_FALSE(decoded(with(fields + DnsBytes{}.number(here).bytes())).has_value())
      << "a pointer to itself";
  EXPECT_FALSE(decoded(with(fields + DnsBytes{}.number(0xffff).bytes())).has_value())
      << "a pointer behind the end";
  EXPECT_FALSE(decoded(with(fields + "\x40x")).has_value()) << "no kind of label";
  EXPECT_FALSE(decoded(with(fields + "\x3fx")).has_value()) << "a label behind the end";
  EXPECT_FALSE(decoded(with(fields)).has_value()) << "no target";
  EXPECT_FALSE(decoded(with("")).has_value());
  std::string long_name;
  for (int i = 0; i < 100; ++i) {
    long_name += "abc.";
  }
  EXPECT_FALSE(decoded(with(srv_content({0, 0, 1, long_name + "d"}))).has_value());
  const std::string whole = dns_answer(query(), {1, one_record()});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(decoded(whole.substr(0, bytes)).has_value()) << bytes;
  }
  EXPECT_FALSE(decoded(whole + '\0').has_value());
}

TEST(SrvMessage, CountsThatAreNotTrueAreFound) {
  EXPECT_FALSE(decoded(dns_answer(query(), {0xffff, one_record(), 0xffff})).has_value());
  EXPECT_FALSE(decoded(dns_answer(query(), {1, one_record(), 1})).has_value());
  EXPECT_FALSE(decoded(dns_answer(query(), {0, one_record()})).has_value()) << "one more than told";
}

TEST(SrvMessage, NamesAreThoseOfHostsAndServices) {
  for (const char* name : {"a", "a.b", "a.b.", "_gcoord._tcp.x", "A-1"}) {
    EXPECT_TRUE(is_dns_name(name)) << name;
  }
  for (const char* name : {"", ".", "..", "a..b", ".a", "a b", "a/b", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(is_dns_name(name)) << name;
  }
  EXPECT_FALSE(is_dns_name(std::string(64, 'a')));
  EXPECT_TRUE(is_dns_name(std::string(63, 'a')));
}

}  // namespace
}  // namespace gcoord::client
