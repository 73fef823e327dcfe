// Asks every node a few times a second how many shards it leads, for as long as it lives.
//
// A thread for each node, so that one that does not answer holds up nobody else's samples.
#pragma once

#include "chaos/live/live.h"
#include "gcoord/client.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace gcoord::chaos {

class LeaderWatch {
 public:
  // The client's requests should time out soon; it outlives the watch.
  LeaderWatch(client::Client& client, std::uint32_t node_count);
  ~LeaderWatch();
  LeaderWatch(const LeaderWatch&) = delete;
  LeaderWatch& operator=(const LeaderWatch&) = delete;

  // Ends the watch; in the order in which the answers came.
  std::vector<LeaderSample> take();

 private:
  void watch(std::uint32_t node);
  void end();

  client::Client& client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::vector<LeaderSample> samples_;
  std::vector<std::thread> threads_;
};

}  // namespace gcoord::chaos
