// Bad input to the lock verbs of the native protocol: each mistake has a number of its own, and
// changes nothing. The other front ends have a BadInput of theirs (tests/client, tests/cli).
#include "protocol/force_messages.h"
#include "server/lock_service/lock_service.h"
#include "tests/bad_requests.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// One lock held: "a" by session 5 under token `token`, "b" by session 6.
class BadInput : public testing::Test {
 protected:
  BadInput() {
    bench_.lead_all();
    token_ = bench_.decided(bench_.acquire(5, 1, "a", 0, 60'000)).slot.token;
    other_token_ = bench_.decided(bench_.acquire(6, 1, "b", 0, 60'000)).slot.token;
  }

  std::uint64_t check(std::string_view name, std::uint64_t token) {
    protocol::RequestSlot slot = bench_.slot(RequestKind::LockCheck);
    slot.token = token;
    return bench_.send(slot, name);
  }

  std::uint64_t cancel(std::uint64_t session, std::uint64_t sequence, std::string_view name) {
    protocol::RequestSlot slot = bench_.slot(RequestKind::LockCancel);
    slot.session = session;
    slot.sequence = sequence;
    slot.acked_below = sequence == 0 ? 0 : 1;
    slot.shard = LockBench::shard_of_name(name).value;
    return bench_.send(slot, name);
  }

  std::uint64_t break_lock(std::string_view name, std::uint64_t token, std::string_view reason) {
    protocol::RequestSlot slot = bench_.slot(RequestKind::LockBreak);
    slot.token = token;
    return bench_.send(slot,
                       protocol::encode_break({.name = name, .who = "ann", .reason = reason}));
  }

  // A free name in the shard of "a", where session 5 is known.
  static std::string neighbour() {
    std::string name = "free";
    while (LockBench::shard_of_name(name) != LockBench::shard_of_name("a")) {
      name += "r";
    }
    return name;
  }

  std::uint64_t open(std::uint32_t ttl_ms) {
    protocol::RequestSlot slot = bench_.slot(RequestKind::OpenSession);
    slot.ttl_ms = ttl_ms;
    return bench_.send(slot, "");
  }

  std::uint64_t ask(const BadRequest& bad) {
    switch (bad.verb) {
      case BadVerb::Acquire:
        return bench_.acquire(5, 9, bad.name);
      case BadVerb::Release:
        return bench_.release(5, 9, bad.name, bad.token);
      case BadVerb::Check:
        return check(bad.name, bad.token);
      case BadVerb::Open:
        return open(static_cast<std::uint32_t>(bad.ttl_ms));
    }
    return 0;
  }

  LockBench bench_;
  std::uint64_t token_ = 0;
  std::uint64_t other_token_ = 0;
};

TEST_F(BadInput, EachMistakeOfTheNativeProtocolHasItsNumberAndChangesNothing) {
  struct Case {
    const char* what;
    std::function<std::uint64_t()> ask;
    ErrorCode error;
  };

  const auto negative = static_cast<std::uint32_t>(-5);  // As somebody may write it.
  std::vector<Case> cases = {
      {"cancel: no name", [&] { return cancel(5, 9, ""); }, ErrorCode::NameEmpty},
      {"break: no name", [&] { return break_lock("", 7, "x"); }, ErrorCode::NameEmpty},
      {"break: no reason", [&] { return break_lock("a", 7, ""); }, ErrorCode::BreakUnexplained},
      {"break: token 0", [&] { return break_lock("a", 0, "x"); }, ErrorCode::TokenZero},
      {"TTL 0", [&] { return bench_.acquire(5, 9, "c", 0, 0); }, ErrorCode::TtlTooShort},
      {"TTL < 0", [&] { return bench_.acquire(5, 9, "c", 0, negative); }, ErrorCode::TtlTooLong},
      {"a wait of weeks",
       [&] { return bench_.acquire(5, 9, "c", protocol::kWaitMsMax + 1); },
       ErrorCode::WaitTooLong},
      {"session 0", [&] { return bench_.acquire(0, 9, "c"); }, ErrorCode::SessionZero},
      {"sequence 0", [&] { return cancel(5, 0, "a"); }, ErrorCode::SequenceZero},
      {"not the holder", [&] { return bench_.release(6, 9, "a", token_); }, ErrorCode::HolderOther},
      {"another name's token",
       [&] { return bench_.release(5, 10, "a", other_token_ + 100); },
       ErrorCode::TokenStale},
      {"nobody's lock",
       [&] { return bench_.release(5, 11, neighbour(), 7); },
       ErrorCode::LockNotHeld},
      {"an unknown session",
       [&] { return bench_.release(999, 1, "a", token_); },
       ErrorCode::SessionUnknown},
      {"a used number, other arguments",
       [&] { return bench_.release(5, 1, "a", token_); },
       ErrorCode::SequenceReused},
      {"break: another token",
       [&] { return break_lock("a", token_ + 100, "x"); },
       ErrorCode::TokenStale},
      {"a delay of an hour",
       [&] { return bench_.acquire_hold(5, 12, {.delay_ms = 0xffff, .name = "c"}); },
       ErrorCode::DelayTooLong},
  };
  for (const BadRequest& bad : bad_requests()) {
    cases.push_back({bad.what, [this, bad] { return ask(bad); }, bad.error});
  }
  for (const Case& each : cases) {
    const std::uint64_t id = each.ask();
    bench_.decide();
    bench_.engine.confirm_reads(*bench_.service);
    EXPECT_EQ(bench_.sink.take(id).slot.detail, static_cast<std::uint32_t>(each.error))
        << each.what;
    EXPECT_TRUE(bench_.sink.replies.empty()) << each.what;
  }
  EXPECT_EQ(bench_.service->locks().usage().locks, 2u);
  EXPECT_EQ(bench_.service->locks().usage().waiters, 0u);
  EXPECT_EQ(bench_.decided(bench_.release(5, 20, "a", token_)).slot.code, StatusCode::Ok);
}

}  // namespace
}  // namespace gcoord::server
