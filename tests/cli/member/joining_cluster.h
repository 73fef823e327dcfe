// Real nodes that join three founders, and a client that goes on meanwhile.
#pragma once

#include "chaos/process/free_ports.h"
#include "common/host/child_process.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {

inline constexpr int kRemovedExit = 7;

class JoiningCluster : public ProcessCluster {
 protected:
  explicit JoiningCluster(const std::string& turn = "host")
      : ProcessCluster(16, turn_of_all(turn)), turn_(turn) {}

  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ProcessCluster::SetUp());
    const nlohmann::json first =
        ctl().json({"--timeout", "30s", "member", "watch", "--count", "1"});
    ASSERT_EQ(first.value("view", ""), "1") << first.dump();
  }

  // A machine for a node that joins.
  struct Place {
    std::vector<std::uint16_t> ports;
    std::optional<ChildProcess> process;
  };

  Place& place(std::uint32_t number) {
    Place& found = places_[number];
    if (found.ports.empty()) {
      auto ports = chaos::free_ports(3);
      EXPECT_TRUE(ports.ok()) << ports.status().to_string();
      found.ports = std::move(ports).value();
    }
    return found;
  }

  std::string name_of(std::uint32_t number) const { return "place-" + std::to_string(number); }

  std::string log_of(std::uint32_t number) const {
    return (directory_.path() / (name_of(number) + ".log")).string();
  }

  std::string endpoint(std::uint32_t number) {
    return "127.0.0.1:" + std::to_string(place(number).ports[0]);
  }

  // gcoordd there, with nothing of the cluster but what `more` says.
  void start(std::uint32_t number, const std::vector<std::string>& more) {
    Place& at = place(number);
    const auto address = [&at](std::size_t k) {
      return "127.0.0.1:" + std::to_string(at.ports[k]);
    };
    ChildOptions options = program("gcoordd",
                                   {"--data-dir",
                                    (directory_.path() / name_of(number)).string(),
                                    "--listen-client",
                                    address(0),
                                    "--listen-peer",
                                    address(1),
                                    "--listen-metrics",
                                    address(2)});
    const std::vector<std::string> turn = turn_flags(turn_);
    options.arguments.insert(options.arguments.end(), turn.begin(), turn.end());
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.error_file = log_of(number);
    auto child = ChildProcess::start(options);
    ASSERT_TRUE(child.ok()) << child.status().to_string();
    at.process.emplace(std::move(child).value());
  }

  void join(std::uint32_t number, const std::string& token) {
    start(number, {"--join", comma_list(cluster_->endpoints()), "--join-token", token});
  }

  void await_ready(std::uint32_t number) {
    const auto line = place(number).process->read_line(kPatience);
    EXPECT_THAT(line.value_or(""), testing::HasSubstr("gcoordd ready"))
        << file_text(log_of(number));
  }

  // The exit code of one that does not come up.
  int ended(std::uint32_t number) {
    return place(number).process->wait_for(kPatience).value_or(-1);
  }

  std::string verb(const std::vector<std::string>& words, const char* field) {
    std::vector<std::string> all = {"--timeout", "30s", "member"};
    all.insert(all.end(), words.begin(), words.end());
    const nlohmann::json answer = ctl().json(all);
    EXPECT_TRUE(answer.contains(field)) << answer.dump();
    return answer.value(field, "");
  }

  std::string invite(const std::string& name) { return verb({"add", "--name", name}, "token"); }

  nlohmann::json member(const std::string& name) const {
    const nlohmann::json view = ctl().json({"--timeout", "30s", "member", "list"});
    for (const auto& each : view["members"]) {
      if (each.value("name", "") == name) {
        return each;
      }
    }
    return nlohmann::json::object();
  }

  void await_state(const std::string& name, const std::string& state) {
    const auto latest = std::chrono::steady_clock::now() + kPatience;
    while (member(name).value("state", "") != state) {
      ASSERT_LT(std::chrono::steady_clock::now(), latest)
          << name << " is not " << state << ": " << member(name).dump();
    }
  }

  void restart_all(const std::vector<std::uint32_t>& founders,
                   const std::map<std::uint32_t, std::vector<std::string>>& others) {
    for (const std::uint32_t founder : founders) {
      cluster_->kill(founder);
    }
    for (const auto& [number, more] : others) {
      place(number).process->kill_now();
    }
    for (const std::uint32_t founder : founders) {
      ASSERT_TRUE(cluster_->spawn(founder).ok());
    }
    for (const auto& [number, more] : others) {
      start(number, more);
    }
    for (const std::uint32_t founder : founders) {
      const Status ready = cluster_->wait_ready(founder, kPatience);
      ASSERT_TRUE(ready.ok()) << ready.to_string();
    }
    for (const auto& [number, more] : others) {
      await_ready(number);
    }
  }

  const std::string turn_;
  std::map<std::uint32_t, Place> places_;
};

// Acquires and releases until it goes away; no call may fail within its deadline.
class BusyClient {
 public:
  explicit BusyClient(client::Client client)
      : client_(std::move(client)), thread_([this] { run(); }) {}

  ~BusyClient() {
    if (thread_.joinable()) {
      stop();
    }
  }

  void stop() {
    stopping_ = true;
    thread_.join();
  }

  int done() const { return done_; }

  // Waits until it has done so many more.
  bool await_more(int count) {
    std::unique_lock lock(mutex_);
    const int enough = done_ + count;
    return progress_.wait_for(lock, kPatience, [&] { return done_ >= enough; });
  }

  const std::vector<std::string>& failures() const { return failures_; }

 private:
  void run() {
    auto session = client_.open_session({.ttl = std::chrono::seconds{10}, .on_event = {}});
    if (!session.ok()) {
      failures_.push_back(session.status().to_string());
      return;
    }
    while (!stopping_) {
      auto lock = session.value().acquire("load-" + std::to_string(done_ % 64), {.wait = {}});
      if (!lock.ok()) {
        failures_.push_back("acquire: " + lock.status().to_string());
      } else if (const auto released = lock.value().release(); !released.ok()) {
        failures_.push_back("release: " + released.to_string());
      }
      const std::lock_guard guard(mutex_);
      ++done_;
      progress_.notify_all();
    }
  }

  client::Client client_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable progress_;
  std::atomic<int> done_{0};
  std::vector<std::string> failures_;  // Of the thread, until stop().
  std::thread thread_;
};

}  // namespace gcoord::cli
