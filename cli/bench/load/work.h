// Operations that an open loop begins, and the report of their ends.
//
// One Work is one kind of operation of one system, for all clients of a run. A client has one
// operation at a time: begin() is not called again before the end of the one before was reported.
#pragma once

#include "common/status.h"

#include <chrono>
#include <cstdint>

namespace gcoord::cli {

using Moment = std::chrono::steady_clock::time_point;

// Receives the ends of operations. Any thread.
class OperationEnds {
 public:
  virtual ~OperationEnds() = default;

  // The client's operation ended at this moment; ok, or why it failed. May begin the next one of
  // the same client before it returns.
  virtual void on_end(std::uint32_t client, Moment at, const Status& status) = 0;
};

class Work {
 public:
  virtual ~Work() = default;

  // Where ends are reported, before the first begin(). It lives until close() has returned.
  void report_to(OperationEnds& ends) { ends_ = &ends; }

  // Begins one operation of the client on this key, and does not wait for it. Its end is reported
  // once, on any thread, maybe before this returns. Any thread.
  virtual void begin(std::uint32_t client, std::uint32_t key) = 0;

  // Ends waits for locks early, which then fail. Any thread.
  virtual void stop() {}

  // Gives back what the clients hold. No end is reported when it has returned. Once.
  virtual void close() = 0;

 protected:
  void end(std::uint32_t client, const Status& status) {
    ends_->on_end(client, std::chrono::steady_clock::now(), status);
  }

  void end_at(std::uint32_t client, Moment at, const Status& status) {
    ends_->on_end(client, at, status);
  }

 private:
  OperationEnds* ends_ = nullptr;
};

}  // namespace gcoord::cli
