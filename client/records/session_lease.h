// Guaranteed lifetime of a session, computed from acknowledged keep-alives only.
//
// Each node's newest acknowledged keep-alive counts from the moment it was *sent*. The session is
// renewed from the newest moment that a majority of voters reached: with n of them, the (n/2 +
// 1)-th newest of these moments; where nodes come and go, by every list of voters that somebody may
// go by (voter_lists.h). It lives until renewed_from + TTL - margin by this clock, which is
// before the cluster may end it, because a leader ends a session only when a majority was silent
// for the TTL (protocol/session_messages.h) and clocks differ in rate by less than the margin.
//
// Pure: time is an argument. One thread.
#pragma once

#include "client/net/time_never.h"
#include "client/nodes/voter_lists.h"
#include "common/ids.h"
#include "gcoord/options.h"

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::client {

struct SessionLeaseOptions {
  TimePoint ttl{};
  TimePoint margin{};
  // The send time of the request that opened the session; registrations come later, so the first
  // TTL counts from it.
  TimePoint opened_at{};

  // A session of another program: nothing is certain until a majority has acknowledged.
  bool attached = false;
};

class SessionLease {
 public:
  explicit SessionLease(const SessionLeaseOptions& options);

  // The node acknowledged the keep-alive that was sent at this moment. Older ones change nothing.
  // The node's view is none that these voters do not know of.
  void on_acknowledged(NodeId node, TimePoint sent_at, const VoterLists& voters);

  // Other voters count from now on: what was acknowledged may be enough for them.
  void recount(const VoterLists& voters);

  // A node knows that the session is over.
  void on_lost() { lost_ = told_lost_ = true; }

  // Whether a node said so; an expired one ran out by this clock otherwise.
  bool told_lost() const { return told_lost_; }

  // The next event that is due, if any; call until there is none. Expired comes once and last.
  std::optional<SessionEvent> advance(TimePoint now);

  // When advance() has something to say next, if nothing is acknowledged meanwhile.
  TimePoint next_event() const;

  // Until when it is certain to live; the past when nothing is certain.
  TimePoint certain_until() const { return certain_ && !lost_ ? deadline() : TimePoint{}; }

  bool expired() const { return expired_; }

  bool in_jeopardy() const { return in_jeopardy_; }

 private:
  TimePoint deadline() const { return renewed_from_ + options_.ttl - options_.margin; }

  // Two keep-alives, at thirds of the TTL, went unconfirmed.
  TimePoint jeopardy_at() const { return renewed_from_ + options_.ttl * 2 / 3; }

  SessionLeaseOptions options_;
  std::vector<std::pair<NodeId, TimePoint>> acknowledged_;
  TimePoint renewed_from_;
  bool certain_ = true;
  bool lost_ = false;
  bool told_lost_ = false;
  bool in_jeopardy_ = false;
  bool expired_ = false;
};

// TTL / divisor + fixed part; see ClientOptions::drift_divisor.
TimePoint lease_margin(TimePoint ttl, const ClientOptions& options);

}  // namespace gcoord::client
