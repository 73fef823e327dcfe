// Liveness probe of a device's lanes: the deadline of a kernel that never ends.
//
// About twice a second each lane gets a request that names no row, which its stripe refuses at
// once, whatever else it does. A lane that has said nothing at all for kProbeLimitMs since hangs,
// or its kernel does. Whatever else it says shows that it lives: a request waits behind all that
// was asked before, and when a million shards are led at once, that is seconds of work for a host.
// A refusal that finds no room in the lane is lost, as it may be in such a burst; so a lane that
// has not answered is asked again, and any answer to it counts. One thread.
#pragma once

#include "common/device/device_errors.h"
#include "common/status.h"
#include "server/resident/engine/requests.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::server {

// As long as a batch may take under the host's turn (GC7102): a kernel that shares its GPU with
// others in slices of time stands still for milliseconds, not seconds.
inline constexpr std::uint64_t kProbeLimitMs = 2000;
inline constexpr std::uint64_t kProbePauseMs = 500;

class ResidentProbe {
 public:
  ResidentProbe(std::uint32_t lane_count, ResidentRequests& requests)
      : requests_(requests), lanes_(lane_count) {}

  // Asks what is due. DeadlineExceeded: a lane does not answer.
  Status refresh(std::uint64_t now_ms) {
    for (std::uint32_t k = 0; k < lanes_.size(); ++k) {
      Lane& lane = lanes_[k];
      if (lane.tag != 0 && now_ms - lane.asked_ms > kProbeLimitMs) {
        return {StatusCode::DeadlineExceeded,
                "stripe " + std::to_string(k) + " has not answered for " +
                    std::to_string(now_ms - lane.asked_ms) + " ms",
                kDeviceOverrun};
      }
      const bool rested = now_ms - std::max(lane.asked_ms, lane.sent_ms) >= kProbePauseMs;
      if (rested) {
        lane.asked_ms = lane.tag == 0 ? now_ms : lane.asked_ms;
        lane.sent_ms = now_ms;
        lane.tag = requests_.probe(k);
      }
    }
    return {};
  }

  // The turn rested and has just begun again: what was asked before is not overdue because of that.
  void rested(std::uint64_t now_ms) {
    for (Lane& lane : lanes_) {
      lane.asked_ms = now_ms;
    }
  }

  // The lane said something, whatever it was.
  void heard(std::uint32_t lane, std::uint64_t now_ms) { lanes_[lane].asked_ms = now_ms; }

  void take(std::uint32_t lane, const TurnReply& reply) {
    lanes_[lane].tag = lanes_[lane].tag == reply.tag ? 0 : lanes_[lane].tag;
  }

 private:
  struct Lane {
    std::uint64_t tag = 0;       // Of the newest under way; 0: none.
    std::uint64_t asked_ms = 0;  // When the oldest without an answer was, or the lane last spoke.
    std::uint64_t sent_ms = 0;   // When the newest was.
  };

  ResidentRequests& requests_;
  std::vector<Lane> lanes_;
};

}  // namespace gcoord::server
