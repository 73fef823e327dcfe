// Withdrawals: acquires that their caller gave up are cancelled behind the caller's back, and
// released if they had been granted, so that nothing is left behind.
//
// Where its lock had moved, an acquire's place in the queue went along, perhaps before its cancel
// came there: it is asked for once more, to be given up, for as long as the session lives.
//
// On the client's thread only.
#pragma once

#include "client/dispatch/lock_places.h"
#include "client/dispatch/operation.h"
#include "client/nodes/node_set.h"

#include <cstdint>
#include <functional>
#include <string>

namespace gcoord::client {

class Withdrawals {
 public:
  using Submit = std::function<void(OperationPtr)>;

  Withdrawals(const ClientOptions& options, NodeSet& nodes, LockPlaces& places, Submit submit);

  // Of an acquire that may have been executed: its number stays taken until the cancel is answered.
  void take_back(const Operation& acquire);

  // Of a wait that may stand in another shard's queue, under a number of nobody's.
  void take_back_moved(const Operation& given_up, const std::string& name);

 private:
  void on_cancelled(const Operation& cancel, const std::string& name, const Answer& answer);
  void release_late(const Operation& cancel, const std::string& name, std::uint64_t token);

  const ClientOptions& options_;
  NodeSet& nodes_;
  LockPlaces& places_;
  Submit submit_;
};

}  // namespace gcoord::client
