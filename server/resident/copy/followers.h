// The threads that follow the lanes of a resident node (follower.h), each with a run of lanes and
// with the part of the lock tables that has their shards.
//
// A thread works while there is something to do, looks again and again for a while after it, and
// then sleeps. Meanwhile the loop does its work whenever it finds a lane's ring empty, as it does
// for the lanes of a thread that is busy elsewhere: so a command that is alone waits for no thread,
// and many of them have all threads.
// Whoever wants the tables of a lane's shards to be where the loop is (its role changes, a state
// leaves or comes) holds the lane's follower and passes on all that is in the ring. The loop alone
// calls; joined by the destructor.
#pragma once

#include "common/host/short_mutex.h"
#include "server/resident/copy/follower.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gcoord::server {

// Lock tables in parts and the service's time, with which threads follow the lanes.
struct CopyOptions {
  locks::LockCpu* tables = nullptr;  // nullptr: none does, and the service applies everything.
  std::uint32_t part_shards = 0;     // Of the tables: whole lanes; 0: as above.
  std::function<Tick()> now;
  std::uint32_t ring_events = kCopyRingEvents;
};

class Followers {
 public:
  struct Options {
    std::uint32_t lane_count = 0;
    std::uint32_t lanes_each = 0;  // Of a thread; the last one may have fewer.
    std::uint32_t ring_events = kCopyRingEvents;
  };

  Followers(const Follower::Environment& environment, const Options& options);
  ~Followers();
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  // After what every follower begins with is known.
  void start();

  // Ends the threads, once; nothing is followed any more.
  void stop();

  std::uint32_t count() const { return static_cast<std::uint32_t>(members_.size()); }

  Follower& of(std::uint32_t lane) const { return members_[lane / lanes_each_]->follower; }

  // The follower of the lane, which does nothing for others while this lives.
  ShortMutex::Held hold(std::uint32_t lane) const;

  // Does the work of the lane's thread by so many events, if that does not hold it; by how many.
  std::uint32_t help(std::uint32_t lane, std::uint32_t most) const;

  // Wakes the threads whose work help() did much of in this millisecond.
  void wake_helped(std::uint64_t now_ms);

  void set_time(Tick now) const;

  // Leaves everything to the loop, or nothing any more. When this returns, nothing more is applied
  // ahead of it.
  void leave_all(bool left) const;

  // The first failure; nullptr while there is none.
  const Status* failure() const;

  Follower::Counts counts() const;

 private:
  struct Member {
    Member(const Follower::Environment& environment, const Follower::Lanes& own)
        : follower(environment, own), lanes(own) {}

    Follower follower;
    Follower::Lanes lanes;
    mutable ShortMutex mutex;              // Of the follower.
    std::atomic<std::uint32_t> wanted{0};  // By the loop: the thread lets it have the mutex first.
    std::uint32_t helped = 0;              // Events, of all its lanes; the loop's.
    std::mutex sleep_mutex;
    std::condition_variable wakes;
    std::atomic<bool> asleep{false};  // Written under sleep_mutex.
    std::thread thread;
  };

  void run(Member& member);
  void sleep(Member& member);
  static void wake(Member& member);

  std::uint32_t lanes_each_;
  std::vector<std::unique_ptr<Member>> members_;
  std::uint64_t helped_ms_ = 0;  // That help() is counted in.
  std::atomic<bool> stopping_{false};
};

}  // namespace gcoord::server
