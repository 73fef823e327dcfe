// The watches of one client: a thread, a connection to one node at a time, and all watches on it.
//
// Any node serves any watch (docs/adr/0040), so watches share a connection of their own, apart from
// that of requests and keep-alives: a flood of events delays no renewal. When the node is lost,
// falls silent, or cannot serve a watch, all of them go on at the next node from where they are. A
// watch that every node has refused for its past ends with that.
//
// add() and remove() are for any thread; the states' feed functions run on the feed's. stop() ends
// the thread; every watch then fails with GC4010.
#pragma once

#include "client/net/backoff.h"
#include "client/net/connection.h"
#include "client/watches/opening.h"
#include "client/watches/watch_nodes.h"
#include "client/watches/watch_state.h"
#include "common/ids.h"
#include "gcoord/options.h"
#include "protocol/hello.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {

class WatchFeed : public std::enable_shared_from_this<WatchFeed> {
 public:
  // `nodes` are of one cluster; more are learned from them.
  WatchFeed(ClientOptions options, WatchNodes nodes);
  ~WatchFeed();
  WatchFeed(const WatchFeed&) = delete;
  WatchFeed& operator=(const WatchFeed&) = delete;

  void start();
  // Not from a callback.
  void stop();

  void add(const std::shared_ptr<WatchState>& state);

  bool on_own_thread() const { return thread_id_ == std::this_thread::get_id(); }

  // Connections that were lost after they were up; for tests.
  std::uint64_t reconnects() const { return reconnects_.load(); }

 private:
  struct Loop;  // asio's part, whose headers are dear.

  enum class Phase : std::uint8_t { Resting, Connecting, Ready };

  // Of a stream that shall say how far it is. What it says after it has taken the question is the
  // answer: before that it may be what it says from time to time.
  enum class AskStage : std::uint8_t { None, Wanted, Sent, Taken };

  // Some of the shards of a watch: what one WatchOpen is for.
  struct Stream {
    std::uint32_t shard_first = 0;
    std::uint32_t shard_count = 0;
    std::uint64_t request_id = 0;  // 0: not open.
    bool started = false;
    AskStage asking = AskStage::None;
    std::uint64_t ask_id = 0;          // Of the question that was sent.
    std::set<std::string> refused_by;  // Addresses of nodes that no longer have its past.
  };

  struct Entry {
    std::shared_ptr<WatchState> state;
    std::vector<Stream> streams;  // None before the shards are known.
    bool resting = false;         // Its queue is full.
    std::uint64_t ask = 0;        // Which of the state's asks its streams are asked for; 0: none.
    bool started = false;
  };

  // When to try which step of a connection.
  struct Pace {
    TimePoint retry_at{};
    TimePoint give_up_at{};
    TimePoint ready_at{};
    std::uint32_t attempt = 0;
  };

  void post(std::function<void()> work);
  void connect();
  void on_reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload);
  void on_welcome(const protocol::ReplySlot& slot, std::span<const std::byte> payload);
  void log_in();
  void log_in_early();
  void renew_login(TimePoint now);
  void on_authenticated(const protocol::ReplySlot& slot, std::span<const std::byte> payload);
  void begin();
  void on_closed(const std::string& reason);
  void move_on(const std::string& reason);
  void tick();
  void arm();
  void make_streams(Entry& entry);
  // watch_needs.cc
  bool is_away() const;
  bool lacks() const;
  bool seeks_another();
  static void begin_at(WatchState& state, std::uint32_t home);
  void open(Entry& entry);
  void open(Entry& entry, Stream& stream);
  void close(Stream& stream);
  void on_message(std::uint64_t id, const protocol::WatchMessage& message);
  void on_error(std::uint64_t id,
                const protocol::ReplySlot& slot,
                std::span<const std::byte> payload);
  void on_compacted(std::uint64_t id, const protocol::ReplySlot& slot);
  void remove(std::uint64_t number);
  void resume(std::uint64_t number);

  // watch_request.cc: how far the nodes are, on demand.
  void ask(std::uint64_t number);
  void ask(const Entry& entry, Stream& stream);
  void on_ask_taken(std::uint64_t ask_id);
  void on_progress_end(Stream& stream, std::uint64_t number);
  void forget_asks();

  void fail(std::uint64_t number, const Status& status, Revision first = {});
  Stream* find(std::uint64_t request_id, std::uint64_t& number);

  // Of what is no watch and so must have the id of none: pings, closes, asks.
  std::uint64_t next_aside() { return (std::uint64_t{1} << 63) | ++request_newest_; }

  ClientOptions options_;
  std::unique_ptr<Loop> loop_;
  Backoff backoff_;
  WatchNodes nodes_;
  std::shared_ptr<Connection> connection_;
  Phase phase_ = Phase::Resting;
  Pace pace_;
  std::uint32_t shard_count_ = 0;  // 0: not known.
  WatchFeatures node_;             // Of the node of the connection.
  ClusterId cluster_;
  std::map<std::uint64_t, Entry> entries_;                                  // By number.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> streams_;  // By request id.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> asks_;     // By their ids.
  std::atomic<std::uint64_t> newest_{0};
  std::uint64_t request_newest_ = 0;
  std::string evidence_;
  bool stopped_ = false;
  std::atomic<std::uint64_t> reconnects_{0};
  std::thread thread_;
  std::thread::id thread_id_;  // Its own, also when it has been joined.
};

}  // namespace gcoord::client
