// The events of a resident node's device, drained from their lanes and passed on: decided entries
// and roles to the rows, what is to be stored to the storage, answers to the probe.
//
// Nothing is passed on that a device cannot say (event_check.h). Lanes with requests under way come
// first; where a term ended, all that is in the lane, so that what was decided for a client before
// is answered before ResidentRows::follow ends the rest. Where threads follow the lanes
// (server/resident/copy), what they have had is taken from their rings, and their work is done here
// where a ring is empty. One thread.
#pragma once

#include "common/status.h"
#include "server/resident/copy/followers.h"
#include "server/resident/engine/event_check.h"
#include "server/resident/engine/lease_watch.h"
#include "server/resident/engine/probe.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/rows.h"
#include "server/resident/engine/storage.h"
#include "server/resident/node/node.h"
#include "server/resident/trace/sightings.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gcoord::server {

class EventDrain {
 public:
  // All outlive it.
  struct Environment {
    ResidentNode& node;
    ResidentRequests& requests;
    ResidentRows& rows;
    ResidentStorage* storage = nullptr;  // In durable mode.
    std::function<std::uint64_t()> now_ms;
    CopyOptions copy = {};                          // Where threads follow the lanes.
    std::shared_ptr<TurnSightings> sightings = {};  // For a trace; none: nobody looks.
  };

  explicit EventDrain(const Environment& environment);

  // A bounded part of what there is; how much that was.
  Result<std::size_t> drain();

  // --- Threads that follow the lanes, where the environment says so; else nothing happens

  // From where the rows are, before anything was drained.
  void begin_following();
  void stop_following();

  // As Followers::leave_all.
  void leave_all(bool left);

  // What the followers register sessions by from now on: called before anything is given to the
  // device, which may have decided it a moment later.
  void set_time();

  // What a follower met that ends the node; later calls of drain() say the same.
  Status failure() const;

  // nullptr: nobody follows.
  Followers* followers() { return followers_.get(); }

  Follower::Counts copy_counts() const {
    return followers_ == nullptr ? Follower::Counts{} : followers_->counts();
  }

  // Does something while the tables are where the rows are: all that followers have had is passed
  // on first, and they rest. Failures: what that finds, and the work's.
  Status while_settled(const std::function<Status()>& work);

  ResidentProbe& probe() { return probe_; }

  TurnSightings* sightings() const { return env_.sightings.get(); }

  // Whether leases that count by the device's clock are to be trusted.
  const LeaseWatch& leases() const { return leases_; }

 private:
  Result<std::uint32_t> drain_lane(std::uint32_t lane, std::uint32_t most);

  Result<std::uint32_t> drain_followed(std::uint32_t lane, std::uint32_t most);
  void expect(std::uint32_t lane) const;
  Status pass_on(std::uint32_t lane, Follower& follower);
  Status settle(std::uint32_t lane);
  Status take(std::uint32_t lane, const HostEventSlot& told, const CopyEvent* event);
  bool compare_clocks(const TurnReply& read);
  Status look();
  void show_leaders() const;
  void show_applied(const HostEventSlot& told, const CopyEvent* event) const;

  Environment env_;
  EventCheck check_;
  std::unique_ptr<Followers> followers_;
  ResidentProbe probe_;
  LeaseWatch leases_;
  const std::vector<ResidentLeaders::Change>* changes_ = nullptr;  // Of this call of drain().
  std::uint32_t next_lane_ = 0;                                    // Where the next call begins.
  std::vector<bool> drained_;  // By lane: nothing was left in it a moment ago.
};

}  // namespace gcoord::server
