// A client of a fake cluster, on a clock that the test moves.
#pragma once

#include "gcoord/client.h"
#include "tests/client/fake_cluster.h"
#include "tests/client/manual_clock.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {

class ClientTest : public ::testing::Test {
 protected:
  ClientOptions options() const {
    ClientOptions options;
    options.endpoints = cluster_.endpoints();
    options.clock = clock_;
    options.seed = 1;
    options.request_timeout = request_timeout_;
    return options;
  }

  // Connected to every node.
  Client connect() {
    auto client = Client::connect(options());
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    Client connected = std::move(client).value();
    const Status all = connected.wait_for_all_nodes(std::chrono::seconds{1});
    EXPECT_TRUE(all.ok()) << all.to_string();
    return connected;
  }

  static Session open(Client& client, SessionOptions session_options = {}) {
    auto session = client.open_session(std::move(session_options));
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return std::move(session).value();
  }

  // Moves the clock in steps until `done`; each look at the client is a round trip to its thread,
  // so that what a step caused has happened before the next one.
  template <typename Done>
  void advance_until(Client& client, TimePoint step, Done done) {
    // An end for a test that fails: far more steps than any test needs.
    for (int round = 0; round < 1'000'000 && !done(client.statistics()); ++round) {
      clock_->advance(step);
      const auto next = std::chrono::steady_clock::now() + step / kPaceMax;
      while (std::chrono::steady_clock::now() < next) {
        std::this_thread::yield();
      }
    }
    EXPECT_TRUE(done(client.statistics()));
  }

  // Waits, without moving the clock.
  template <typename Done>
  static void settle_until(Client& client, Done done) {
    for (int round = 0; round < 10'000'000 && !done(client.statistics()); ++round) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(done(client.statistics()));
  }

  // A clock that a test moves runs so many times as fast as the machine's at most: sockets are not
  // faster, and a client takes a node for silent by that clock.
  static constexpr int kPaceMax = 50;

  std::chrono::milliseconds request_timeout_{5000};
  FakeCluster cluster_{3};
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
};

// Collects what callbacks say, in order, for a test to wait for.
template <typename T>
class Collected {
 public:
  void add(T value) {
    const std::lock_guard lock{mutex_};
    values_.push_back(std::move(value));
    added_.notify_all();  // Under the lock, because the test that waits may destroy this next.
  }

  // Fails the test when they do not come within a minute: not a measure, only an end.
  std::vector<T> wait_for(std::size_t count) {
    std::unique_lock lock{mutex_};
    EXPECT_TRUE(
        added_.wait_for(lock, std::chrono::minutes{1}, [&] { return values_.size() >= count; }));
    return values_;
  }

  std::size_t count() const {
    const std::lock_guard lock{mutex_};
    return values_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable added_;
  std::vector<T> values_;
};

}  // namespace gcoord::client
