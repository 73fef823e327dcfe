// A client's connection in a test: it keeps the last reply, and counts them. One thread.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gcoord::server {

class LastAnswer final : public protocol::ReplySink {
 public:
  void park(protocol::ConnectionId) override { ++parked; }

  void unpark(protocol::ConnectionId) override { --parked; }

  void reply(protocol::ConnectionId,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    ++count;
    last = slot;
    bytes.assign(payload.begin(), payload.end());
  }

  protocol::ErrorCode error() const { return static_cast<protocol::ErrorCode>(last.detail); }

  int count = 0;
  int parked = 0;  // Requests that are parked.
  protocol::ReplySlot last;
  std::vector<std::byte> bytes;
};

}  // namespace gcoord::server
