// A client of a fake cluster by the C interface, on a clock that the test moves.
#pragma once

#include "common/comma_list.h"
#include "gcoord/gcoord.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace gcoord::client {

class CInterfaceTest : public ClientTest {
 protected:
  void SetUp() override {
    const std::string endpoints = comma_list(cluster_.endpoints());
    gcoord_client_options options;
    gcoord_client_options_init(&options);
    options.endpoints = endpoints.c_str();
    options.request_timeout_ms = 60'000;
    options.now_ns = [](void* user) {
      return static_cast<const std::atomic<std::int64_t>*>(user)->load();
    };
    options.now_user = &now_ns_;
    ASSERT_EQ(gcoord_client_connect(&options, &client_, &error_), GCOORD_OK) << error_.message;
  }

  void TearDown() override {
    gcoord_session_free(session_);
    EXPECT_EQ(gcoord_client_free(client_), GCOORD_OK);
  }

  void open_session(gcoord_event_callback on_event = nullptr, void* user = nullptr) {
    ASSERT_EQ(gcoord_session_open(client_, 9000, on_event, user, &session_, &error_), GCOORD_OK)
        << error_.message;
  }

  void move_clock(TimePoint by) {
    now_ns_ += by.count();
    gcoord_client_clock_moved(client_);
  }

  std::atomic<std::int64_t> now_ns_{TimePoint{std::chrono::hours{1}}.count()};
  gcoord_client* client_ = nullptr;
  gcoord_session* session_ = nullptr;
  gcoord_error error_{};
};

}  // namespace gcoord::client
