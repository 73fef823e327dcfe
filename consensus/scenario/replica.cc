#include "consensus/scenario/replica.h"

#include "common/assert.h"
#include "consensus/step/log_runs.h"
#include "consensus/step/recover.h"

#include <algorithm>
#include <memory>

namespace gcoord::consensus::scenario {

Replica::Replica(NodeId self, ShardRef row, FakeStorage& storage, bool forgetful)
    : self_(self), row_(row), storage_(storage) {
  recover_row(forgetful);
}

void Replica::recover_row(bool forgetful) {
  const DurableState& found = storage_.durable();
  const LogIndex floor = found.checkpoint.state.applied;
  payloads_.reset(floor);
  service_ = found.checkpoint.state;
  configurations_.emplace_back(floor, found.checkpoint.configuration);
  for (const TermEntry& entry : found.entries) {
    payloads_.append(entry.entry);
  }
  const LogIndex decided = min_id(found.commit, payloads_.last());
  while (service_.applied < decided) {
    apply({service_.applied + 1, decided});
  }
  applied_ack_ = LogIndex{};  // The row learns by recovery instead.
  configuration_ack_.reset();
  recover(row_,
          RecoveredShard{.term = max_id(found.term, found.checkpoint.term),
                         .vote = found.vote,
                         .floor = floor,
                         .floor_term = found.checkpoint.term,
                         .commit = found.commit,
                         .configuration = configurations_.back().second,
                         .forgetful = forgetful},
          self_);
  for (const TermEntry& entry : found.entries) {
    recover_entry(row_, entry.term, entry.entry.kind, found.commit);
  }
  GCOORD_ASSERT(row_.log().applied == service_.applied);
  payloads_.forget_to(row_.log().floor);
}

TermEntry Replica::entry_at(LogIndex index) const {
  return {term_at(row_.log(), row_.runs(), index), payloads_.at(index)};
}

Configuration Replica::configuration_at(LogIndex index) const {
  Configuration in_force = configurations_.front().second;
  for (const auto& [from, configuration] : configurations_) {
    in_force = from <= index ? configuration : in_force;
  }
  return in_force;
}

void Replica::set_apply_acknowledging(Acknowledging by) {
  apply_by_ = by;
  if (by == Acknowledging::Automatic) {
    acknowledge_apply();
  }
}

bool Replica::acknowledge_storage(Observer& observer) {
  if (!storage_.under_way()) {
    return false;
  }
  storage_ack_ = storage_.finish();
  observer.on_durable(self_, row_.shard(), *storage_ack_);
  return true;
}

bool Replica::acknowledge_apply() {
  if (!apply_asked_.has_value()) {
    return false;
  }
  apply(*std::exchange(apply_asked_, std::nullopt));
  return true;
}

void Replica::checkpoint(LogIndex index) {
  const LogIndex at = min_id(index, row_.log().applied);
  if (at <= row_.log().floor) {
    return;
  }
  const Term term = term_at(row_.log(), row_.runs(), at);
  storage_.set_checkpoint(Snapshot{service_.at(at), term, configuration_at(at)});
  wishes_.compact_to = at;
}

void Replica::move_members(const StepInput& input, const MembersTarget& target) {
  if (row_.hot().role != Role::Leader || wishes_.configuration || wishes_.transfer_to.value != 0) {
    return;
  }
  const MembersPlan plan = plan_members(row_, input, target);
  if (plan.step == MembersStep::Transfer) {
    wishes_.transfer_to = row_.configuration().node[plan.heir];
  } else if (plan.step != MembersStep::None) {
    wishes_.configuration = plan.configuration;
  }
}

bool Replica::due(Tick now) const {
  const bool storage_ready = storage_.under_way() && storage_by_ == Acknowledging::Automatic;
  const bool wished = wishes_.campaign || wishes_.woken || !wishes_.proposals.empty() ||
                      wishes_.configuration.has_value() || wishes_.transfer_to.value != 0 ||
                      wishes_.snapshot_failed.value != 0 || wishes_.compact_to.value != 0 ||
                      wishes_.read_sequence != 0;
  return again_ || wished || storage_ready || storage_ack_.has_value() || !arrived_.empty() ||
         applied_ack_.value != 0 || row_.hot().deadline <= now || stalled_until_ <= now;
}

void Replica::fill(Inbox& in, std::uint32_t messages_max, Observer& observer) {
  in = Inbox{};
  if (storage_by_ == Acknowledging::Automatic) {
    acknowledge_storage(observer);
  }
  if (storage_ack_.has_value()) {
    in.storage_ack = *std::exchange(storage_ack_, std::nullopt);
  }
  again_ = false;
  fill_applied(in);
  fill_messages(in, messages_max);
  fill_wishes(in);
}

void Replica::fill_applied(Inbox& in) {
  in.applied = std::exchange(applied_ack_, LogIndex{});
  if (configuration_ack_.has_value()) {
    in.configuration_input = ConfigurationInput::Applied;
    in.configuration_index = configuration_ack_->first;
    in.configuration = configuration_ack_->second;
    configuration_ack_.reset();
  }
}

void Replica::fill_messages(Inbox& in, std::uint32_t messages_max) {
  folded_.clear();
  while (!arrived_.empty() && in.message_count < std::min(messages_max, kInboxMessages)) {
    const Packet& next = arrived_.front();
    if (next.snapshot != nullptr) {
      if (in.configuration_input != ConfigurationInput::None) {
        return;  // One configuration per inbox; the snapshot waits for the next one.
      }
      in.configuration_input = ConfigurationInput::Installed;
      in.configuration = next.snapshot->configuration;
    }
    in.message[in.message_count++] = next.message;
    folded_.push_back(next);
    arrived_.pop_front();
  }
}

void Replica::fill_wishes(Inbox& in) {
  in.campaign = std::exchange(wishes_.campaign, false) ? 1 : 0;
  in.woken = std::exchange(wishes_.woken, false) ? 1 : 0;
  in.transfer_to = std::exchange(wishes_.transfer_to, NodeId{});
  in.snapshot_failed = std::exchange(wishes_.snapshot_failed, NodeId{});
  in.compact_to = std::exchange(wishes_.compact_to, LogIndex{});
  in.read_sequence = std::exchange(wishes_.read_sequence, 0);
  in.read_proof = wishes_.read_proof;
  proposed_ = std::exchange(wishes_.proposals, {});
  in.proposal_count = static_cast<std::uint32_t>(proposed_.size());
  configuration_proposed_.reset();
  if (wishes_.configuration.has_value() && in.configuration_input == ConfigurationInput::None) {
    in.configuration_input = ConfigurationInput::Proposed;
    in.configuration = *wishes_.configuration;
    configuration_proposed_ = std::exchange(wishes_.configuration, std::nullopt);
  }
}

void Replica::drain_outbox(const Outbox& out,
                           Tick now,
                           Observer& observer,
                           const std::function<void(const Packet&)>& send) {
  // For want of credit nothing can change within this tick, unless credit returns and wakes the
  // row.
  const bool stalled = (row_.hot().flags & kRowStalled) != 0;
  again_ = out.again != 0 && !stalled;
  stalled_until_ = stalled ? now + 1 : kTickNever;
  store_payloads(out);
  GCOORD_ASSERT(payloads_.last() == row_.log().last);
  payloads_.forget_to(row_.log().floor);
  if (out.storage.present != 0) {
    persist(out.storage, observer);
  }
  for (std::uint32_t k = 0; k < out.message_count; ++k) {
    send(pack(out.message[k]));
  }
  if (out.apply.first.value != 0) {
    apply_asked_ = out.apply;
  }
  if (apply_by_ == Acknowledging::Automatic) {
    acknowledge_apply();
  }
}

void Replica::store_payloads(const Outbox& out) {
  for (std::uint32_t k = 0; k < folded_.size(); ++k) {
    if (out.stored[k].value != 0) {
      store_append(folded_[k], out.stored[k]);
    }
    if (out.snapshot_installed == k + 1) {
      install(*folded_[k].snapshot);
    }
  }
  store_own(out);
}

void Replica::install(const Snapshot& snapshot) {
  payloads_.reset(snapshot.state.applied);
  service_ = snapshot.state;
  configurations_ = {{snapshot.state.applied, snapshot.configuration}};
  installed_ = snapshot;
  apply_asked_.reset();
  applied_ack_ = LogIndex{};
  configuration_ack_.reset();
}

void Replica::store_append(const Packet& packet, LogIndex first) {
  payloads_.truncate_from(first);
  const LogIndex start = packet.message.index + 1;
  GCOORD_ASSERT(first >= start);
  for (std::uint64_t k = first - start; k < packet.entries.size(); ++k) {
    payloads_.append(packet.entries[k]);
  }
}

void Replica::store_own(const Outbox& out) {
  if (out.configuration_index.value != 0) {
    GCOORD_ASSERT(out.configuration_index == payloads_.last() + 1);
    payloads_.append(encode_configuration(*configuration_proposed_));
  }
  for (std::uint32_t k = 0; k < out.accepted.count; ++k) {
    GCOORD_ASSERT(out.accepted.first + k == payloads_.last() + 1);
    payloads_.append({EntryKind::Command, proposed_[k]});
  }
  if (out.own_entry.count == 0) {
    return;
  }
  GCOORD_ASSERT(out.own_entry.first == payloads_.last() + 1);
  const bool noop = out.own_entry.kind == EntryKind::Noop;
  payloads_.append(noop ? Entry{EntryKind::Noop, {}}
                        : encode_configuration(leave_joint(row_.configuration())));
}

void Replica::persist(const StorageRequest& request, Observer& observer) {
  std::vector<TermEntry> entries;
  for (LogIndex index = request.first; index <= request.last; ++index) {
    entries.push_back(entry_at(index));
  }
  std::optional<Snapshot> snapshot;
  if (request.snapshot != 0) {
    GCOORD_ASSERT(installed_.has_value());
    snapshot = std::exchange(installed_, std::nullopt);
  }
  storage_.begin(request, std::move(entries), std::move(snapshot));
  observer.on_persist(self_, row_.shard(), request);
}

void Replica::apply(const ApplyRequest& request) {
  GCOORD_ASSERT(request.first == service_.applied + 1);
  for (LogIndex index = request.first; index <= request.last; ++index) {
    const Entry& entry = payloads_.at(index);
    service_.apply(entry);
    applied_ack_ = index;
    if (entry.kind == EntryKind::Configuration) {
      configurations_.emplace_back(index, decode_configuration(entry));
      configuration_ack_ = configurations_.back();
      return;  // The step learns of it before anything behind it is applied.
    }
  }
}

Packet Replica::pack(const Message& message) const {
  Packet packet{message, {}, nullptr};
  if (message.kind == MessageKind::Append) {
    for (std::uint64_t k = 1; k <= message.count; ++k) {
      packet.entries.push_back(payloads_.at(message.index + k));
    }
  } else if (message.kind == MessageKind::Snapshot) {
    const LogIndex at = service_.applied;
    const Snapshot state{service_, term_at(row_.log(), row_.runs(), at), configuration_at(at)};
    packet.snapshot = std::make_shared<const Snapshot>(state);
    packet.message.index = at;
    packet.message.log_term = state.term;
  }
  return packet;
}

}  // namespace gcoord::consensus::scenario
