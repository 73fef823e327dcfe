// Bad input to the lock verbs of the C interface: each mistake has a number of its own, whether the
// library or a node finds it. tests/server/lock_service/bad_input_test.cc is the node's part.
#include "common/comma_list.h"
#include "gcoord/gcoord.h"
#include "gcoord/gcoord_groups.h"
#include "gcoord/gcoord_locks.h"
#include "tests/bad_requests.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class BadInput : public ClientTest {
 protected:
  void SetUp() override {
    const std::string endpoints = comma_list(cluster_.endpoints());
    gcoord_client_options options;
    gcoord_client_options_init(&options);
    options.endpoints = endpoints.c_str();
    ASSERT_EQ(gcoord_client_connect(&options, &client_, &error_), GCOORD_OK) << error_.message;
    ASSERT_EQ(gcoord_session_open(client_, 60'000, nullptr, nullptr, &session_, &error_),
              GCOORD_OK);
  }

  void TearDown() override {
    gcoord_session_free(session_);
    EXPECT_EQ(gcoord_client_free(client_), GCOORD_OK);
  }

  gcoord_status acquire(const char* name, std::int64_t wait_ms = 0) {
    gcoord_lock* lock = nullptr;
    return gcoord_lock_acquire(session_, name, wait_ms, &lock, &error_);
  }

  gcoord_status open(std::int64_t ttl_ms) {
    gcoord_session* opened = nullptr;
    return gcoord_session_open(client_, ttl_ms, nullptr, nullptr, &opened, &error_);
  }

  gcoord_status check(const char* name, std::uint64_t token) {
    std::int32_t verdict = 0;
    return gcoord_check(client_, name, token, &verdict, &error_);
  }

  gcoord_status break_lock(const char* name, const char* reason) {
    return gcoord_lock_break(client_, name, 7, "ann", reason, nullptr, &error_);
  }

  gcoord_status arrive(const gcoord_barrier_options& how) {
    gcoord_group* const group = gcoord_group_make(session_, "workers", &error_);
    const gcoord_status status = gcoord_group_barrier(group, &how, &error_);
    gcoord_group_free(group);
    return status;
  }

  gcoord_status ask(const BadRequest& bad) {
    switch (bad.verb) {
      case BadVerb::Acquire:
        return acquire(bad.name.c_str());
      case BadVerb::Release:
        return gcoord_session_release(session_, bad.name.c_str(), bad.token, &error_);
      case BadVerb::Check:
        return check(bad.name.c_str(), bad.token);
      case BadVerb::Open:
        return open(bad.ttl_ms);
    }
    return GCOORD_OK;
  }

  gcoord_client* client_ = nullptr;
  gcoord_session* session_ = nullptr;
  gcoord_error error_{};
};

TEST_F(BadInput, EachMistakeThatTheCInterfaceFindsHasItsNumber) {
  struct Case {
    const char* what;
    std::function<gcoord_status()> call;
    ErrorCode error;
  };

  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  std::vector<Case> cases = {
      {"NULL", [&] { return acquire(nullptr); }, ErrorCode::OptionMissing},
      {"a negative wait", [&] { return acquire("a", -7); }, ErrorCode::OptionInvalid},
      {"a huge wait", [&] { return acquire("a", kHuge - 1); }, ErrorCode::WaitTooLong},
      {"a negative TTL", [&] { return open(-5); }, ErrorCode::TtlTooShort},
      {"a huge TTL", [&] { return open(kHuge); }, ErrorCode::TtlTooLong},
      {"break: no name", [&] { return break_lock("", "x"); }, ErrorCode::NameEmpty},
      {"break: no reason", [&] { return break_lock("a", ""); }, ErrorCode::BreakUnexplained},
      {"barrier of nobody",
       [&] {
         return arrive({0, 1000});
       },
       ErrorCode::BarrierSizeInvalid},
      {"barrier of 257",
       [&] {
         return arrive({257, 1000});
       },
       ErrorCode::BarrierSizeInvalid},
      {"barrier, back in time",
       [&] {
         return arrive({2, -1});
       },
       ErrorCode::OptionInvalid},
      {"barrier for ever",
       [&] {
         return arrive({2, kHuge});
       },
       ErrorCode::WaitTooLong},
      {"break: NULL", [&] { return break_lock("a", nullptr); }, ErrorCode::OptionMissing},
  };
  for (const BadRequest& bad : bad_requests()) {
    cases.push_back({bad.what, [this, bad] { return ask(bad); }, bad.error});
  }
  for (const Case& each : cases) {
    EXPECT_NE(each.call(), GCOORD_OK) << each.what;
    EXPECT_EQ(error_.number, static_cast<std::uint32_t>(each.error)) << each.what;
  }
  for (const auto kind :
       {RequestKind::LockAcquire, RequestKind::LockRelease, RequestKind::LockCheck}) {
    EXPECT_TRUE(cluster_.requests(kind).empty()) << "no node was asked";
  }
}

TEST_F(BadInput, EachMistakeThatANodeFindsKeepsItsNumberThroughTheCInterface) {
  const std::vector<ErrorCode> errors = {ErrorCode::HolderOther,
                                         ErrorCode::TokenStale,
                                         ErrorCode::LockNotHeld,
                                         ErrorCode::SessionUnknown,
                                         ErrorCode::SequenceReused,
                                         ErrorCode::HoldBroken};
  std::atomic<ErrorCode> answer{ErrorCode::None};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockRelease ? error_reply(request, answer.load())
                                                         : friendly_reply(request);
  });
  for (const ErrorCode error : errors) {
    answer = error;
    gcoord_lock* lock = nullptr;
    ASSERT_EQ(gcoord_lock_acquire(session_, "a", 0, &lock, &error_), GCOORD_OK) << error_.message;
    EXPECT_NE(gcoord_lock_release(lock, &error_), GCOORD_OK);
    EXPECT_EQ(error_.number, static_cast<std::uint32_t>(error));
    gcoord_lock_detach(lock);
    gcoord_lock_free(lock);
  }
}

}  // namespace
}  // namespace gcoord::client
