// Very many leases of an etcd cluster, each with one key, renewed over streams to the leader.
//
// A thread each for kEtcdLeaseStreams clients; a client renews all of its leases every third of
// their TTL over one LeaseKeepAlive stream, as etcd's own client library does. One thread calls.
#pragma once

#include "common/status.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::bench {

inline constexpr std::uint32_t kEtcdLeaseStreams = 16;

class EtcdLeases {
 public:
  // Begins to take them; taken() says how many are.
  EtcdLeases(const std::string& leader, std::uint32_t leases, std::chrono::seconds ttl);

  // Stops renewing and waits for all threads.
  ~EtcdLeases();

  std::uint64_t taken() const { return taken_.load(std::memory_order_acquire); }

  // Answers that said that a lease was over already.
  std::uint64_t lost() const { return lost_.load(std::memory_order_acquire); }

  // The longest that any client took to renew all of its leases once.
  std::chrono::milliseconds slowest_round() const {
    return std::chrono::milliseconds{slowest_round_ms_.load(std::memory_order_acquire)};
  }

  // Not empty: a client has failed, and holds nothing from then on.
  std::string failure() const;

  // Every client renews once more and never again; when the last of these renewals was answered.
  std::chrono::steady_clock::time_point stop();

 private:
  class Client;

  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::int64_t> slowest_round_ms_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::thread> threads_;
};

}  // namespace gcoord::bench
