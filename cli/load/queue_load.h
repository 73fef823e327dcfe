// One lock with a long queue, handed on from waiter to waiter, for `gcoordctl bench queue` and
// `gcoord-bench waiters`.
//
// The waiters are acquires of sessions of this process, up to kWaitsPerSession each, so that one
// program makes a queue of 100,000. Each waiter that is granted releases at once. What is measured:
// from the call of a release to the callback of the next grant, one hand-over after another; and
// whether each release woke one waiter, the one that came first. One thread; callbacks run on the
// client's.
#pragma once

#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::cli {

// What the client library allows itself in one shard (protocol/limits.h: kOutstandingMax), less the
// release that a grant brings.
inline constexpr std::uint32_t kWaitsPerSession = 30;

// Closing a session looks through all that is under way, so closing very many takes longer than
// their TTL.
inline constexpr std::size_t kSessionsClosedMax = 1000;

struct QueueLoadOptions {
  std::string name;
  std::uint32_t waiters = 1000;

  // Acquires on their way together while the queue is made. The default is what one shard's leader
  // takes on at once; what is beyond that is refused, and comes again in another order.
  std::uint32_t burst = 2000;
  std::uint32_t handovers = 1000;  // At most `waiters`.

  // Called once, on the client's thread, when so many waiters were granted; may be empty.
  std::uint32_t interlude_grants = 0;
  std::function<void()> interlude;

  // How long all hand-overs together may take; beyond it hand_on() fails.
  std::chrono::milliseconds patience = std::chrono::minutes{30};
};

struct QueueLoadResults {
  double enqueue_seconds = 0;  // Until the leader knew all waiters.
  std::uint64_t grants = 0;    // Callbacks of grants, of waiters.
  std::uint64_t releases = 0;  // Each wakes one.
  // Whether the waits stand in line as they were called: no leader changed, and none was refused,
  // while the queue was made. Else who is first is known to the leader only.
  bool order_known = false;
  std::uint64_t out_of_order = 0;          // Grants that were not the first one's in the queue.
  std::uint64_t tokens_out_of_order = 0;   // Grants whose token is not above the one before.
  std::uint64_t waiters_left = 0;          // As the leader says afterwards.
  std::vector<std::uint32_t> handover_us;  // Sorted.

  // Every release woke one waiter, the first in the queue, and nobody else.
  bool exact(std::uint32_t waiters) const {
    const bool in_order = out_of_order == 0 || !order_known;
    return in_order && tokens_out_of_order == 0 && grants == releases &&
           waiters_left == waiters - grants;
  }
};

class QueueLoad {
 public:
  QueueLoad(client::Client& client, QueueLoadOptions options)
      : client_(client), options_(std::move(options)) {}

  // Builds the queue: returns when the leader knows all waiters, in the order of their calls.
  client::Status queue_up();

  // Then, once: hands the lock on, and counts. What is left of the queue ends with the TTL of its
  // sessions, a minute later.
  client::Result<QueueLoadResults> hand_on();

  // Ends queue_up() and hand_on() early, which then fail with Cancelled. Any thread.
  void stop();

  // After they were stopped, once: closes the sessions, up to kSessionsClosedMax of them, and waits
  // for the answers. More of them end with their TTL.
  void close();

 private:
  using Moment = std::chrono::steady_clock::time_point;

  client::Status open_sessions();
  client::Status enqueue();
  client::Status await_waiters(std::uint32_t count);
  void on_granted(std::uint32_t waiter, const client::Result<client::Grant>& grant);
  void release(client::Session& session, std::uint64_t token);

  client::Client& client_;
  QueueLoadOptions options_;
  std::vector<client::Session> sessions_;  // The first one is the first holder's.
  std::uint64_t first_token_ = 0;
  std::uint64_t last_token_ = 0;  // Of the client's thread, as the results.
  QueueLoadResults results_;      // Of the client's thread while the lock goes round.
  Moment released_at_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool ended_ = false;
  std::atomic<bool> stopped_{false};
  client::Status failure_;
};

}  // namespace gcoord::cli
