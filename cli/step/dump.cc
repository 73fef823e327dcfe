#include "cli/step/events.h"
#include "cli/step/ops.h"
#include "consensus/scenario/names.h"
#include "consensus/step/log_runs.h"

#include <utility>

namespace gcoord::cli {
namespace {

using consensus::scenario::Cluster;
using consensus::scenario::Node;
using consensus::scenario::NodeCondition;
using consensus::scenario::Replica;
using consensus::scenario::TermEntry;

std::string_view condition_name(NodeCondition condition) {
  switch (condition) {
    case NodeCondition::Running:
      return "running";
    case NodeCondition::Paused:
      return "paused";
    case NodeCondition::Stopped:
      return "stopped";
  }
  return "unknown";
}

Json entry_json(LogIndex index, const TermEntry& entry) {
  Json object = {{"index", text64(index)}, {"term", text64(entry.term)}};
  switch (entry.entry.kind) {
    case consensus::EntryKind::Command:
      object["command"] = entry.entry.bytes;
      break;
    case consensus::EntryKind::Noop:
      object["noop"] = true;
      break;
    case consensus::EntryKind::Configuration:
      object["configuration"] =
          configuration_json(consensus::scenario::decode_configuration(entry.entry));
      break;
  }
  return object;
}

Json log_json(const Replica& replica) {
  const consensus::Log& log = replica.row().log();
  Json entries = Json::array();
  for (LogIndex index = replica.payloads().floor() + 1; index <= log.last; ++index) {
    entries.push_back(entry_json(index, replica.entry_at(index)));
  }
  return {{"last", text64(log.last)},
          {"commit", text64(log.commit)},
          {"applied", text64(log.applied)},
          {"floor", text64(log.floor)},
          {"floor_term", text64(log.floor_term)},
          {"entries", std::move(entries)}};
}

Json durable_json(const consensus::scenario::FakeStorage& storage) {
  return {{"term", text64(storage.durable().term)},
          {"vote", storage.durable().vote.value},
          {"last", text64(storage.durable().last())},
          {"checkpoint", text64(storage.durable().checkpoint.state.applied)},
          {"under_way", storage.under_way()}};
}

Json progress_json(const Replica& replica) {
  const consensus::ShardRef row = replica.row();
  Json peers = Json::array();
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    const NodeId node = row.configuration().node[slot];
    if (node.value != 0 && node != replica.self()) {
      const consensus::Progress& progress = row.progress(slot);
      peers.push_back({{"node", node.value},
                       {"state", consensus::scenario::name_of(progress.state)},
                       {"match", text64(progress.match)},
                       {"next", text64(progress.next)}});
    }
  }
  return peers;
}

Json replica_json(Cluster& cluster, const Node& node, const Replica& replica) {
  const consensus::ShardRef row = replica.row();
  const consensus::Hot& hot = row.hot();
  Json commands = Json::array();
  for (const auto& command : replica.service().commands) {
    commands.push_back({{"index", text64(command.index)}, {"command", command.command}});
  }
  Json object = {{"shard", row.shard().value},
                 {"role", consensus::scenario::role_name(hot, row.configuration())},
                 {"term", text64(hot.term)},
                 {"vote", hot.vote.value},
                 {"leader", hot.leader.value},
                 {"forgetful", (hot.flags & consensus::kRowForgetful) != 0},
                 {"deadline", hot.deadline == kTickNever ? "" : text64(hot.deadline)},
                 {"lease_ticks", std::to_string(cluster.lease_ticks(node.self(), row.shard()))},
                 {"configuration", configuration_json(row.configuration())},
                 {"log", log_json(replica)},
                 {"durable", durable_json(replica.storage())}};
  if (hot.role == consensus::Role::Leader) {
    object["progress"] = progress_json(replica);
  }
  object["applied_commands"] = std::move(commands);
  object["row_digest"] =
      std::to_string(consensus::row_digest(node.stepper().columns(), row.shard().value));
  return object;
}

Json node_json(Cluster& cluster, Node& node) {
  Json shards = Json::array();
  for (std::uint32_t shard = 0; shard < cluster.shard_count(); ++shard) {
    const Replica* replica = node.replica(ShardId{shard});
    if (replica != nullptr) {
      shards.push_back(replica_json(cluster, node, *replica));
    }
  }
  return {{"node", node.self().value},
          {"condition", condition_name(node.condition())},
          {"incarnation", node.incarnation().value},
          {"tick", text64(node.tick())},
          {"shards", std::move(shards)}};
}

}  // namespace

Result<Json> dump_cluster(Cluster& cluster, const StepFields& fields) {
  Json nodes = Json::array();
  if (fields.has("node")) {
    GCOORD_TRY(const NodeId node, fields.node("node", cluster.node_count()));
    nodes.push_back(node_json(cluster, cluster.node(node)));
  } else {
    for (std::uint32_t node = 1; node <= cluster.node_count(); ++node) {
      nodes.push_back(node_json(cluster, cluster.node(NodeId{node})));
    }
  }
  return Json{{"nodes", std::move(nodes)}};
}

}  // namespace gcoord::cli
