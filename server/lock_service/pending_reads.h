// The confirmations of leadership that this node asked for: from a cookie to the owner of the
// pending entry.
//
// One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "server/deadlocks/watch.h"
#include "server/lock_service/session_requests.h"
#include "server/reads/read_requests.h"
#include "server/rendezvous/requests.h"
#include "server/waits/pending_table.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace gcoord::server {

class PendingReads {
 public:
  struct Environment {
    PendingTable& pending;
    ReadRequests& reads;
    SessionRequests& sessions;
    DeadlockWatch& deadlocks;
    GroupParts parts;
  };

  // The owner of reads of the past (past_reads.h).
  using PastSink =
      std::function<void(std::uint64_t number, const Status& status, NodeId leader_hint)>;

  explicit PendingReads(const Environment& environment) : env_(environment) {}

  void set_past_sink(PastSink sink) { past_sink_ = std::move(sink); }

  // As Service::on_read.
  void on_confirmed(std::uint64_t cookie, const Status& status, NodeId leader_hint);

 private:
  Environment env_;
  PastSink past_sink_;
};

}  // namespace gcoord::server
