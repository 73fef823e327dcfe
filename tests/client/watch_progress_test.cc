// Watches that ask how far the nodes are (W2): what counts as the answer, and who may ask.
#include "tests/client/client_fixture.h"
#include "tests/client/fake_watches.h"

#include <atomic>
#include <future>
#include <string>

namespace gcoord::client {
namespace {

using protocol::RequestKind;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kPatience{1};  // Only an end for a test that fails.

class WatchProgressTest : public ClientTest {
 protected:
  void answer_asks(FakeCluster::Answer ask) { cluster_.answer_with(watches({}, std::move(ask))); }

  static std::uint64_t only(const Result<std::vector<Revision>>& places) {
    EXPECT_TRUE(places.ok()) << places.status().to_string();
    EXPECT_TRUE(places.ok() && places.value().size() == 1);
    return places.ok() && !places.value().empty() ? places.value().front().revision : 0;
  }
};

TEST_F(WatchProgressTest, W2HowFarTheNodeIsComesWhenItIsAskedFor) {
  answer_asks([](const FakeRequest& request) { return answer_to(request, 9); });
  Client client = connect();
  auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  ASSERT_EQ(watch.value().revisions().size(), 1u);
  EXPECT_EQ(watch.value().revisions()[0].revision, 5u);
  EXPECT_EQ(only(watch.value().progress(kPatience)), 9u);
  EXPECT_EQ(watch.value().revisions()[0].revision, 9u);
  EXPECT_EQ(only(watch.value().progress(kPatience)), 9u);
  EXPECT_EQ(cluster_.requests(RequestKind::WatchProgress).size(), 2u);
}

// Events that came before the answer are to be had without waiting.
TEST_F(WatchProgressTest, W2WhatTheAnswerSaysIsThereCanBeTakenAtOnce) {
  answer_asks([](const FakeRequest& request) {
    FakeReply event = granted(request.slot.sequence, 7);
    event.then = {ok_reply(request), progress(request.slot.sequence, 9)};
    return event;
  });
  Client client = connect();
  auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(only(watch.value().progress(kPatience)), 9u);
  EXPECT_EQ(watch.value().revisions()[0].revision, 5u) << "nothing was taken yet";
  const auto batch = watch.value().next(milliseconds{0});
  ASSERT_TRUE(batch.ok() && batch.value());
  EXPECT_EQ(batch.value()->revision, 7u);
  EXPECT_FALSE(watch.value().next(milliseconds{0}).value());
  EXPECT_EQ(watch.value().revisions()[0].revision, 9u);
}

TEST_F(WatchProgressTest, W2WhatIsToldFromTimeToTimeIsNoAnswer) {
  answer_asks([](const FakeRequest& request) {
    FakeReply timed = progress(request.slot.sequence, 6);  // It was on its way already.
    timed.then = {ok_reply(request), progress(request.slot.sequence, 9)};
    return timed;
  });
  Client client = connect();
  auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(only(watch.value().progress(kPatience)), 9u);
}

TEST_F(WatchProgressTest, W2WhereANodeIsLostTheNextOneIsAsked) {
  std::atomic<int> asked{0};
  answer_asks([&asked](const FakeRequest& request) -> std::optional<FakeReply> {
    if (asked++ == 0) {
      return FakeReply{.hang_up = true};
    }
    return answer_to(request, 9);
  });
  ClientOptions how = options();
  how.clock = boot_clock();  // Attempts come with pauses.
  auto client = Client::connect(how);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  auto watch = client.value().watch({.prefix = ""});
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(only(watch.value().progress(kPatience)), 9u);
  EXPECT_EQ(asked, 2);
}

TEST_F(WatchProgressTest, W2ManyWhoAskAreAllAnswered) {
  answer_asks([](const FakeRequest& request) { return answer_to(request, 9); });
  Client client = connect();
  auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok());
  std::vector<std::future<std::uint64_t>> answers;
  for (int k = 0; k < 8; ++k) {
    answers.push_back(
        std::async(std::launch::async, [&] { return only(watch.value().progress(kPatience)); }));
  }
  for (auto& each : answers) {
    EXPECT_EQ(each.get(), 9u);
  }
}

TEST_F(WatchProgressTest, W2WhoIsNotAnsweredIsToldSo) {
  answer_asks([](const FakeRequest&) { return std::nullopt; });
  Client client = connect();
  auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(watch.value().progress(milliseconds{1}).status().detail(), 4009u);
  EXPECT_EQ(watch.value().progress(milliseconds{-1}).status().detail(), 4009u);
  watch.value().close();
  EXPECT_EQ(watch.value().progress(kPatience).status().detail(), 6207u);
}

// It would wait for the thread that it is on.
TEST_F(WatchProgressTest, ACallbackThatAsksIsRefusedAndNextIsNotForItsWatch) {
  cluster_.answer_with(watches([](std::uint64_t id) { return std::vector{granted(id, 7)}; },
                               [](const FakeRequest& request) { return answer_to(request, 9); }));
  std::promise<Watch*> made;
  std::shared_future<Watch*> watch = made.get_future().share();
  Collected<std::uint32_t> refused;
  Client client = connect();
  auto opened = client.watch({.prefix = ""}, [&](const Result<WatchBatch>& batch) {
    if (batch.ok()) {
      refused.add(watch.get()->progress(kPatience).status().detail());
    }
  });
  ASSERT_TRUE(opened.ok());
  made.set_value(&opened.value());
  EXPECT_EQ(refused.wait_for(1), (std::vector<std::uint32_t>{4011}));
  EXPECT_EQ(only(opened.value().progress(kPatience)), 9u);
  EXPECT_EQ(opened.value().next().status().detail(), 6204u);
  EXPECT_EQ(opened.value().next(milliseconds{1}).status().detail(), 6204u);
}

}  // namespace
}  // namespace gcoord::client
