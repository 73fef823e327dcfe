// The events that a node's loop waits for beside its sockets: the engine's descriptors, the signals
// that end the node, and SIGHUP.
//
// The engine's descriptors only wake the loop; the engine reads and closes them itself. So this
// ends after the engine: its destructor gives the descriptors up without closing them, and then
// stops to catch the signals. One thread, the one that runs the io_context.
#pragma once

#include "common/status.h"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

class LoopEvents {
 public:
  // The context outlives it.
  explicit LoopEvents(asio::io_context& context) : context_(context), signals_(context) {}

  ~LoopEvents();
  LoopEvents(const LoopEvents&) = delete;
  LoopEvents& operator=(const LoopEvents&) = delete;

  // Once: each of the descriptors (ReplicatedLog::event_fds) wakes the loop when it is readable.
  void watch_engine(const std::vector<int>& fds);

  // Once: SIGTERM, SIGINT and SIGHUP are caught from now on. Internal: the system refuses.
  Status watch_signals();

  // Whether SIGHUP has come since this was called last; several in a row count once.
  bool take_hangup() { return std::exchange(hangup_, false); }

  // Before the loop sleeps: watches those descriptors again that have woken it.
  void rearm();

  // Whether a signal has come that ends the node, and its name; empty before.
  bool stopping() const { return stopping_; }

  const std::string& stop_reason() const { return stop_reason_; }

 private:
  void watch(asio::posix::stream_descriptor& descriptor);
  void await_signal();

  asio::io_context& context_;
  std::vector<asio::posix::stream_descriptor> descriptors_;  // Never grows once one is watched.
  std::vector<asio::posix::stream_descriptor*> unwatched_;
  asio::signal_set signals_;
  bool stopping_ = false;
  bool hangup_ = false;
  std::string stop_reason_;
};

}  // namespace gcoord::server
