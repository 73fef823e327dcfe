// Judge of watches: whether a client may have a watch, and what of its events it may see.
//
// The node's gate implements it (server/gate/watch_gate.h). Each watch is judged when it is opened,
// and again whenever the judge's epoch is another one, before it is sent anything more. One thread.
#pragma once

#include "protocol/reply_sink.h"
#include "server/watch/target.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

struct WatchVerdict {
  bool allowed = true;
  bool whole = true;  // Nothing that it may be told of is hidden from its client.
  bool past = true;   // It may be told of what is in history alone.
  std::string why;    // Which right is missing, where it is not allowed; for its client.
};

class WatchJudge {
 public:
  virtual ~WatchJudge() = default;

  // Another one whenever a verdict may be another; 0 while nothing is judged.
  virtual std::uint64_t epoch() const = 0;

  virtual WatchVerdict judge(protocol::ConnectionId connection, const WatchFilter& filter) = 0;

  // What is left of a message for a watch that is not whole; empty: nothing, and it is not sent.
  virtual std::vector<std::byte> mask(protocol::ConnectionId connection,
                                      std::span<const std::byte> message) = 0;

  // A watch was ended because it is not allowed any more.
  virtual void on_ended() = 0;
};

}  // namespace gcoord::server
