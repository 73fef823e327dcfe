#include "chaos/live/leader_watch.h"

#include "chaos/check/operation.h"
#include "chaos/process/cluster_watch.h"
#include "common/json/members.h"

#include <chrono>

namespace gcoord::chaos {

namespace {

constexpr std::chrono::milliseconds kInterval{300};

}  // namespace

LeaderWatch::LeaderWatch(client::Client& client, std::uint32_t node_count) : client_(client) {
  for (std::uint32_t node = 1; node <= node_count; ++node) {
    threads_.emplace_back([this, node] { watch(node); });
  }
}

LeaderWatch::~LeaderWatch() {
  end();
}

void LeaderWatch::end() {
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

std::vector<LeaderSample> LeaderWatch::take() {
  end();
  return std::move(samples_);
}

void LeaderWatch::watch(std::uint32_t node) {
  std::unique_lock lock{mutex_};
  while (!ended_) {
    lock.unlock();
    const auto status = node_status(client_, node);
    LeaderSample sample{.at_ns = history_now_ns(), .node = node};
    if (status.ok()) {
      sample.leaders = JsonMembers(status.value()).number<std::uint32_t>("leaders");
    }
    lock.lock();
    samples_.push_back(sample);
    changed_.wait_for(lock, kInterval, [this] { return ended_; });
  }
}

}  // namespace gcoord::chaos
