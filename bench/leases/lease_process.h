// One client process of the lease benchmark: takes leases, renews them, says how it goes.
//
// A lease is a session that holds one lock. The process renews all of its sessions every third of
// their TTL with one keep-alive to each node, as the client library does, until it is told to send
// a last one. A child is forked before anything has a thread, and does as its pipe says; it ends
// with its parent.
#pragma once

#include "common/json/value.h"
#include "common/status.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

class LeaseProcess {
 public:
  // On the only thread of the program.
  static Result<LeaseProcess> fork_one();

  // Ends it at once.
  ~LeaseProcess();
  LeaseProcess(LeaseProcess&& other) noexcept;
  LeaseProcess& operator=(LeaseProcess&&) = delete;

  // Sends one order; its answer is read by await(). Orders:
  //   {"do":"take","endpoints":[...],"first":F,"count":N,"ttl_ms":T}  -> {"taken":N}
  //   {"do":"count"}  -> {"renewals":R,"lost":L}: keep-alive rounds, sessions that are over
  //   {"do":"last"}   -> {"acknowledged_ns":T}: renewed once more, and from then on never again
  Status order(const Json& order);
  Result<Json> await();

 private:
  LeaseProcess(pid_t pid, int to_child, int from_child)
      : pid_(pid), to_child_(to_child), from_child_(from_child) {}

  pid_t pid_ = 0;
  int to_child_ = -1;
  int from_child_ = -1;
  std::string read_;
};

}  // namespace gcoord::bench
