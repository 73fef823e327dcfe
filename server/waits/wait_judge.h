// Judge of waits: whether a request that waits at a name may go on waiting.
//
// The node's gate implements it (server/gate/wait_gate.h). A wait passed the gate when it came; it
// is judged again whenever the judge's epoch is another one. One thread, the node's loop.
#pragma once

#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "security/credentials/principal.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gcoord::server {

// The principal of a request as it came; nullptr while nothing is judged. A wait stays in its queue
// when its connection is gone, and is judged by this one then.
using WaitOwner = std::shared_ptr<const security::Principal>;

// Visits of waits at groups and rendezvous, which have no part in the budget of a pass: about a
// millisecond.
inline constexpr std::size_t kVerdictsPerTick = 2048;

// Views last for the call.
struct JudgedWait {
  protocol::ConnectionId connection;
  const WaitOwner& owner;
  const protocol::RequestSlot& request;
  std::string_view name;
};

class WaitJudge {
 public:
  virtual ~WaitJudge() = default;

  // Another one whenever a verdict may be another; 0 while nothing is judged.
  virtual std::uint64_t epoch() const = 0;

  // To be kept with a wait; nullptr while nothing is judged.
  virtual WaitOwner owner(protocol::ConnectionId connection) const = 0;

  // The reason why it has to end, for its client; empty: it may go on. It is counted and logged.
  virtual std::string refusal(const JudgedWait& wait) = 0;
};

// The rounds over all waits of one table: one for each epoch, in as many slices as it takes. The
// owner of the table keeps the place where the next slice begins.
class JudgingRound {
 public:
  // It outlives this; none: nothing is judged.
  void set_judge(WaitJudge* judge) { judge_ = judge; }

  WaitJudge* judge() const { return judge_; }

  WaitOwner owner(protocol::ConnectionId connection) const {
    return judge_ == nullptr ? nullptr : judge_->owner(connection);
  }

  // Whether there is a slice to do.
  bool under_way() const { return judge_ != nullptr && (visiting_ || epoch_ != judge_->epoch()); }

  // Ahead of a slice: whether it is the first one of a round. While nothing is judged there is
  // none.
  bool begin() {
    const bool first = epoch_ != judge_->epoch();
    if (first) {
      epoch_ = judge_->epoch();
      visiting_ = epoch_ != 0;
    }
    return first;
  }

  bool visiting() const { return visiting_; }

  // As WaitJudge::refusal, of a wait that has what it is to be judged by.
  template <typename Wait>
  std::string refusal(const Wait& wait) const {
    return judge_->refusal({.connection = wait.connection,
                            .owner = wait.owner,
                            .request = wait.request,
                            .name = wait.name});
  }

  void finish() { visiting_ = false; }

 private:
  WaitJudge* judge_ = nullptr;
  std::uint64_t epoch_ = 0;
  bool visiting_ = false;
};

}  // namespace gcoord::server
