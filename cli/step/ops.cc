#include "cli/step/ops.h"

#include "cli/step/events.h"
#include "protocol/error_codes.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace gcoord::cli {
namespace {

using consensus::scenario::Acknowledging;
using consensus::scenario::Change;
using consensus::scenario::Cluster;
using consensus::scenario::ClusterOptions;
using consensus::scenario::KindMask;
using consensus::scenario::Link;
using consensus::scenario::Members;
using consensus::scenario::Node;
using consensus::scenario::Packet;
using consensus::scenario::Replica;

// A command that takes longer than this in one request would look like a hang.
constexpr std::uint64_t kTicksPerRequestMax = 1'000'000;

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument,
          std::move(message),
          static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid)};
}

Result<Node*> node_of(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const NodeId node, fields.node("node", cluster.node_count()));
  return &cluster.node(node);
}

Result<Replica*> replica_of(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  GCOORD_TRY(const ShardId shard, fields.shard(cluster.shard_count()));
  Replica* replica = node->replica(shard);
  if (replica == nullptr) {
    return invalid(fmt::format("\"node\": {} is stopped", node->self().value));
  }
  return replica;
}

struct Ends {
  NodeId from;
  NodeId to;
};

Result<Ends> ends_of(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const NodeId from, fields.node("from", cluster.node_count()));
  GCOORD_TRY(const NodeId to, fields.node("to", cluster.node_count()));
  if (from == to) {
    return invalid("\"from\" and \"to\" are the same node");
  }
  return Ends{from, to};
}

// The links that a request names by "from" and "to"; every link if it names neither.
Result<std::vector<Ends>> links_of(Cluster& cluster, const StepFields& fields) {
  std::vector<Ends> links;
  if (fields.has("from") || fields.has("to")) {
    GCOORD_TRY(const Ends ends, ends_of(cluster, fields));
    links.push_back(ends);
    return links;
  }
  for (std::uint32_t from = 1; from <= cluster.node_count(); ++from) {
    for (std::uint32_t to = 1; to <= cluster.node_count(); ++to) {
      if (from != to) {
        links.push_back({NodeId{from}, NodeId{to}});
      }
    }
  }
  return links;
}

Result<Json> op_tick(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::uint64_t count, fields.number_or("count", 1));
  if (count > kTicksPerRequestMax) {
    return invalid("\"count\" is at most 1000000");
  }
  cluster.tick(static_cast<std::uint32_t>(count));
  return Json::object();
}

Result<Json> op_campaign(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  replica->wishes().campaign = true;
  return Json::object();
}

Result<Json> op_propose(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  GCOORD_TRY(replica->wishes().proposals, fields.commands());
  return Json::object();
}

Result<Json> op_configure(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  GCOORD_TRY(const std::string name, fields.text_or("change", "simple"));
  GCOORD_TRY(const Members members, fields.members());
  constexpr std::array<std::pair<std::string_view, Change>, 3> kChanges = {
      {{"simple", Change::Simple},
       {"joint", Change::Joint},
       {"joint-until-leave", Change::JointUntilLeave}}};
  for (const auto& [known, change] : kChanges) {
    if (known == name) {
      GCOORD_TRY(replica->wishes().configuration,
                 changed(replica->row().configuration(), members, change));
      return Json::object();
    }
  }
  return invalid("\"change\" is simple, joint or joint-until-leave");
}

Result<Json> op_leave(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  const auto& present = replica->row().configuration();
  if (!present.joint() && replica->row().hot().role == consensus::Role::Leader) {
    // Left as it is, it would be proposed, and cost an entry that changes nothing.
    return invalid("the configuration is not joint, so there is nothing to leave");
  }
  replica->wishes().configuration = leave_joint(present);
  return Json::object();
}

Result<Json> op_transfer(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  GCOORD_TRY(replica->wishes().transfer_to, fields.node("to", cluster.node_count()));
  return Json::object();
}

Result<Json> op_read_index(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  GCOORD_TRY(const bool quorum, fields.flag_or("quorum", false));
  const std::uint64_t sequence =
      cluster.read(replica->self(),
                   replica->row().shard(),
                   quorum ? consensus::ReadProof::Round : consensus::ReadProof::LeaseOrRound);
  return Json{{"sequence", std::to_string(sequence)}};
}

Result<Json> op_lease(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  const std::uint64_t ticks = cluster.lease_ticks(replica->self(), replica->row().shard());
  return Json{{"held", ticks != 0}, {"ticks", std::to_string(ticks)}};
}

Result<Json> op_hold(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::vector<Ends> links, links_of(cluster, fields));
  GCOORD_TRY(const KindMask kinds, fields.kinds());
  for (const Ends& ends : links) {
    cluster.network().link(ends.from, ends.to).held_kinds |= kinds;
  }
  return Json::object();
}

Result<Json> op_release(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::vector<Ends> links, links_of(cluster, fields));
  for (const Ends& ends : links) {
    Link& link = cluster.network().link(ends.from, ends.to);
    link.held_kinds = 0;
    cluster.network().deliver(ends.from,
                              ends.to,
                              consensus::scenario::kAllKinds,
                              std::numeric_limits<std::uint32_t>::max());
  }
  return Json::object();
}

Result<std::uint32_t> move_held(Cluster& cluster,
                                const StepFields& fields,
                                std::uint32_t (consensus::scenario::LinkNetwork::*move)(
                                    NodeId, NodeId, KindMask, std::uint32_t)) {
  GCOORD_TRY(const std::vector<Ends> links, links_of(cluster, fields));
  GCOORD_TRY(const KindMask kinds, fields.kinds());
  GCOORD_TRY(const std::uint32_t count_max,
             fields.number32_or("count", std::numeric_limits<std::uint32_t>::max()));
  std::uint32_t moved = 0;
  for (const Ends& ends : links) {
    moved += (cluster.network().*move)(ends.from, ends.to, kinds, count_max);
  }
  return moved;
}

Result<Json> op_deliver(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::uint32_t moved,
             move_held(cluster, fields, &consensus::scenario::LinkNetwork::deliver));
  return Json{{"delivered", moved}};
}

Result<Json> op_drop(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::uint32_t moved,
             move_held(cluster, fields, &consensus::scenario::LinkNetwork::drop));
  return Json{{"dropped", moved}};
}

Result<Json> op_held(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::vector<Ends> links, links_of(cluster, fields));
  Json messages = Json::array();
  for (const Ends& ends : links) {
    for (const Packet& packet : cluster.network().link(ends.from, ends.to).held) {
      messages.push_back(message_json(packet.message));
    }
  }
  return Json{{"messages", std::move(messages)}};
}

Result<Json> op_cut(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const Ends ends, ends_of(cluster, fields));
  cluster.network().link(ends.from, ends.to).cut = true;
  return Json::object();
}

Result<Json> op_heal(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::vector<Ends> links, links_of(cluster, fields));
  for (const Ends& ends : links) {
    cluster.network().link(ends.from, ends.to).cut = false;
  }
  return Json::object();
}

Result<Json> op_partition(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const std::vector<std::vector<NodeId>> sides, fields.sides(cluster.node_count()));
  cluster.network().partition(sides);
  return Json::object();
}

Result<Json> op_mute(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const Ends ends, ends_of(cluster, fields));
  GCOORD_TRY(const bool muted, fields.flag_or("muted", true));
  cluster.network().link(ends.from, ends.to).muted = muted;
  return Json::object();
}

Result<Json> op_credit(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const Ends ends, ends_of(cluster, fields));
  GCOORD_TRY(const std::uint32_t credit,
             fields.number32_or("credit", consensus::scenario::kCreditUnlimited));
  cluster.node(ends.from).set_credit(ends.to, credit);
  return Json::object();
}

Result<Json> op_inject(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const Ends ends, ends_of(cluster, fields));
  GCOORD_TRY(consensus::Message message, fields.message());
  GCOORD_TRY(const std::uint32_t shard, fields.number32_or("shard", 0));
  message.from = ends.from;
  message.to = ends.to;
  message.shard = ShardId{shard};
  cluster.inject(message);
  return Json::object();
}

Result<Acknowledging> acknowledging_of(const StepFields& fields) {
  GCOORD_TRY(const std::string text, fields.text_or("acknowledging", "manual"));
  if (text != "manual" && text != "automatic") {
    return invalid("\"acknowledging\" is manual or automatic");
  }
  return text == "manual" ? Acknowledging::Manual : Acknowledging::Automatic;
}

Result<Json> op_storage(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  GCOORD_TRY(const Acknowledging by, acknowledging_of(fields));
  node->set_storage_acknowledging(by);
  return Json::object();
}

Result<Json> op_ack_storage(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  const bool acknowledged = cluster.acknowledge_storage(replica->self(), replica->row().shard());
  return Json{{"acknowledged", acknowledged}};
}

Result<Json> op_application(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  GCOORD_TRY(const Acknowledging by, acknowledging_of(fields));
  node->set_apply_acknowledging(by);
  return Json::object();
}

Result<Json> op_ack_apply(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  return Json{{"acknowledged", replica->acknowledge_apply()}};
}

Result<Node::UnderWay> under_way_of(const StepFields& fields) {
  GCOORD_TRY(const std::string text, fields.text_or("under_way", "lost"));
  if (text != "lost" && text != "durable") {
    return invalid("\"under_way\" is lost or durable");
  }
  return text == "lost" ? Node::UnderWay::Lost : Node::UnderWay::Durable;
}

Result<Json> op_stop(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  GCOORD_TRY(const Node::UnderWay requests, under_way_of(fields));
  node->stop(requests);
  return Json::object();
}

Result<Json> op_start(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  node->start();
  return Json{{"incarnation", node->incarnation().value}};
}

Result<Json> op_restart(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const Json stopped, op_stop(cluster, fields));
  cluster.settle();  // What was on the way is lost with the process.
  return op_start(cluster, fields);
}

Result<Json> op_pause(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  node->pause();
  return Json::object();
}

Result<Json> op_resume(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  node->resume();
  return Json::object();
}

Result<Json> op_rate(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Node* const node, node_of(cluster, fields));
  GCOORD_TRY(const std::uint32_t thousandths, fields.number32_or("thousandths", 1000));
  node->set_clock_rate(thousandths);
  return Json::object();
}

Result<Json> op_compact(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(Replica* const replica, replica_of(cluster, fields));
  GCOORD_TRY(const std::uint64_t index,
             fields.number_or("index", replica->row().log().applied.value));
  replica->checkpoint(LogIndex{index});
  return Json::object();
}

Result<Json> op_install_snapshot(Cluster& cluster, const StepFields& fields) {
  GCOORD_TRY(const Ends ends, ends_of(cluster, fields));
  GCOORD_TRY(const ShardId shard, fields.shard(cluster.shard_count()));
  if (cluster.node(ends.from).replica(shard) == nullptr) {
    return invalid(fmt::format("\"from\": {} is stopped", ends.from.value));
  }
  cluster.force_snapshot(ends.from, ends.to, shard);
  return Json::object();
}

Result<Json> op_digest(Cluster& cluster, const StepFields& fields) {
  static_cast<void>(fields);
  return Json{{"digest", std::to_string(cluster.digest())}};
}

constexpr std::pair<std::string_view, StepOp> kOps[] = {
    {"tick", op_tick},
    {"campaign", op_campaign},
    {"propose", op_propose},
    {"configure", op_configure},
    {"leave", op_leave},
    {"transfer", op_transfer},
    {"read_index", op_read_index},
    {"lease", op_lease},
    {"hold", op_hold},
    {"release", op_release},
    {"deliver", op_deliver},
    {"drop", op_drop},
    {"held", op_held},
    {"cut", op_cut},
    {"heal", op_heal},
    {"partition", op_partition},
    {"mute", op_mute},
    {"credit", op_credit},
    {"inject", op_inject},
    {"storage", op_storage},
    {"ack_storage", op_ack_storage},
    {"application", op_application},
    {"ack_apply", op_ack_apply},
    {"stop", op_stop},
    {"start", op_start},
    {"restart", op_restart},
    {"pause", op_pause},
    {"resume", op_resume},
    {"rate", op_rate},
    {"compact", op_compact},
    {"install_snapshot", op_install_snapshot},
    {"dump", dump_cluster},
    {"digest", op_digest},
};

// The parts of "create" that are numbers inside objects.
Status read_timing(const StepFields& fields, ClusterOptions& options) {
  auto& timing = options.timing;
  GCOORD_TRY(timing.election_ticks, fields.number32_or("election_ticks", timing.election_ticks));
  GCOORD_TRY(timing.resend_ticks, fields.number32_or("resend_ticks", timing.resend_ticks));
  GCOORD_TRY(timing.stagger_ticks, fields.number32_or("stagger_ticks", timing.stagger_ticks));
  GCOORD_TRY(timing.retry_ticks, fields.number32_or("retry_ticks", timing.retry_ticks));
  GCOORD_TRY(timing.lease_margin_ticks,
             fields.number32_or("lease_margin_ticks", timing.lease_margin_ticks));
  auto& limits = options.limits;
  GCOORD_TRY(limits.window_entries, fields.number32_or("window_entries", limits.window_entries));
  GCOORD_TRY(limits.uncommitted_entries,
             fields.number32_or("uncommitted_entries", limits.uncommitted_entries));
  GCOORD_TRY(limits.message_entries, fields.number32_or("message_entries", limits.message_entries));
  return {};
}

}  // namespace

StepOp find_step_op(std::string_view name) {
  for (const auto& [known, op] : kOps) {
    if (known == name) {
      return op;
    }
  }
  return nullptr;
}

Result<ClusterOptions> step_cluster_options(const StepFields& fields) {
  ClusterOptions options;
  GCOORD_TRY(options.nodes, fields.number32_or("nodes", options.nodes));
  GCOORD_TRY(options.shards, fields.number32_or("shards", options.shards));
  GCOORD_TRY(options.seed, fields.number_or("seed", options.seed));
  GCOORD_TRY(options.inbox_messages, fields.number32_or("inbox_messages", options.inbox_messages));
  GCOORD_TRY_STATUS(read_timing(fields, options));
  GCOORD_TRY(options.members, fields.members());
  GCOORD_TRY(const std::string durability, fields.text_or("durability", "durable"));
  if (durability != "durable" && durability != "memory") {
    return invalid("\"durability\" is durable or memory");
  }
  options.durability =
      durability == "memory" ? consensus::Durability::Memory : consensus::Durability::Durable;
  return options;
}

}  // namespace gcoord::cli
