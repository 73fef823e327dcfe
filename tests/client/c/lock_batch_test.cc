// Batches of locks by the C interface.
#include "gcoord/gcoord_batch.h"
#include "tests/client/c_interface.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class CLockBatchTest : public CInterfaceTest {
 protected:
  static constexpr std::array<const char*, 3> kNames = {"a", "b", "c"};

  // "b" is somebody else's.
  void keep_b() {
    cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
      return request.payload == "b" ? error_reply(request, ErrorCode::LockBusy)
                                    : friendly_reply(request);
    });
  }
};

TEST_F(CLockBatchTest, ABatchSaysWhatCameOfEachName) {
  keep_b();
  open_session();
  gcoord_lock_batch* batch = nullptr;
  ASSERT_EQ(
      gcoord_lock_acquire_many(session_, kNames.data(), kNames.size(), nullptr, &batch, &error_),
      GCOORD_OK)
      << error_.message;
  EXPECT_EQ(gcoord_lock_batch_size(batch), 3u);
  EXPECT_EQ(gcoord_lock_batch_granted(batch), 2u);
  EXPECT_STREQ(gcoord_lock_batch_name(batch, 2), "c");
  EXPECT_EQ(gcoord_lock_batch_fence(batch, 0), 7u);
  EXPECT_EQ(gcoord_lock_batch_fence(batch, 1), 0u);
  EXPECT_TRUE(gcoord_lock_batch_valid(batch, 2));
  EXPECT_FALSE(gcoord_lock_batch_valid(batch, 1));
  EXPECT_FALSE(gcoord_lock_batch_already_held(batch, 0));
  EXPECT_EQ(gcoord_lock_batch_outcome(batch, 0, &error_), GCOORD_OK);
  EXPECT_NE(gcoord_lock_batch_outcome(batch, 1, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 6001u);
  EXPECT_NE(gcoord_lock_batch_outcome(batch, 3, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 1001u);
  EXPECT_EQ(gcoord_lock_batch_release(batch, &error_), GCOORD_OK) << error_.message;
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 2u);
  EXPECT_EQ(gcoord_lock_batch_fence(batch, 0), 0u);
  EXPECT_EQ(gcoord_lock_batch_release(batch, &error_), GCOORD_OK) << "nothing is left";
  gcoord_lock_batch_free(batch);
  gcoord_lock_batch_free(nullptr);
  EXPECT_EQ(gcoord_lock_batch_size(nullptr), 0u);
  EXPECT_STREQ(gcoord_lock_batch_name(nullptr, 0), "");
}

TEST_F(CLockBatchTest, AFreedBatchIsReleasedAndADetachedOneIsNot) {
  open_session();
  gcoord_lock_batch* batch = nullptr;
  ASSERT_EQ(gcoord_lock_acquire_many(session_, kNames.data(), 2, nullptr, &batch, &error_),
            GCOORD_OK);
  gcoord_lock_batch_detach(batch);
  EXPECT_EQ(gcoord_lock_batch_release(batch, &error_), GCOORD_OK) << error_.message;
  EXPECT_EQ(gcoord_lock_batch_fence(batch, 0), 7u) << "for whoever releases by token";
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  gcoord_lock_batch_free(batch);
  ASSERT_EQ(gcoord_lock_acquire_many(session_, kNames.data(), 3, nullptr, &batch, &error_),
            GCOORD_OK);
  gcoord_lock_batch_free(batch);
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 3).size(), 3u);
}

TEST_F(CLockBatchTest, WithoutWaiting) {
  keep_b();
  open_session();
  Collected<gcoord_lock_batch*> batches;
  ASSERT_EQ(gcoord_lock_acquire_many_async(
                session_,
                kNames.data(),
                kNames.size(),
                nullptr,
                nullptr,
                [](void* user, gcoord_lock_batch* batch, const gcoord_error*) {
                  static_cast<Collected<gcoord_lock_batch*>*>(user)->add(batch);
                },
                &batches,
                &error_),
            GCOORD_OK);
  gcoord_lock_batch* const batch = batches.wait_for(1)[0];
  EXPECT_EQ(gcoord_lock_batch_granted(batch), 2u);
  Collected<bool> released;
  const auto on_done = [](void* user, const gcoord_error* error) {
    static_cast<Collected<bool>*>(user)->add(error == nullptr);
  };
  ASSERT_EQ(gcoord_lock_batch_release_async(batch, on_done, &released, &error_), GCOORD_OK);
  EXPECT_TRUE(released.wait_for(1)[0]);
  gcoord_lock_batch_free(batch);

  const std::array<std::uint64_t, 3> tokens = {7, 7, 7};
  Collected<std::uint32_t> numbers;
  ASSERT_EQ(gcoord_session_release_many_async(
                session_,
                kNames.data(),
                tokens.data(),
                tokens.size(),
                [](void* user, const gcoord_outcome* outcomes, size_t count, const gcoord_error*) {
                  for (size_t k = 0; k < count; ++k) {
                    static_cast<Collected<std::uint32_t>*>(user)->add(outcomes[k].number);
                  }
                },
                &numbers,
                &error_),
            GCOORD_OK);
  EXPECT_EQ(numbers.wait_for(3), (std::vector<std::uint32_t>{0, 6001, 0}));
  Collected<std::int64_t> until;
  ASSERT_EQ(
      gcoord_session_renew_until_async(
          session_,
          [](void* user, const std::int64_t* certain, const gcoord_error*) {
            static_cast<Collected<std::int64_t>*>(user)->add(certain == nullptr ? 0 : *certain);
          },
          &until,
          &error_),
      GCOORD_OK);
  EXPECT_GT(until.wait_for(1)[0], now_ns_.load());
}

TEST_F(CLockBatchTest, ReleasesByTokensAndRenewals) {
  keep_b();
  open_session();
  const std::array<std::uint64_t, 3> tokens = {7, 7, 7};
  std::array<gcoord_outcome, 3> outcomes{};
  ASSERT_EQ(gcoord_session_release_many(
                session_, kNames.data(), tokens.data(), 3, outcomes.data(), &error_),
            GCOORD_OK);
  EXPECT_EQ(outcomes[0].status, GCOORD_OK);
  EXPECT_EQ(outcomes[1].number, 6001u);
  EXPECT_NE(
      gcoord_session_release_many(session_, kNames.data(), tokens.data(), 3, nullptr, &error_),
      GCOORD_OK);
  EXPECT_EQ(error_.number, 6001u);
  std::int64_t until = 0;
  ASSERT_EQ(gcoord_session_renew_until(session_, &until, &error_), GCOORD_OK) << error_.message;
  EXPECT_GT(until, now_ns_.load());
}

TEST_F(CLockBatchTest, MistakesAreNamed) {
  open_session();
  gcoord_lock_batch* batch = nullptr;
  const auto number_of = [&](const char* const* names, size_t count) {
    EXPECT_NE(gcoord_lock_acquire_many(session_, names, count, nullptr, &batch, &error_),
              GCOORD_OK);
    return error_.number;
  };
  const std::array<const char*, 2> twice = {"a", "a"};
  const std::array<const char*, 2> missing = {"a", nullptr};
  EXPECT_EQ(number_of(twice.data(), 2), 6707u);
  EXPECT_EQ(number_of(missing.data(), 2), 1002u);
  EXPECT_EQ(number_of(kNames.data(), 0), 6705u);
  EXPECT_NE(gcoord_session_renew_until(session_, nullptr, &error_), GCOORD_OK);
  EXPECT_EQ(error_.number, 1002u);
  EXPECT_EQ(batch, nullptr);
}

}  // namespace
}  // namespace gcoord::client
