#include "cli/step/events.h"

#include "consensus/scenario/names.h"
#include "consensus/scenario/replica.h"

#include <utility>

namespace gcoord::cli {
namespace {

using consensus::scenario::name_of;
using consensus::scenario::SendFate;
using consensus::scenario::StepReport;

Json members_json(const consensus::Configuration& configuration, consensus::SlotMask mask) {
  Json members = Json::array();
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    if (consensus::has_slot(mask, slot)) {
      members.push_back(
          {{"node", configuration.node[slot].value}, {"weight", configuration.weight[slot]}});
    }
  }
  return members;
}

void put_unless_zero(Json& object, const char* name, std::uint64_t value) {
  if (value != 0) {
    object[name] = std::to_string(value);
  }
}

std::string_view fate_name(SendFate fate) {
  switch (fate) {
    case SendFate::Passed:
      return "passed";
    case SendFate::Held:
      return "held";
    case SendFate::Cut:
      return "lost";
  }
  return "unknown";
}

}  // namespace

Json message_json(const consensus::Message& message) {
  Json object = {{"from", message.from.value},
                 {"to", message.to.value},
                 {"shard", message.shard.value},
                 {"kind", name_of(message.kind)},
                 {"term", text64(message.term)}};
  put_unless_zero(object, "index", message.index.value);
  put_unless_zero(object, "log_term", message.log_term.value);
  put_unless_zero(object, "commit", message.commit.value);
  put_unless_zero(object, "entry_term", message.entry_term);
  put_unless_zero(object, "context", message.context);
  if (message.count != 0) {
    object["count"] = message.count;
  }
  if (message.flags != 0) {
    object["flags"] = message.flags;
  }
  return object;
}

Json configuration_json(const consensus::Configuration& configuration) {
  Json object = {{"voters", members_json(configuration, configuration.voters)}};
  if (configuration.joint()) {
    object["outgoing"] = members_json(configuration, configuration.voters_outgoing);
    object["auto_leave"] = configuration.auto_leave != 0;
  }
  object["learners"] = members_json(configuration, configuration.learners);
  if (configuration.learners_next != 0) {
    object["learners_next"] = members_json(configuration, configuration.learners_next);
  }
  return object;
}

Json StepEvents::take() {
  return std::exchange(events_, Json::array());
}

Json& StepEvents::add(const char* event, NodeId node, ShardId shard) {
  events_.push_back({{"event", event}, {"node", node.value}, {"shard", shard.value}});
  return events_.back();
}

void StepEvents::on_step(const StepReport& report) {
  add_transition(report);
  add_log(report);
  add_verdicts(report);
}

void StepEvents::add_transition(const StepReport& report) {
  const consensus::Hot& before = report.before;
  const consensus::Hot& after = report.replica.row().hot();
  if (before.role == after.role && before.term == after.term && before.leader == after.leader) {
    return;
  }
  const consensus::Configuration& configuration = report.replica.row().configuration();
  Json& event = add("transition", report.node, report.replica.row().shard());
  event["role_before"] = consensus::scenario::role_name(before, configuration);
  event["role"] = consensus::scenario::role_name(after, configuration);
  event["term_before"] = text64(before.term);
  event["term"] = text64(after.term);
  event["vote"] = after.vote.value;
  event["leader"] = after.leader.value;
  event["cause"] = name_of(report.out.cause);
}

void StepEvents::add_log(const StepReport& report) {
  const consensus::Log& before = report.log_before;
  const consensus::Log& after = report.replica.row().log();
  const ShardId shard = report.replica.row().shard();
  if (report.out.snapshot_installed != 0) {
    add("snapshot_installed", report.node, shard)["index"] = text64(after.floor);
  }
  if (after.commit != before.commit) {
    add("commit", report.node, shard)["commit"] = text64(after.commit);
  }
  if (verbose_ && after.applied != before.applied) {
    add("applied", report.node, shard)["applied"] = text64(after.applied);
  }
  if (report.in.configuration_input == consensus::ConfigurationInput::Applied) {
    add("configuration", report.node, shard)["configuration"] =
        configuration_json(report.replica.row().configuration());
  }
}

void StepEvents::add_verdicts(const StepReport& report) {
  const consensus::Outbox& out = report.out;
  const ShardId shard = report.replica.row().shard();
  if (out.dropped != 0) {
    add("dropped", report.node, shard)["count"] = out.dropped;
  }
  if (out.proposal != consensus::ProposalVerdict::None) {
    Json& event = add("proposal", report.node, shard);
    event["verdict"] = name_of(out.proposal);
    event["first"] = text64(out.accepted.first);
    event["count"] = out.accepted.count;
  }
  if (out.configuration != consensus::ProposalVerdict::None) {
    Json& event = add("proposal", report.node, shard);
    event["verdict"] = name_of(out.configuration);
    event["first"] = text64(out.configuration_index);
    event["count"] = out.configuration_index.value == 0 ? 0 : 1;
  }
  if (out.read != consensus::ReadVerdict::None) {
    Json& event = add("read", report.node, shard);
    event["sequence"] = std::to_string(out.read_sequence);
    event["verdict"] = name_of(out.read);
    event["index"] = text64(out.read_index);
  }
}

void StepEvents::on_send(const consensus::scenario::Packet& packet,
                         SendFate fate,
                         const consensus::scenario::Replica& sender) {
  static_cast<void>(sender);
  if (verbose_) {
    Json event = {{"event", "message"}, {"fate", fate_name(fate)}};
    merge_members(event, message_json(packet.message));
    events_.push_back(std::move(event));
  }
}

void StepEvents::on_liveness(NodeId node,
                             const consensus::PeerLiveness& peer,
                             consensus::LivenessChange change) {
  if (verbose_) {
    events_.push_back({{"event", "liveness"},
                       {"node", node.value},
                       {"peer", peer.node.value},
                       {"change", name_of(change)},
                       {"session", peer.session}});
  }
}

void StepEvents::on_persist(NodeId node, ShardId shard, const consensus::StorageRequest& request) {
  if (verbose_) {
    Json& event = add("persist", node, shard);
    event["term"] = text64(request.term);
    event["vote"] = request.vote.value;
    event["first"] = text64(request.first);
    event["last"] = text64(request.last);
    event["snapshot"] = request.snapshot != 0;
  }
}

void StepEvents::on_durable(NodeId node, ShardId shard, const consensus::StorageAck& ack) {
  if (verbose_) {
    Json& event = add("durable", node, shard);
    event["term"] = text64(ack.term);
    event["vote"] = ack.vote.value;
  }
}

void StepEvents::on_unroutable(NodeId node) {
  events_.push_back({{"event", "dropped"}, {"node", node.value}, {"count", 1}});
}

}  // namespace gcoord::cli
