// Commands that only ask: each answers in lines of text.
#include "consensus/scenario/commands.h"
#include "consensus/scenario/names.h"
#include "consensus/step/log_runs.h"

#include <fmt/format.h>

namespace gcoord::consensus::scenario {
namespace {

// "none", "due" or "+3".
std::string timer_text(Tick deadline, Tick now) {
  if (deadline == kTickNever) {
    return "none";
  }
  return deadline <= now ? "due" : fmt::format("+{}", deadline - now);
}

std::string status_text(Node& node, const Replica& replica) {
  const ShardRef row = replica.row();
  const Hot& hot = row.hot();
  const Log& log = row.log();
  return fmt::format(
      "{}: {} term={} vote={} leader={} last={} commit={} applied={} floor={} timer={}{}",
      node.self().value,
      role_name(hot, row.configuration()),
      hot.term.value,
      hot.vote.value,
      hot.leader.value,
      log.last.value,
      log.commit.value,
      log.applied.value,
      log.floor.value,
      timer_text(hot.deadline, node.tick()),
      (hot.flags & kRowForgetful) != 0 ? " forgetful" : "");
}

Status status(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::vector<NodeId> nodes, scene.nodes_of(line, 0));
  GCOORD_TRY(const ShardId shard, scene.shard_of(line));
  for (const NodeId each : nodes) {
    Node& node = scene.cluster().node(each);
    const Replica* replica = node.replica(shard);
    scene.say(replica == nullptr ? fmt::format("{}: stopped", each.value)
                                 : status_text(node, *replica));
  }
  return {};
}

Status entries(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::vector<NodeId> nodes, scene.nodes_of(line, 0));
  GCOORD_TRY(const ShardId shard, scene.shard_of(line));
  for (const NodeId node : nodes) {
    const Replica* replica = scene.cluster().node(node).replica(shard);
    if (replica == nullptr) {
      scene.say(fmt::format("{}: stopped", node.value));
      continue;
    }
    const PayloadLog& log = replica->payloads();
    std::string text = fmt::format("{}:", node.value);
    text += log.floor().value == 0 ? "" : fmt::format(" ({} and before)", log.floor().value);
    for (LogIndex index = log.floor() + 1; index <= log.last(); ++index) {
      text += " " + text_of(replica->entry_at(index));
    }
    scene.say(text);
  }
  return {};
}

Status progress(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  const ShardRef row = replica->row();
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    const NodeId node = row.configuration().node[slot];
    if (node.value == 0 || node == replica->self()) {
      continue;
    }
    const Progress& progress = row.progress(slot);
    const bool knows = (progress.flags & kProgressKnowsCommit) != 0;
    scene.say(fmt::format("{}: {} {} match={} next={}{}",
                          replica->self().value,
                          node.value,
                          name_of(progress.state),
                          progress.match.value,
                          progress.next.value,
                          knows ? " knows-commit" : ""));
  }
  return {};
}

Status applied(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::vector<NodeId> nodes, scene.nodes_of(line, 0));
  GCOORD_TRY(const ShardId shard, scene.shard_of(line));
  for (const NodeId node : nodes) {
    const Replica* replica = scene.cluster().node(node).replica(shard);
    if (replica == nullptr) {
      scene.say(fmt::format("{}: stopped", node.value));
      continue;
    }
    std::string text = fmt::format("{}: up to {}:", node.value, replica->service().applied.value);
    for (const AppliedCommand& command : replica->service().commands) {
      text += " " + command.command;
    }
    scene.say(text);
  }
  return {};
}

Status lease(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::vector<NodeId> nodes, scene.nodes_of(line, 0));
  GCOORD_TRY(const ShardId shard, scene.shard_of(line));
  for (const NodeId node : nodes) {
    const std::uint64_t ticks = scene.cluster().lease_ticks(node, shard);
    scene.say(ticks == 0 ? fmt::format("{}: no lease", node.value)
                         : fmt::format("{}: lease for {} ticks", node.value, ticks));
  }
  return {};
}

Status held(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  for (const Packet& packet : scene.cluster().network().link(way.from, way.to).held) {
    scene.say("held " + text_of(packet.message));
  }
  return {};
}

Status sent(Scene& scene, const CommandLine& line) {
  static_cast<void>(line);
  scene.say(fmt::format("{} messages", scene.cluster().trace().take_sent_count()));
  return {};
}

Status liveness(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::vector<NodeId> nodes, scene.nodes_of(line, 0));
  for (const NodeId node : nodes) {
    for (const PeerLiveness& peer : scene.cluster().node(node).peers()) {
      scene.say(fmt::format("{}: node {} {} incarnation={} session={}",
                            node.value,
                            peer.node.value,
                            peer.live != 0 ? "live" : "not live",
                            peer.incarnation.value,
                            peer.session));
    }
  }
  return {};
}

}  // namespace

std::span<const CommandRow> report_commands() {
  static constexpr CommandRow kRows[] = {
      {"status", status},
      {"entries", entries},
      {"progress", progress},
      {"applied", applied},
      {"lease", lease},
      {"held", held},
      {"sent", sent},
      {"liveness", liveness},
  };
  return kRows;
}

}  // namespace gcoord::consensus::scenario
