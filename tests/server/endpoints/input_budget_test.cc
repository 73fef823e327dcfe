// How much of a pass connections get, over real loopback sockets and a clock of the test: requests
// and turns are counted, no time is measured.
#include "server/endpoints/pass_share.h"
#include "tests/server/endpoints/frontend_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <vector>

namespace gcoord::server {
namespace {

class InputBudgetTest : public FrontEndTest {
 protected:
  void SetUp() override {
    FrontEndTest::SetUp();
    answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
      ++taken_[connection.value];
      order_.push_back(slot.request_id);
      now_us_ += request_us_;
      frontend_->reply(connection, protocol::reply_to(slot), {});
    };
  }

  struct Client {
    explicit Client(RawClient raw_client) : raw(std::move(raw_client)) {}

    void send(std::uint64_t id, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) {
        builder.add(request(id));
      }
      raw.send(frame_of(builder));
    }

    RawClient raw;
    protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
  };

  // So many clients, each with `each` requests on its way.
  void add_many(std::size_t count, std::size_t each) {
    const std::size_t before = clients_.size();
    for (std::size_t k = 0; k < count; ++k) {
      add();
    }
    for (std::size_t k = before; k < clients_.size(); ++k) {
      clients_[k]->send(1, each);
    }
    poll_until(count);
  }

  Client& add() {
    clients_.push_back(std::make_unique<Client>(connect()));
    EXPECT_TRUE(welcome(clients_.back()->raw, clients_.back()->builder));
    requests_ = 0;
    return *clients_.back();
  }

  // Until so many connections wait for their turn; nothing is taken by it.
  void poll_until(std::size_t waiting) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (frontend_->inputs_waiting() < waiting) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      poll();
    }
  }

  bool pass() {
    poll();
    const bool any = frontend_->serve_input();
    frontend_->flush();
    return any;
  }

  std::uint64_t turns() {
    return metrics_.counter({"gcoord_server_client_turns_total", "", "kind", "light"}).value() +
           metrics_.counter({"gcoord_server_client_turns_total", "", "kind", "bulk"}).value();
  }

  // Of the first that was answered.
  protocol::ConnectionId only_connection() const {
    return protocol::ConnectionId{taken_.begin()->first};
  }

  std::uint64_t request_us_ = 0;  // That one takes.
  std::map<std::uint64_t, std::size_t> taken_;
  std::vector<std::uint64_t> order_;
  std::vector<std::unique_ptr<Client>> clients_;
};

// The poll of the sockets took what they had for as long as they had it: 100 connections that sent
// without an end kept a node from its next pass.
TEST_P(InputBudgetTest, PollingTakesNoRequestsAndAPassNoMoreThanItsTime) {
  request_us_ = 10;
  add_many(100, 200);
  EXPECT_EQ(requests_, 0u);
  EXPECT_TRUE(pass());
  EXPECT_GE(requests_, InputQueue::kPassUs / request_us_);
  EXPECT_LE(requests_, InputQueue::kPassUs / request_us_ + 2 * InputQueue::kRequestsOfTurn);
}

// A batch that fills a turn leaves nothing behind: it is no bulk, and its socket is read once.
TEST_P(InputBudgetTest, AFrameThatFillsATurnIsNoBulkAndCostsOneRead) {
  Client& client = add();
  const IoCounters& counters = frontend_->sockets().counters();
  const auto reads_before = counters.of(IoCall::Receive) + counters.of(IoCall::Wait);
  const auto requests_before = counters.of(IoEvent::Request);
  const auto frames_before = counters.of(IoEvent::FrameIn);
  const auto bulk = [this] {
    return metrics_.counter({"gcoord_server_client_turns_total", "", "kind", "bulk"}).value();
  };
  const auto bulk_before = bulk();
  client.send(1, InputQueue::kRequestsOfTurn);
  poll_until(1);
  pass();
  pass();
  EXPECT_EQ(requests_, InputQueue::kRequestsOfTurn);
  EXPECT_EQ(bulk(), bulk_before);
  EXPECT_EQ(counters.of(IoEvent::Request) - requests_before, InputQueue::kRequestsOfTurn);
  EXPECT_EQ(counters.of(IoEvent::FrameIn) - frames_before, 1u);
  if (GetParam().thread_count == 0) {
    EXPECT_EQ(counters.of(IoCall::Receive) + counters.of(IoCall::Wait) - reads_before, 1u);
  }
  client.send(2, InputQueue::kRequestsOfTurn + 1);
  poll_until(1);
  pass();
  EXPECT_EQ(bulk(), bulk_before + 1) << "one request more is a turn more";
  EXPECT_EQ(requests_, 2 * InputQueue::kRequestsOfTurn + 1);
}

TEST_P(InputBudgetTest, ConnectionsHaveTheirTurnsOneAfterTheOther) {
  request_us_ = 10;
  add_many(5, 900);
  for (int k = 0; k < 12; ++k) {
    EXPECT_TRUE(pass());
    now_us_ += 2 * InputQueue::kLatelyUs;  // Nobody else was served lately.
  }
  ASSERT_EQ(taken_.size(), 5u);
  const auto [least, most] = std::minmax_element(
      taken_.begin(), taken_.end(), [](auto& a, auto& b) { return a.second < b.second; });
  EXPECT_LE(most->second - least->second, 2 * InputQueue::kRequestsOfTurn);
  EXPECT_GE(least->second, 4 * InputQueue::kRequestsOfTurn);
}

TEST_P(InputBudgetTest, OneRequestIsNotBehindThoseWhoSendInBulk) {
  constexpr std::size_t kBulk = 50;
  Client& other = add();
  add_many(kBulk, 900);
  request_us_ = 1;
  for (int k = 0; k < 10; ++k) {
    pass();  // Each has had the turn that anybody has, and waits among those that have more.
    now_us_ += 2 * InputQueue::kLatelyUs;
  }
  ASSERT_EQ(frontend_->inputs_waiting(), kBulk);
  order_.clear();
  other.send(2, 1);
  poll_until(kBulk + 1);
  EXPECT_TRUE(pass());
  ASSERT_FALSE(order_.empty());
  EXPECT_EQ(order_.front(), 2u);
  EXPECT_LE(order_.size(), 1 + InputQueue::kBulkUs + InputQueue::kBulkRequests);
}

// Beside others, bulk pays for the whole of a pass, because it costs most in the turn after it.
TEST_P(InputBudgetTest, BulkHasItsPartOfTheTimeBesideOthersAndAllOfItAlone) {
  request_us_ = 1;
  constexpr std::uint64_t kTurnUs = 500;
  Client& other = add();
  add_many(1, 16'000);
  EXPECT_TRUE(pass());
  std::uint64_t bulk_us = 0;
  int may_sleep = 0;
  const std::uint64_t began_us = now_us_;
  constexpr int kPasses = 120;  // Some of them pay for the first, in which bulk was alone.
  for (int k = 0; k < kPasses; ++k) {
    other.send(2, 1);
    poll_until(2);
    const std::uint64_t pass_us = now_us_;
    const std::size_t before = requests_;
    EXPECT_TRUE(pass());
    EXPECT_EQ(order_[before], 2u) << "served in each pass, and first";
    may_sleep += frontend_->until_next_input_ms() > 0 ? 1 : 0;
    now_us_ += kTurnUs;
    bulk_us += requests_ - before > 1 ? now_us_ - pass_us : 0;
  }
  EXPECT_LE(bulk_us * InputQueue::kBulkParts, (now_us_ - began_us) * 5 / 4);
  EXPECT_GE(bulk_us * InputQueue::kBulkParts, (now_us_ - began_us) / 2) << "it is not starved";
  EXPECT_GT(may_sleep, kPasses / 2);
  now_us_ += InputQueue::kLatelyUs;
  EXPECT_EQ(frontend_->until_next_input_ms(), 0u);
  const std::size_t before = requests_;
  EXPECT_TRUE(pass());
  EXPECT_GE(requests_ - before, 1'000u) << "nobody else is there";
}

// What it sends last is little, or it sends a little before it sends much: it is no other to
// itself.
TEST_P(InputBudgetTest, WhoSendsInBulkAloneIsNotHeldUpByItself) {
  request_us_ = 1;
  Client& alone = add();
  for (int k = 0; k < 10; ++k) {
    alone.send(1, 1);
    poll_until(1);
    EXPECT_TRUE(pass());
    EXPECT_FALSE(frontend_->serves_others(only_connection()));
    const std::size_t before = requests_;
    alone.send(1, 1'000);
    poll_until(1);
    EXPECT_TRUE(pass());
    EXPECT_EQ(requests_ - before, 1'000u) << "in one pass";
    alone.raw.replies.clear();
    EXPECT_TRUE(pump_until([&] { return alone.raw.receive() && alone.raw.replies.size() >= 900; }));
  }
  Client& other = add();
  other.send(2, 1);
  poll_until(1);
  EXPECT_TRUE(pass());
  EXPECT_TRUE(frontend_->serves_others(only_connection()));
}

TEST_P(InputBudgetTest, WhoNeverReadsIsReadNoMoreCostsNoTurnAndIsClosedInTheEnd) {
  request_us_ = 10;
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    now_us_ += request_us_;
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(1'000));
  };
  Client& deaf = add();
  std::size_t quiet = 0;
  std::size_t before = 0;
  ASSERT_TRUE(pump_until([&] {
    for (std::size_t k = 0; k < 64; ++k) {
      deaf.builder.add(request(k));
    }
    deaf.raw.send(frame_of(deaf.builder));
    quiet = requests_ == before ? quiet + 1 : 0;
    before = requests_;
    return quiet == 100;
  })) << "what it is answered is bounded";
  const std::size_t of_a_pass = InputQueue::kPassUs / request_us_ + InputQueue::kRequestsOfTurn;
  EXPECT_LE(frontend_->account().held(HeldBytes::Out),
            3 * (kUnsentBytesBlocked + of_a_pass * (1'000 + sizeof(protocol::ReplySlot))));
  const std::uint64_t turns_before = turns();
  for (int k = 0; k < 1'000; ++k) {
    EXPECT_FALSE(pass()) << "nothing to do: the loop may sleep";
  }
  EXPECT_EQ(turns(), turns_before);
  EXPECT_EQ(frontend_->inputs_waiting(), 0u);
  frontend_->sweep(1'000);
  frontend_->sweep(12'000);
  EXPECT_EQ(closed_count("slow_reader"), 1u);
  EXPECT_EQ(frontend_->account().held(HeldBytes::Out), 0u);
}

// What it sends meanwhile is taken, as keep-alives of a client that reads late are, and does not
// say that it reads.
TEST_P(InputBudgetTest, WhoNeverReadsIsClosedThoughItSendsOn) {
  protocol::ConnectionId id;
  std::size_t reply_bytes = 4'000;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    id = connection;
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(reply_bytes));
  };
  Client& deaf = add();
  const auto ask = [&] {
    const std::size_t before = requests_;
    deaf.send(1, 1);
    ASSERT_TRUE(pump_until([&] { return requests_ == before + 1; }));
    pass();  // What became of the reply.
  };
  do {
    ASSERT_NO_FATAL_FAILURE(ask());
  } while (frontend_->backlog_bytes(id) == std::size_t{0});
  reply_bytes = 0;
  frontend_->sweep(1'000);
  for (std::uint64_t now_ms = 2'000; now_ms <= 11'000; now_ms += 1'000) {
    ASSERT_NO_FATAL_FAILURE(ask()) << now_ms;
    frontend_->sweep(now_ms);
  }
  EXPECT_EQ(frontend_->connection_count(), 1u) << "ten seconds";
  frontend_->sweep(12'000);
  EXPECT_EQ(closed_count("slow_reader"), 1u);
}

TEST_P(InputBudgetTest, WhoReadsAgainIsServedOn) {
  constexpr std::size_t kCount = 4'000;
  std::vector<protocol::ConnectionId> room;
  frontend_->set_on_room([&](protocol::ConnectionId connection) { room.push_back(connection); });
  answer_ = [this](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    frontend_->reply(connection, protocol::reply_to(slot), std::vector<std::byte>(1'000));
  };
  Client& late = add();
  late.raw.replies.clear();
  late.send(7, kCount);
  std::size_t quiet = 0;
  std::size_t before = 0;
  ASSERT_TRUE(pump_until([&] {
    quiet = requests_ == before && requests_ > 0 ? quiet + 1 : 0;
    before = requests_;
    return quiet == 100;
  }));
  ASSERT_LT(requests_, kCount);
  EXPECT_TRUE(pump_until([&] { return late.raw.receive() && late.raw.replies.size() == kCount; }));
  EXPECT_FALSE(room.empty()) << "who passed it over is told";
}

TEST(PassShareTest, APassIsPaidForByThoseAfterIt) {
  PassShare share(4);
  EXPECT_TRUE(share.open(0));
  share.begin_pass(1'000);
  share.use();
  share.begin_pass(1'100);
  EXPECT_FALSE(share.open(1'399));
  EXPECT_TRUE(share.open(1'400));
  share.begin_pass(1'500);
  EXPECT_EQ(share.from_us(), 1'400u) << "a pass without it costs it nothing";
}

INSTANTIATE_TEST_SUITE_P(Io, InputBudgetTest, every_io(), io_name);

}  // namespace
}  // namespace gcoord::server
