#include "server/lock_service/lock_service.h"

#include "protocol/validate.h"

#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;

LockService::LockService(const LockServiceOptions& options,
                         protocol::ReplySink& replies,
                         MetricsRegistry& metrics)
    : options_(options),
      base_(options, replies, metrics),
      groups_({base_.groups, base_.rendezvous, base_.locks}),
      submitter_({base_.log,
                  base_.replies,
                  base_.leaders,
                  base_.locator,
                  base_.locks,
                  base_.clock,
                  base_.admission,
                  outcomes_}),
      tasks_(options,
             metrics,
             {base_.log,
              base_.replies,
              base_.leaders,
              base_.locks,
              base_.expiring_groups(),
              base_.waits,
              base_.clock,
              base_.budget}),
      handlers_(make_handlers(metrics)),
      outcomes_({base_.waits,
                 base_.log,
                 base_.replies,
                 base_.locks,
                 base_.clock,
                 base_.admission,
                 tasks_.deadlocks,
                 base_.metrics},
                base_.budget),
      pending_commands_({base_.pending,
                         outcomes_,
                         handlers_.sessions,
                         tasks_.moves,
                         tasks_.expiry,
                         tasks_.delays,
                         {handlers_.groups, handlers_.rendezvous},
                         base_.clock}),
      pending_reads_({base_.pending,
                      handlers_.reads,
                      handlers_.sessions,
                      tasks_.deadlocks,
                      handlers_.groups,
                      handlers_.rendezvous}),
      machine_(options.limits.shard_count,
               {{handlers_.groups, handlers_.rendezvous},
                base_.clock,
                base_.leaders,
                pending_commands_,
                outcomes_,
                tasks_.moves,
                base_.admission,
                base_.metrics}),
      messages_({handlers_.reads, tasks_, base_.clock, base_.metrics}) {}

LockServiceHandlers LockService::make_handlers(MetricsRegistry& metrics) {
  const std::uint32_t shard_count = options_.limits.shard_count;
  return {
      .locks = LockRequests({submitter_,
                             base_.replies,
                             base_.log,
                             base_.leaders,
                             base_.locator,
                             base_.admission.space(),
                             tasks_.moves,
                             [this] {
                               const Abilities log = base_.log.abilities();
                               return all_have(protocol::Feature::Audit) && log.publishes &&
                                      (!log.on_device || all_have(protocol::Feature::DeviceLedger));
                             }}),
      .holders = HolderRequests({submitter_,
                                 base_.replies,
                                 base_.log,
                                 base_.leaders,
                                 base_.locator,
                                 base_.locks,
                                 base_.clock,
                                 base_.asks}),
      .sessions = SessionRequests(shard_count,
                                  {submitter_,
                                   base_.replies,
                                   base_.log,
                                   base_.leaders,
                                   base_.clock,
                                   base_.locks,
                                   base_.views,
                                   base_.admission}),
      .reads = ReadRequests(shard_count,
                            metrics,
                            {base_.log,
                             base_.replies,
                             base_.leaders,
                             base_.locks,
                             base_.clock,
                             base_.waits,
                             base_.asks,
                             [this](ShardId shard) {
                               const LogIndex applied = machine_.applied(shard);
                               return applied.value != 0 ? applied : base_.log.view(shard).applied;
                             }}),
      .node = NodeRequests(shard_count, {base_.replies, base_.log, tasks_.deadlocks}),
      .groups = GroupRequests(group_environment([this] {
        return unready(base_.groups.used(), protocol::Feature::Groups, ErrorCode::GroupsNotReady);
      })),
      .rendezvous = RendezvousRequests(group_environment([this] {
        return unready(
            base_.rendezvous.used(), protocol::Feature::Rendezvous, ErrorCode::RendezvousNotReady);
      }))};
}

GroupEnvironment LockService::group_environment(std::function<protocol::ErrorCode()> unready) {
  return {
      .log = base_.log,
      .replies = base_.replies,
      .leaders = base_.leaders,
      .clock = base_.clock,
      .machine = groups_,
      .submit =
          [this](const ClientRequest& request, ShardId shard, const locks::LockCommand& command) {
            submitter_.submit(request, shard, command);
          },
      .unready = std::move(unready),
      .limits = options_.limits};
}

// Why no entry with such commands may be written yet. Where they are in the log already, no older
// release can come back. A log on a device has them in a form of their own.
ErrorCode LockService::unready(bool used, protocol::Feature feature, ErrorCode error) const {
  const NodeFeatures& nodes = tasks_.features;
  const bool known = nodes.all_have(feature) && (!base_.log.abilities().on_device ||
                                                 nodes.all_have(protocol::Feature::DeviceGroups));
  return used || known ? ErrorCode::None : error;
}

void LockService::start(ReplicatedLog& engine,
                        Incarnation incarnation,
                        const NodeReports& reports) {
  base_.log.bind(engine);
  machine_.on_observed([&engine](bool observed) { engine.on_observed(observed); });
  tasks_.start(engine, incarnation);
  handlers_.reads.start(engine);
  handlers_.sessions.start(options_.node, incarnation);
  handlers_.sessions.set_heard(tasks_.expiry.heard());
  handlers_.node.start(reports);
}

void LockService::set_members(const ClusterMembers& members) {
  if (tasks_.set_members(members)) {
    handlers_.sessions.set_view_epoch(members.view.epoch);
  }
}

bool LockService::admit(const ClientRequest& request) {
  GCOORD_ASSERT(base_.log.bound());
  base_.metrics.requests->add();
  ErrorCode error = request.prepared != nullptr
                        ? request.prepared->error
                        : protocol::check_request(request.slot, request.payload, options_.limits);
  if (error == ErrorCode::None && base_.pending.size() >= kPendingMax) {
    error = ErrorCode::Overloaded;
  }
  if (error != ErrorCode::None) {
    base_.replies.refuse(request, error);
  }
  return error == ErrorCode::None;
}

void LockService::refuse_kind(const ClientRequest& request) {
  base_.replies.refuse(request, ErrorCode::KindUnknown);
}

void LockService::on_tick() {
  base_.budget.begin_pass();
  base_.log.note_gap();  // Else a node that was paused would act once on what it did not hear.
  if (ticked_ != base_.clock.now) {
    ticked_ = base_.clock.now;
    outcomes_.on_pass();
    tasks_.on_tick();
    handlers_.reads.on_tick();
    handlers_.groups.on_tick();
    handlers_.rendezvous.on_tick();
    base_.metrics.group_waits->set(handlers_.groups.wait_count() +
                                   handlers_.rendezvous.wait_count());
    base_.views.on_tick();
  } else {
    outcomes_.on_pass();
  }
  tasks_.on_pass();
  handlers_.reads.flush();
  if (base_.locks.clock().only() == nullptr) {
    // What threads have applied is counted in as many lines of memory as there are parts.
    const locks::LockCounts counts = base_.locks.counts();
    base_.metrics.sessions->set(static_cast<std::int64_t>(counts.sessions));
    base_.metrics.locks->set(static_cast<std::int64_t>(counts.locks));
  }
}

std::uint64_t LockService::until_next_deadline_ms() const {
  if (base_.budget.behind()) {
    return 0;
  }
  if (handlers_.reads.waiting()) {
    return options_.tick_ms;
  }
  const Tick next =
      min_id(min_id(outcomes_.next_deadline(), tasks_.next_deadline()),
             min_id(handlers_.groups.next_deadline(), handlers_.rendezvous.next_deadline()));
  if (next == kTickNever) {
    return kNeverMs;
  }
  return next <= base_.clock.now ? 0 : (next - base_.clock.now) * options_.tick_ms;
}

void LockService::apply(const AppliedEntry& entry) {
  machine_.apply(entry);
  handlers_.reads.on_applied(entry.shard);
}

void LockService::on_proposal_failed(std::uint64_t cookie,
                                     const Status& status,
                                     NodeId leader_hint) {
  pending_commands_.on_refused(cookie, status, leader_hint);
}

void LockService::on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  pending_reads_.on_confirmed(cookie, status, leader_hint);
}

void LockService::on_role(ShardId shard, consensus::Role role, Term /*term*/, NodeId leader) {
  const bool leading = role == consensus::Role::Leader;
  if (leading == base_.leaders.leads(shard)) {
    return;
  }
  base_.leaders.set_leads(shard, leading);
  if (leading) {
    base_.locks.on_became_leader(shard, base_.clock.now, options_.election_ticks);
    tasks_.expiry.on_led();
    tasks_.moves.on_role(shard, true);
    return;
  }
  base_.locks.on_lost_leadership(shard);
  tasks_.moves.on_role(shard, false);
  outcomes_.end_waits(shard, leader);
  handlers_.groups.end_waits(shard, leader);
  handlers_.rendezvous.end_waits(shard, leader);
}

void LockService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  machine_.serialize(shard, bytes);
}

void LockService::state(ShardId shard, std::vector<std::byte>& bytes) {
  const std::vector<std::byte> state = base_.locks.serialize(shard);
  bytes.insert(bytes.end(), state.begin(), state.end());
}

Status LockService::install(ShardId shard, std::span<const std::byte> bytes) {
  return machine_.install(shard, bytes);
}

bool LockService::plausible(ShardId, std::span<const std::byte> bytes) const {
  return LockStateMachine::plausible(bytes);
}

std::uint64_t LockService::state_hash(ShardId shard) const {
  return machine_.state_hash(shard);
}

void LockService::on_peer_message(NodeId from, std::span<const std::byte> message) {
  messages_.on_message(from, message);
}

void LockService::set_sinks(LockServiceSinks sinks) {
  messages_.set_sinks(std::move(sinks.address), std::move(sinks.device_facts));
  tasks_.office.set_change_sink(std::move(sinks.coordinator));
  pending_reads_.set_past_sink(std::move(sinks.past));
  tasks_.features.set_words(std::move(sinks.words));
}

void LockService::set_tap(ApplyObserver* tap) {
  machine_.set_tap(tap);
  messages_.set_tap(tap);
}

void LockService::set_wait_judge(WaitJudge* judge) {
  outcomes_.set_judge(judge);
  handlers_.groups.set_judge(judge);
  handlers_.rendezvous.set_judge(judge);
}

CoordinatorView LockService::coordinator() const {
  CoordinatorView view = tasks_.office.view();
  if (options_.coordinator == CoordinatorMethod::Raft) {
    view.coordinator = base_.log.view(ShardId{0}).leader;
  }
  return view;
}

}  // namespace gcoord::server
