#include "server/lock_service/outcomes.h"

#include "locks/state/names.h"
#include "locks/state/requests.h"
#include "protocol/lock_messages.h"
#include "server/interfaces/lock_command.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace gcoord::server {

using locks::LockCode;
using protocol::ErrorCode;

namespace {

// Of the pass's budget: a reply, and an entry of the log with its way there.
constexpr std::size_t kReplyUnits = 1;
constexpr std::size_t kProposalUnits = 2;

// A wait that a judge visits: a search in the lock tables and one among rights.
constexpr std::size_t kVerdictsPerUnit = 2;

// The name of the lock that the request waits for; empty where the tables have no such wait.
std::string name_waited_for(const locks::LockTables& tables, const WaitKey& key) {
  const locks::SessionRow session = locks::find_session(tables, key.shard, key.session);
  if (session.value == 0) {
    return {};
  }
  const locks::RequestRow request =
      locks::find_request(tables, tables.sessions[session], key.sequence);
  const bool waits =
      request.value != 0 && tables.requests[request].code == locks::LockCode::Waiting;
  if (!waits) {
    return {};
  }
  std::array<char, locks::kNameBytesMax> bytes;
  const locks::LockRecord& lock = tables.locks[tables.requests[request].lock];
  return {bytes.data(), locks::load_name(tables, locks::name_of(tables, lock), bytes.data())};
}

}  // namespace

DecisionContext Outcomes::context_of(const AppliedEntry& entry,
                                     ShardId shard,
                                     SessionId session) const {
  const locks::LockView view = env_.locks.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, session);
  if (row.value == 0) {
    return {entry.term, 0};
  }
  const std::uint64_t left =
      env_.locks.clock().remaining_ticks(view.outside(row), env_.clock.now) * env_.clock.tick_ms;
  return {entry.term,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(left, tables.sessions[row].ttl_ms))};
}

void Outcomes::on_decided(const Pending& pending,
                          const AppliedEntry& entry,
                          const locks::LockReply& decision) {
  env_.admission.on_decided(pending.request);
  look_at_time(pending, "from its proposal until it was applied", &entry);
  if (decision.code == LockCode::Waiting) {
    return bind_wait(pending, entry.shard);
  }
  const auto context = context_of(entry, entry.shard, SessionId{pending.request.session});
  env_.metrics.command_us->observe_us(env_.clock.now_us - pending.started_us);
  if (pending.request.kind == protocol::RequestKind::LockCancel) {
    return env_.replies.send(pending.connection, cancel_reply(pending.request, decision, context));
  }
  if (pending.request.kind == protocol::RequestKind::SessionGrant) {
    return env_.replies.send(pending.connection, grant_reply(pending.request, decision));
  }
  env_.metrics.grants->add(decision.code == LockCode::Granted ? 1 : 0);
  env_.replies.send(
      pending.connection,
      indexed(decision_reply(pending.request, decision, context), pending.request, entry.index));
}

void Outcomes::look_at_time(const Pending& pending,
                            std::string_view spent,
                            const AppliedEntry* entry) {
  if (!env_.replies.slow().is_slow(pending.started_us, env_.clock.now_us)) {
    return;
  }
  const auto command = entry != nullptr ? lock_command_of(*entry) : std::nullopt;
  const std::string_view name =
      command ? std::string_view{command->name, command->name_bytes} : std::string_view{};
  env_.replies.slow().add({.connection = pending.connection,
                           .request = pending.request,
                           .started_us = pending.started_us,
                           .spent = spent,
                           .name = name},
                          env_.clock.now_us);
}

void Outcomes::on_refused(const Pending& pending, const Status& status, NodeId leader_hint) {
  env_.admission.on_decided(pending.request);
  look_at_time(pending, "from its proposal until it was refused");
  env_.replies.send(pending.connection, engine_refusal(pending.request, status, leader_hint));
}

void Outcomes::rebind_wait(const Pending& pending, ShardId shard) {
  env_.metrics.waits_rebound->add();
  bind_wait(pending, shard);
}

void Outcomes::bind_wait(const Pending& pending, ShardId shard) {
  const protocol::LockAcquire acquire = protocol::acquire_from_slot(pending.request);
  Wait wait{.connection = pending.connection,
            .request = pending.request,
            .started_us = pending.started_us,
            .owner = judging_.owner(pending.connection),
            .refusal = {}};
  if (acquire.wait_ms != protocol::kForeverMs) {
    wait.deadline = env_.clock.now + (acquire.wait_ms / env_.clock.tick_ms + 1);
  }
  const WaitKey key{shard, acquire.caller.session, acquire.caller.sequence};
  const auto replaced = env_.waits.bind(key, wait);
  env_.replies.park(wait.connection);
  count_waits();
  if (replaced.has_value()) {
    // The client asked again, on this or on another connection; one request gets one answer.
    end_wait(*replaced, error_reply(replaced->request, ErrorCode::SequenceReused));
  }
}

void Outcomes::end_wait(const Wait& wait, const protocol::ReplySlot& reply, std::string_view why) {
  env_.replies.unpark(wait.connection);
  env_.replies.send(wait.connection, reply, protocol::bytes_of(why));
}

void Outcomes::count_waits() {
  env_.metrics.waits->set(static_cast<std::int64_t>(env_.waits.size()));
}

void Outcomes::on_events(const AppliedEntry& entry, const locks::LockEvents& events) {
  for (std::uint32_t i = 0; i < events.count; ++i) {
    const locks::LockEvent& event = events.events[i];
    const WaitKey key{event.shard, event.session, event.sequence};
    const auto wait = env_.waits.take(key);
    if (!wait.has_value()) {
      continue;  // This node does not lead, or the client has not asked here.
    }
    if (const auto leader = env_.waits.left_to(event.shard, wait->number)) {
      end_wait(*wait, not_leader_reply(wait->request, *leader));
      continue;  // How long its lease lasts is for a leader to say.
    }
    if (wait->refusal != nullptr && event.code == LockCode::WaitTimedOut) {
      end_wait(*wait, error_reply(wait->request, ErrorCode::NotAllowed), *wait->refusal);
      continue;
    }
    env_.metrics.grants->add(event.code == LockCode::Granted ? 1 : 0);
    env_.metrics.waits_timed_out->add(event.code == LockCode::WaitTimedOut ? 1 : 0);
    env_.metrics.wait_us->observe_us(env_.clock.now_us - wait->started_us);
    const auto context = context_of(entry, event.shard, event.session);
    std::string why =
        event.code == LockCode::Deadlock ? env_.deadlocks.take_text(key) : std::string{};
    if (wait->request.has(protocol::RequestFlag::Discreet)) {
      why.clear();  // It names the locks and sessions of the circle.
    }
    end_wait(*wait,
             indexed(event_reply(wait->request, event, context), wait->request, entry.index),
             why);
  }
  count_waits();
}

void Outcomes::end_waits(ShardId shard, NodeId leader) {
  env_.waits.leave(shard, leader);
  end_left_waits();
  count_waits();
}

void Outcomes::end_waits_before_install(ShardId shard) {
  if (env_.waits.size() != 0) {
    end_waits(shard, env_.log.view(shard).leader);
  }
}

void Outcomes::on_pass() {
  if (env_.waits.leaving()) {
    end_left_waits();
    count_waits();
  }
  if (judging_.under_way()) {
    judge_waits();
  }
  end_overdue_waits();
  budget_.put_off(WorkClass::WaitEnds, env_.waits.leaving() || overdue() || judging_.under_way());
}

void Outcomes::end_left_waits() {
  while (budget_.left(WorkClass::WaitEnds) > 0) {
    const auto left = env_.waits.next_left();
    if (!left) {
      return;
    }
    end_wait(left->wait, not_leader_reply(left->wait.request, left->leader));
    budget_.spend(WorkClass::WaitEnds, kReplyUnits);
  }
}

// A slice of the round over all waits.
void Outcomes::judge_waits() {
  if (judging_.begin()) {
    judged_from_ = {};
  }
  if (!judging_.visiting()) {
    return;
  }
  const std::size_t looks_most = budget_.left(WorkClass::WaitEnds) * kVerdictsPerUnit;
  if (looks_most == 0) {
    return;
  }
  std::size_t looks = 0;
  judged_from_ = env_.waits.visit_from(judged_from_, [&](const WaitKey& key, const Wait& wait) {
    std::string name = name_waited_for(env_.locks.view(key.shard).tables(), key);
    std::string why = name.empty() ? name
                                   : judging_.judge()->refusal({.connection = wait.connection,
                                                                .owner = wait.owner,
                                                                .request = wait.request,
                                                                .name = name});
    if (!why.empty()) {
      refused_.emplace_back(key, std::move(why));
    }
    return ++looks < looks_most;
  });
  for (auto& [key, why] : refused_) {
    env_.waits.refuse(key, env_.clock.now, std::move(why));
  }
  refused_.clear();
  budget_.spend(WorkClass::WaitEnds, looks / kVerdictsPerUnit);
  if (judged_from_.session.value == 0) {
    judging_.finish();
  }
}

// Whether there is one that may be proposed now. What is under way wakes the loop when it is
// decided.
bool Outcomes::overdue() const {
  return timeouts_under_way_ < kWaitEndsUnderWayMax && env_.waits.next_deadline() <= env_.clock.now;
}

void Outcomes::end_overdue_waits() {
  while (overdue() && budget_.left(WorkClass::WaitEnds) > 0) {
    const auto key = env_.waits.next_due(env_.clock.now);
    budget_.spend(WorkClass::WaitEnds, kProposalUnits);
    ++timeouts_under_way_;
    Pending pending;
    pending.kind = PendingKind::TimedOut;
    pending.request.shard = key->shard.value;
    pending.request.session = key->session.value;
    pending.request.sequence = key->sequence.value;
    env_.log.propose(
        key->shard, locks::make_cancel_wait(key->session, key->sequence, true), pending);
  }
}

Tick Outcomes::next_deadline() const {
  if (env_.waits.leaving() || judging_.under_way()) {
    return env_.clock.now;
  }
  return timeouts_under_way_ < kWaitEndsUnderWayMax ? env_.waits.next_deadline() : kTickNever;
}

void Outcomes::on_timeout_refused(const Pending& pending, Tick again) {
  --timeouts_under_way_;
  env_.waits.set_deadline({ShardId{pending.request.shard},
                           SessionId{pending.request.session},
                           RequestSequence{pending.request.sequence}},
                          again);
}

}  // namespace gcoord::server
