// Keeps sessions alive and tells them when they are not.
//
// Every third of the shortest TTL one KeepAlive goes to every connected node, for all sessions at
// once, and one to a node that has just been connected. Acknowledgements of nodes go to each
// session's Lease, which decides. An acknowledgement of a node that has a newer view than this
// client waits until that view is known here, a request timeout at most. A lost session gets its
// event first, then its operations fail. Runs on the client's thread only.
#pragma once

#include "client/dispatch/dispatcher.h"
#include "client/nodes/node_set.h"
#include "client/records/session_record.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::client {

class SessionKeeper {
 public:
  SessionKeeper(const ClientOptions& options, NodeSet& nodes, Dispatcher& dispatcher);

  // Begins to keep it; its lease is set.
  void add(std::shared_ptr<SessionRecord> session);

  // Other voters count from now on: what waited for that counts, and what has is counted anew.
  void on_view();

  // Asks every connected node now. Ok once a majority of the cluster acknowledged; else why not.
  void renew(const std::shared_ptr<SessionRecord>& session, std::function<void(Status)> callback);

  // Ends it here: no event, its operations fail with this reason.
  void end(const std::shared_ptr<SessionRecord>& session, protocol::ErrorCode reason);

  // A node knows that it expired: events, then as end().
  void lose(const std::shared_ptr<SessionRecord>& session);

  // Stops renewing it; it lives on for its TTL.
  void forget(const std::shared_ptr<SessionRecord>& session);

  // Keep-alives go out with the next look at what is due.
  void send_soon() { next_send_ = TimePoint{}; }

  void on_ready(NodeId node);
  void advance(TimePoint now);
  TimePoint next_event() const;

  std::span<const std::shared_ptr<SessionRecord>> sessions() const { return sessions_; }

 private:
  using Sessions = std::vector<std::shared_ptr<SessionRecord>>;

  void send_all(TimePoint now);
  void send(NodeId node, TimePoint now);
  // Once it is known whether the node's acknowledgement counts; after the leases know of it.
  using Answered = std::function<void(const Status&)>;

  // Acknowledged by a node that has a newer view than this client.
  struct Held {
    NodeId node;
    std::uint64_t epoch = 0;
    TimePoint sent_at{};
    TimePoint until{};
    Sessions part;
    Answered answered;
  };

  void send_part(NodeId node, TimePoint now, Sessions part, Answered answered = {});
  Status on_answer(const Answer& answer, NodeId node, const Sessions& part);
  void on_acknowledged(Held acknowledged);
  void count(const Held& acknowledged);
  void give_up_held(TimePoint now);
  void tell(const std::shared_ptr<SessionRecord>& session, TimePoint now);
  void ask_losses(NodeId node, const std::shared_ptr<SessionRecord>& session);
  TimePoint interval() const;

  const ClientOptions& options_;
  NodeSet& nodes_;
  Dispatcher& dispatcher_;
  Sessions sessions_;
  TimePoint next_send_ = kTimeNever;
  TimePoint next_lease_event_ = kTimeNever;  // Never later than the earliest one.
  std::vector<Held> held_;                   // At most kHeldMax, by `until`.
};

}  // namespace gcoord::client
