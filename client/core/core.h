// The client's one thread and what lives on it: nodes, operations, sessions.
//
// Other threads hand in operations and commands through a mailbox; everything that was handed in
// while the thread was busy is taken at once, and its requests leave in one frame per node. After
// every batch of events due times are looked at, frames are sent and the timer is set: settle().
//
// submit(), post() and the getters are thread-safe. stop() ends the thread; afterwards every
// submitted operation fails at once with ErrorCode::ClientClosed, on the caller's thread.
#pragma once

#include "client/core/read_positions.h"
#include "client/core/session_keeper.h"
#include "client/dispatch/dispatcher.h"
#include "client/dispatch/operation.h"
#include "client/net/wake_timer.h"
#include "client/nodes/node_set.h"
#include "gcoord/options.h"
#include "gcoord/status.h"
#include "gcoord/types.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace asio {
class io_context;
}

namespace gcoord::client {

// Which nodes must be ready for a wait to end well.
enum class WaitFor : std::uint8_t {
  AnyNode,
  AllNodes,
  Majority,        // Or all were tried.
  EveryNodeTried,  // Ready, or tried and failed.
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  using StatusCallback = std::function<void(Status)>;

  explicit Core(ClientOptions options);
  ~Core();

  // Starts the thread and connects; the callback runs once, when a node is ready or none will be.
  void start(StatusCallback on_connected);

  // Gives what is being released a moment to leave, then ends the thread. Not from a callback.
  // Any thread. All calls under way end, and later ones fail at once; does not wait for it.
  void begin_stop();
  void stop();

  void submit(OperationPtr operation);

  // All of them at once, so that they leave in one frame for each node. Without a thread that takes
  // them they end here, in their order.
  void submit_all(std::vector<OperationPtr> operations);

  // Runs the command on the client's thread; false when that takes none any more. It may be about
  // its last work then: see wait_ended().
  bool post(std::function<void()> command);

  // Returns when the client's thread has touched the parts for the last time, which follows soon
  // after post() has failed. Not on that thread.
  void wait_ended() const;

  // Ends with GC3001 at the deadline. On the client's thread only.
  void wait_for(WaitFor what, TimePoint deadline, StatusCallback callback);

  // Ok while most nodes are connected; NoLeader, or Unreachable without any. GC4010 once the client
  // ends, whatever is connected then. On the client's thread, or after its end.
  Status majority() const;

  // Runs the command once, at this moment of the clock or soon after; never when the client ends
  // before. On the client's thread only.
  void call_at(TimePoint moment, std::function<void()> command);

  // Runs the command once, when the client ends, or now if it is ending; not when its owner is gone
  // by then. On the client's thread only.
  void call_at_stop(const std::weak_ptr<void>& owner, std::function<void()> command);

  bool on_own_thread() const { return std::this_thread::get_id() == thread_id_.load(); }

  std::thread::id thread_id() const { return thread_id_.load(); }

  const ClientOptions& options() const { return options_; }

  Clock& clock() const { return *options_.clock; }

  TimePoint request_deadline() const { return clock().now() + TimePoint{options_.request_timeout}; }

  // 0 before the first Welcome.
  std::uint32_t shard_count() const { return shard_count_.load(std::memory_order_relaxed); }

  // Features that all nodes that have welcomed us share with us; 0 before.
  bool has(protocol::Feature feature) const {
    return (features_.load(std::memory_order_relaxed) & static_cast<std::uint64_t>(feature)) != 0;
  }

  ReadPositions& positions() { return positions_; }

  const ReadPositions& positions() const { return positions_; }

  // The parts; on the client's thread only.
  NodeSet& nodes() { return nodes_; }

  Dispatcher& dispatcher() { return dispatcher_; }

  SessionKeeper& keeper() { return keeper_; }

  asio::io_context& context();

 private:
  struct Loop;  // asio's part: its headers are dear, and nearly every file of the client sees this
                // one.

  struct ReadyWait {
    WaitFor what{};
    bool give_up_early = false;  // When every endpoint has failed once.
    TimePoint deadline = kTimeNever;
    StatusCallback callback;
  };

  struct Alarm {
    TimePoint moment{};
    std::function<void()> command;
  };

  struct LastCall {
    std::weak_ptr<void> owner;
    std::function<void()> command;
  };

  NodeSet::Events node_events();
  void run();
  void wake_thread();
  void drain_mailbox();
  void settle();
  void check_waits(TimePoint now);
  void ring(TimePoint now);
  bool arrived(WaitFor what) const;
  bool decide(const ReadyWait& wait, TimePoint now, Status& status) const;
  void end_waits();
  void end_calls();
  void end_if_drained();
  void refuse_late_comers();

  ClientOptions options_;
  std::unique_ptr<Loop> loop_;
  NodeSet nodes_;
  Dispatcher dispatcher_;
  SessionKeeper keeper_;
  WakeTimer timer_;
  std::vector<ReadyWait> waits_;
  std::vector<Alarm> alarms_;
  std::vector<LastCall> last_calls_;
  bool stopping_ = false;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<std::uint32_t> shard_count_{0};
  std::atomic<std::uint64_t> features_{0};
  ReadPositions positions_;

  std::mutex mutex_;  // Guards the mailbox, and nothing else.
  std::vector<OperationPtr> mailbox_operations_;
  std::vector<std::function<void()>> mailbox_commands_;
  bool mailbox_woken_ = false;
  bool mailbox_closed_ = false;
};

}  // namespace gcoord::client
