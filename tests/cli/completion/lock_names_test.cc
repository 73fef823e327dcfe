#include "cli/completion/lock_names.h"

#include "cli/completion/node_names.h"
#include "protocol/lock_messages.h"
#include "protocol/members/view_messages.h"
#include "tests/client/fake_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace gcoord::cli {
namespace {

using client::FakeCluster;
using client::FakeReply;
using client::FakeRequest;
using protocol::RequestKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Of its names, and that there are more.
FakeReply endless(const FakeRequest& request, const std::vector<std::string>& names) {
  protocol::ListPage page;
  for (const std::string& name : names) {
    protocol::LockRow row;
    row.name = name;
    row.holder = SessionId{5};
    row.token = FencingToken{1};
    page.rows.push_back(row);
  }
  page.next_cursor = "more";
  FakeReply reply = ok_reply(request);
  reply.payload = protocol::text_of(protocol::encode_list_page(page));
  return reply;
}

class LockNames : public testing::Test {
 protected:
  // Until a limit is reached; one of time does not end a test by chance.
  std::vector<std::string> names(LockNameLimits limits = {.time = std::chrono::minutes{1}}) {
    return lock_names({.endpoints = cluster_.endpoints()}, "a", limits);
  }

  std::size_t asked() const { return cluster_.requests(RequestKind::LockList).size(); }

  FakeCluster cluster_{1};
};

// Once it asked for ever.
TEST_F(LockNames, PagesWithoutNamesAreAskedForTwentyTimes) {
  cluster_.answer_with([](const FakeRequest& request) { return endless(request, {}); });
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(asked(), 20u);
}

TEST_F(LockNames, WhatCameBeforeALimitIsOfferedUnlessItCannotBeTyped) {
  cluster_.answer_with([](const FakeRequest& request) {
    return endless(request, {"a", "-a", "a\tb"});
  });
  EXPECT_THAT(names({.pages = 2, .time = std::chrono::minutes{1}}), ElementsAre("a", "a"));
  EXPECT_THAT(names({.names = 3, .time = std::chrono::minutes{1}}), SizeIs(3));
}

// Each page comes in time for itself, a tenth of the time after it was asked for.
TEST_F(LockNames, TheTimeIsOneForAllPages) {
  constexpr std::chrono::milliseconds kTime{1000};
  cluster_.answer_with([&](const FakeRequest& request) {
    const auto due = std::chrono::steady_clock::now() + kTime / 10;
    while (std::chrono::steady_clock::now() < due) {
      std::this_thread::yield();
    }
    return endless(request, {"a"});
  });
  EXPECT_THAT(names({.pages = 300, .time = kTime}), testing::Each("a"));
  EXPECT_LE(asked(), 11u);
}

TEST_F(LockNames, ANodeThatSaysNothingIsGivenUp) {
  cluster_.answer_with([](const FakeRequest&) -> std::optional<FakeReply> { return std::nullopt; });
  EXPECT_THAT(names({.time = std::chrono::milliseconds{200}}), IsEmpty());
  EXPECT_THAT(lock_names({.endpoints = {"127.0.0.1:1"}}, "a"), IsEmpty());
}

TEST(NodeNames, AreThoseOfTheViewThatBeginSoAndHaveNotLeft) {
  FakeCluster cluster{1};
  cluster.answer_with([](const FakeRequest& request) {
    protocol::ViewAnswer answer{.view = {.epoch = 3, .settings = {}, .nodes = {}}, .newest = 3};
    for (const char* name : {"db-a", "db-b", "web", "db-c"}) {
      protocol::Member member;
      member.id = NodeId{static_cast<std::uint32_t>(answer.view.nodes.size() + 1)};
      member.name = name;
      answer.view.nodes.push_back(member);
    }
    answer.view.nodes[1].state = protocol::MemberState::Removed;
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode_view_answer(answer));
    return reply;
  });
  EXPECT_THAT(node_names({.endpoints = cluster.endpoints()}, "db", std::chrono::minutes{1}),
              ElementsAre("db-a", "db-c"));
  EXPECT_THAT(node_names({.endpoints = cluster.endpoints()}, "", std::chrono::minutes{1}),
              SizeIs(3));
  EXPECT_THAT(node_names({.endpoints = {"127.0.0.1:1"}}, ""), IsEmpty());
}

TEST(NodeNames, ANodeThatSaysNothingIsGivenUp) {
  FakeCluster cluster{1};
  cluster.answer_with([](const FakeRequest&) -> std::optional<FakeReply> { return std::nullopt; });
  EXPECT_THAT(node_names({.endpoints = cluster.endpoints()}, "", std::chrono::milliseconds{200}),
              IsEmpty());
}

}  // namespace
}  // namespace gcoord::cli
