// Elections: among the candidates of one name at most one leads at any time.
//
// A candidate is a session; who holds the lock of the name leads. Candidates stand in line, so the
// next leader is the one that campaigned first (docs/reference/services.md). Each term of office
// has an epoch, which is the fencing token of the lock: it rises with every leader of this name for
// ever, over restarts, restores and changes of the nodes' own leaders.
//
// The promise of is_leader(): while it says true, no other candidate of this name has been elected,
// provided that the clocks of this machine and of the nodes differ in rate by less than
// ClientOptions::drift_divisor and drift_margin allow. It turns false by this machine's own clock
// when the session has not been renewed in time, without any message, and stays so until the next
// campaign. It cannot promise that work begun while it was true is over when somebody else is
// elected. Such work carries epoch() to what it writes to, which refuses epochs below the highest
// it has seen.
//
// Functions may be called from any thread; objects are moved and destroyed by one.
//
//  Election election = session.election("jobs/scheduler");
//  if (election.campaign({.value = "10.0.0.7:80"}).ok()) {
//    while (election.is_leader()) { schedule(election.epoch()); }
//  }
#pragma once

#include "gcoord/api.h"
#include "gcoord/clock.h"
#include "gcoord/future.h"
#include "gcoord/options.h"
#include "gcoord/status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gcoord::client {

class Candidate;
class SessionImpl;

// One session's candidacy in one election. Made by Session::election; resigns when it is destroyed.
class GCOORD_API Election {
 public:
  // Sends the resignation without waiting for its answer; call resign() to know.
  ~Election();
  Election(Election&&) noexcept;
  Election& operator=(Election&&) noexcept;

  // The name of the election, which is the name of the lock that the leader holds.
  const std::string& name() const;

  // Waits in the queue until this candidate leads. Ok at once when it leads already; then the
  // options change nothing. Errors: GC6001 or GC6005 when another candidate leads and the wait is
  // over, GC6006 when resign() was called meanwhile, GC6007 when the session is lost. Closing the
  // session ends a campaign.
  Status campaign(CampaignOptions options = {});
  Future<Status> campaign_async(CampaignOptions options = {});

  // Whether this candidate leads now, or at a given moment of the client's clock. Costs two loads
  // and asks no node: ask often.
  bool is_leader() const;
  bool is_leader(TimePoint now) const;

  // The moment until which is_leader stays true if no node is heard any more; a past moment when it
  // is false.
  TimePoint leader_until() const;

  // The epoch of the last term that this candidate won; 0 before the first. It is the fencing token
  // for work that outlasts the term.
  std::uint64_t epoch() const;

  // Hands over to the next candidate in the queue. is_leader() is false from the call on. Campaigns
  // that are under way leave the queue at once and end with GC6006. Ok also when this candidate
  // does not lead (any more): a late resignation takes nothing from a later leader. After another
  // error the candidate may still be the holder until its TTL ends; call again.
  Status resign();
  Future<Status> resign_async();

  // Changes the value that others read of the leader, within its term, exactly once and in the
  // order of the calls. At most 512 bytes (GC6024) of printable UTF-8 (GC6028). GC6110 when it does
  // not lead (any more); then nothing has changed.
  Status proclaim(std::string_view value);
  Future<Status> proclaim_async(std::string_view value);

  // Hands over to one candidate in the queue, who leads at once under a new epoch; the others keep
  // their places. is_leader() is false from the call on, and true again under the same epoch when
  // nothing has changed because no such candidate waits (GC6111). GC6110 when it does not lead.
  // After another error it does not lead, and resigns in favour of the next in the queue.
  Status transfer(std::uint64_t session_id);
  Future<Status> transfer_async(std::uint64_t session_id);

  // Leaves the leadership to live with its session. This object does not lead any more, and resigns
  // nothing.
  void detach();

 private:
  friend class Session;
  explicit Election(std::shared_ptr<Candidate> candidate);

  std::shared_ptr<Candidate> candidate_;
};

}  // namespace gcoord::client
