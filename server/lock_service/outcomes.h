// The outcomes of clients' commands and waits, as replies.
//
//   command applied     -> its reply, or a wait that is bound to the client's connection
//   events of a command -> replies to the waits that it ended
//   leadership lost     -> "ask there" to every wait of the shard
//   wait out of time    -> a command that ends it; its event answers
//
// The tables decide; here it is only known who asked, and until when. A lock may have 100,000 waits
// that lose their leader or run out of time together: they end a slice per pass, as the budget of
// the pass says. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "server/budget/pass_budget.h"
#include "server/deadlocks/watch.h"
#include "server/interfaces/replies.h"
#include "server/interfaces/state_machine.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/service_metrics.h"
#include "server/requests/session_admission.h"
#include "server/waits/pending_table.h"
#include "server/waits/wait_judge.h"
#include "server/waits/wait_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

// Ends of waits that ran out of time, in the log and not decided: a shard takes four times as many
// entries, and others' commands want their part (docs/adr/0103).
inline constexpr std::size_t kWaitEndsUnderWayMax = 1024;

class Outcomes {
 public:
  struct Environment {
    WaitTable& waits;
    ServiceLog& log;
    ReplyWriter& replies;
    const locks::LockCpu& locks;
    const ServiceClock& clock;
    SessionAdmission& admission;
    DeadlockWatch& deadlocks;  // Says why a wait was ended for one.
    LockServiceMetrics& metrics;
  };

  // `budget` outlives it, too.
  Outcomes(const Environment& environment, PassBudget& budget)
      : env_(environment), budget_(budget) {}

  // A client's command was applied, or did not get into the log.
  void on_decided(const Pending& pending,
                  const AppliedEntry& entry,
                  const locks::LockReply& decision);
  void on_refused(const Pending& pending, const Status& status, NodeId leader_hint);

  // An acquire that was asked for anew and stands in the shard's queue already.
  void rebind_wait(const Pending& pending, ShardId shard);

  // Judges waits anew whenever rights change (server/waits/wait_judge.h): the log ends those that
  // are not allowed any more. It outlives this.
  void set_judge(WaitJudge* judge) { judging_.set_judge(judge); }

  // The waits that an applied command ended.
  void on_events(const AppliedEntry& entry, const locks::LockEvents& events);

  // This node leads the shard no more: the clients ask again. As many as the pass has room for are
  // told at once.
  void end_waits(ShardId shard, NodeId leader);

  // The same before another state takes the place of the shard's: it tells no events of what it
  // covers, so a wait that was found in the old one might never end (a resident node may lead
  // before its host has the state).
  void end_waits_before_install(ShardId shard);

  // Once per pass: a slice of the waits whose shard is led elsewhere, and proposals to end those
  // whose time ran out.
  void on_pass();

  // When on_pass() has something to do; kTickNever while it has not.
  Tick next_deadline() const;

  // Such a proposal was decided; its event has answered, if there was one.
  void on_timeout_decided() { --timeouts_under_way_; }

  // Such a proposal did not get into the log. The wait is still here only if this node still leads:
  // again at `again`.
  void on_timeout_refused(const Pending& pending, Tick again);

 private:
  // If it is late: `spent` is where the time went, and the entry is what it became, if it is known.
  void look_at_time(const Pending& pending,
                    std::string_view spent,
                    const AppliedEntry* entry = nullptr);
  void bind_wait(const Pending& pending, ShardId shard);
  void end_wait(const Wait& wait, const protocol::ReplySlot& reply, std::string_view why = {});
  void end_left_waits();
  void judge_waits();
  void end_overdue_waits();
  bool overdue() const;
  void count_waits();
  DecisionContext context_of(const AppliedEntry& entry, ShardId shard, SessionId session) const;

  Environment env_;
  PassBudget& budget_;
  std::size_t timeouts_under_way_ = 0;
  JudgingRound judging_;
  WaitKey judged_from_;  // Where the round's next slice begins.
  std::vector<std::pair<WaitKey, std::string>> refused_;
};

}  // namespace gcoord::server
