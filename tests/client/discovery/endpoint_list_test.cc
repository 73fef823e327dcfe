#include "client/discovery/endpoint_list.h"

#include "client/discovery/name_server.h"
#include "protocol/error_codes.h"
#include "tests/client/discovery/dns_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Only a failure waits that long.
constexpr milliseconds kPatience{60'000};
constexpr milliseconds kBrief{300};

std::string service(const DnsServer& server) {
  return "srv:_gcoord._tcp.example.org@" + server.text();
}

Result<std::vector<std::string>> resolve(const std::vector<std::string>& endpoints,
                                         milliseconds timeout = kPatience,
                                         IfAbsent absent = IfAbsent::Fail) {
  return resolve_endpoints(endpoints, timeout, absent);
}

std::string one(const std::string& query, std::uint16_t port = 7400) {
  return dns_answer(query, {1, DnsBytes{}.record(33, srv_content({0, 0, port, "node"})).bytes()});
}

TEST(EndpointList, ServicesBecomeTheirHostsInOrderOfPriority) {
  const DnsServer server([](const std::string& query) {
    const std::string records = DnsBytes{}
                                    .record(33, srv_content({9, 0, 7403, "c"}))
                                    .record(33, srv_content({1, 1, 7402, "b"}))
                                    .record(33, srv_content({1, 5, 7401, "a"}))
                                    .bytes() +
                                address_record("c", {"\x0a\0\0\3", 4});
    return std::vector{dns_answer(query, {3, records, 1})};
  });
  EXPECT_THAT(resolve({"first:1", service(server), "last:2"}).value(),
              ElementsAre("first:1", "a:7401", "b:7402", "10.0.0.3:7403", "last:2"));
}

TEST(EndpointList, WhatIsNoServiceIsRefused) {
  for (const char* endpoint : {"srv:",
                               "srv:a b",
                               "srv:a@",
                               "srv:a@name.of.a.server",
                               "srv:a@127.0.0.1:x",
                               "srv:a@127.0.0.1:0",
                               "srv:@127.0.0.1"}) {
    EXPECT_EQ(resolve({endpoint}).status().detail(),
              static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid))
        << endpoint;
  }
  EXPECT_THAT(resolve({"anything else"}).value(), ElementsAre("anything else"));
  EXPECT_EQ(parse_name_server("[::1]:8600")->text, "[::1]:8600");
  EXPECT_EQ(parse_name_server("127.0.0.1")->text, "127.0.0.1:53");
}

TEST(EndpointList, AServerThatLiesOrBabblesIsNotBelieved) {
  std::atomic<int> queries{0};
  const DnsServer server([&](const std::string& query) {
    ++queries;
    std::string other_id = one(query, 1);
    other_id[0] = static_cast<char>(other_id[0] ^ 1);
    return std::vector{other_id,
                       std::string(60'000, 'x'),
                       one(query, 2).substr(0, 30),
                       query,
                       std::string{},
                       one(query, 7400)};
  });
  EXPECT_THAT(resolve({service(server)}).value(), ElementsAre("node:7400"));
  EXPECT_EQ(queries, 1);
}

TEST(EndpointList, ASilentServerIsGivenUpInTime) {
  const DnsServer server([](const std::string&) { return std::vector<std::string>{}; });
  const auto failed = resolve({service(server)}, kBrief).status();
  EXPECT_EQ(failed.detail(), kDetailUnreachable);
  EXPECT_THAT(failed.message(), HasSubstr(server.text() + ": no answer"));
  // Those that can be had remain.
  EXPECT_THAT(resolve({service(server), "known:1"}, kBrief).value(), ElementsAre("known:1"));
}

// It once took the time of all names behind it.
TEST(EndpointList, ASilentServerLeavesTimeForTheOthers) {
  const DnsServer silent([](const std::string&) { return std::vector<std::string>{}; });
  const DnsServer server([](const std::string& query) { return std::vector{one(query)}; });
  EXPECT_THAT(resolve({service(silent), service(server)}, milliseconds{3000}).value(),
              ElementsAre("node:7400"));
}

TEST(EndpointList, ANameThatNeverComesKeepsNoOtherWaiting) {
  const DnsServer absent([](const std::string& query) {
    return std::vector{dns_answer(query, {0, "", 0, 0x8183})};
  });
  std::atomic<int> queries{0};
  const DnsServer server([&](const std::string& query) {
    return std::vector{++queries < 3 ? dns_answer(query, {0, "", 0, 0x8183}) : one(query)};
  });
  EXPECT_THAT(resolve({service(absent), service(server)}, kPatience, IfAbsent::AskAgain).value(),
              ElementsAre("node:7400"));
}

TEST(EndpointList, AnAnswerMakesAtMostSixtyFourEndpointsEachOnce) {
  constexpr std::uint16_t kMany = 24;
  const DnsServer server([](const std::string& query) {
    DnsBytes records;
    std::string glue;
    for (std::uint16_t k = 0; k < kMany; ++k) {
      records.record(33, srv_content({0, 0, static_cast<std::uint16_t>(7000 + k), "c"}));
      glue += address_record("c", std::string{"\x0a\0\0", 3} + static_cast<char>(k));
    }
    return std::vector{dns_answer(query, {kMany, records.bytes() + glue, kMany})};
  });
  const auto found = resolve({service(server)}).value();
  EXPECT_EQ(found.size(), 64u);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
}

TEST(EndpointList, ATruncatedAnswerWithoutHostsSaysSo) {
  const DnsServer server([](const std::string& query) {
    return std::vector{dns_answer(query, {0, "", 0, 0x8380})};
  });
  const auto failed = resolve({service(server)}).status();
  EXPECT_EQ(failed.detail(), kDetailUnreachable);
  EXPECT_THAT(failed.message(), HasSubstr("truncated"));
  const DnsServer partial([](const std::string& query) {
    std::string answer = one(query);
    answer[2] = static_cast<char>(answer[2] | 2);
    return std::vector{answer};
  });
  EXPECT_THAT(resolve({service(partial)}).value(), ElementsAre("node:7400"));
}

// Cut inside its second record, as it comes in a datagram.
std::vector<std::string> cut(const std::string& query) {
  const std::string records = DnsBytes{}
                                  .record(33, srv_content({0, 0, 7401, "a"}))
                                  .record(33, srv_content({0, 0, 7402, "b"}))
                                  .bytes();
  return {dns_answer(query, {2, records.substr(0, records.size() - 3), 0, 0x8380})};
}

TEST(EndpointList, AnAnswerThatIsCutInsideARecordComesWholeOverTcp) {
  std::atomic<int> datagrams{0};
  const DnsServer server(
      [&](const std::string& query) {
        ++datagrams;
        return cut(query);
      },
      [](const std::string& query) {
        DnsBytes records;
        for (std::uint16_t k = 0; k < 60; ++k) {
          records.record(33,
                         srv_content({k, 0, 7400, "node-" + std::to_string(k) + ".example.org"}));
        }
        return std::vector{dns_answer(query, {60, records.bytes()})};
      });
  const auto found = resolve({service(server)}).value();
  ASSERT_EQ(found.size(), 60u);
  EXPECT_EQ(found.front(), "node-0.example.org:7400");
  EXPECT_EQ(found.back(), "node-59.example.org:7400");
  EXPECT_EQ(datagrams, 1);
}

TEST(EndpointList, ACutAnswerThatNoStreamMendsSaysSo) {
  const DnsServer server(cut);
  EXPECT_THAT(resolve({service(server)}).status().message(),
              HasSubstr("the answer is truncated, and over TCP: Connection refused"));
  const DnsServer lying(cut, [](const std::string& query) {
    std::string other_id = one(query);
    other_id[0] = static_cast<char>(other_id[0] ^ 1);
    return std::vector{other_id};
  });
  EXPECT_THAT(resolve({service(lying)}).status().message(),
              HasSubstr("truncated, and over TCP: a message that is no answer"));
}

TEST(EndpointList, AStreamThatIsSilentIsGivenUpInTimeAndWhatCameWholeIsTaken) {
  const auto partial = [](const std::string& query) {
    std::string answer = one(query);
    answer[2] = static_cast<char>(answer[2] | 2);
    return std::vector{answer};
  };
  const DnsServer server(partial, [](const std::string&) { return std::vector<std::string>{}; });
  EXPECT_THAT(resolve({service(server)}, kBrief).value(), ElementsAre("node:7400"));
  const DnsServer silent(cut, [](const std::string&) { return std::vector<std::string>{}; });
  EXPECT_EQ(resolve({service(silent)}, kBrief).status().detail(), kDetailUnreachable);
}

TEST(EndpointList, AFloodOfOtherAnswersIsNotReadForEver) {
  const DnsServer server([](const std::string&) {
    return std::vector<std::string>(200, "no answer at all, though it is long enough");
  });
  EXPECT_THAT(resolve({service(server)}).status().message(), HasSubstr("64 messages"));
}

TEST(EndpointList, AServerThatKnowsNoExtensionIsAskedWithout) {
  const DnsServer server([](const std::string& query) {
    return std::vector{query[11] == 1 ? dns_answer(query, {0, "", 0, 0x8181}) : one(query)};
  });
  EXPECT_THAT(resolve({service(server)}).value(), ElementsAre("node:7400"));
}

TEST(EndpointList, ARefusalAndANameWithoutHostsSayWhy) {
  const DnsServer refusing([](const std::string& query) {
    return std::vector{dns_answer(query, {0, "", 0, 0x8185})};
  });
  EXPECT_THAT(resolve({service(refusing)}).status().message(), HasSubstr("refused with code 5"));
  const DnsServer absent([](const std::string& query) {
    return std::vector{dns_answer(query, {0, "", 0, 0x8183})};
  });
  EXPECT_THAT(resolve({service(absent)}).status().message(), HasSubstr("name nobody"));
}

TEST(EndpointList, WhoWaitsForItsClusterAsksAgain) {
  std::atomic<int> queries{0};
  const DnsServer server([&](const std::string& query) {
    return std::vector{++queries < 3 ? dns_answer(query, {0, "", 0, 0x8183}) : one(query)};
  });
  EXPECT_THAT(resolve({service(server)}, kPatience, IfAbsent::AskAgain).value(),
              ElementsAre("node:7400"));
}

}  // namespace
}  // namespace gcoord::client
