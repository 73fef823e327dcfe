// Requests that an engine refuses when they are made, until its turn answers them: a service is
// never called from inside propose() or read(). One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::server {

struct RefusedRequest {
  std::uint64_t cookie = 0;
  bool read = false;
  Status status;
  NodeId leader;
};

class RefusedRequests {
 public:
  void add(RefusedRequest request) { requests_.push_back(std::move(request)); }

  bool empty() const { return requests_.empty(); }

  // Tells the service of all of them. Returns how many.
  std::size_t answer(StateMachine& service) {
    const std::vector<RefusedRequest> requests = std::exchange(requests_, {});
    for (const RefusedRequest& each : requests) {
      if (each.read) {
        service.on_read(each.cookie, each.status, each.leader);
      } else {
        service.on_proposal_failed(each.cookie, each.status, each.leader);
      }
    }
    return requests.size();
  }

 private:
  std::vector<RefusedRequest> requests_;
};

}  // namespace gcoord::server
