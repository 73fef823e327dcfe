// Commands of what a replica's owner may ask for.
#include "consensus/scenario/commands.h"

#include <fmt/format.h>

namespace gcoord::consensus::scenario {
namespace {

Result<Acknowledging> acknowledging_of(const CommandLine& line) {
  GCOORD_TRY(const std::string word, line.word(1));
  if (word != "manual" && word != "automatic") {
    return Status{StatusCode::InvalidArgument, "say `manual` or `automatic`"};
  }
  return word == "manual" ? Acknowledging::Manual : Acknowledging::Automatic;
}

Status campaign(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  replica->wishes().campaign = true;
  return {};
}

Status elect(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  replica->wishes().campaign = true;
  scene.cluster().settle();
  if (replica->row().hot().role != Role::Leader) {
    scene.say(fmt::format("{} was not elected", replica->self().value));
  }
  return {};
}

// "propose 1 a b c", or "propose 1 x count=5" for x1 .. x5.
Status propose(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  GCOORD_TRY(const std::uint64_t count, line.option("count", 0));
  for (std::size_t k = 1; k < line.words.size(); ++k) {
    for (std::uint64_t number = 1; number <= count; ++number) {
      replica->wishes().proposals.push_back(fmt::format("{}{}", line.words[k], number));
    }
    if (count == 0) {
      replica->wishes().proposals.push_back(line.words[k]);
    }
  }
  return {};
}

// "configure 1 [joint|joint-until-leave] voters=1,2,4 learners=3".
Status configure(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  GCOORD_TRY(const Members members, line.members());
  const Change change = line.has_word("joint")               ? Change::Joint
                        : line.has_word("joint-until-leave") ? Change::JointUntilLeave
                                                             : Change::Simple;
  GCOORD_TRY(replica->wishes().configuration,
             changed(replica->row().configuration(), members, change));
  return {};
}

Status leave(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  const Configuration& present = replica->row().configuration();
  if (!present.joint() && replica->row().hot().role == Role::Leader) {
    scene.say(
        fmt::format("{}: refuses to leave, the configuration is not joint", replica->self().value));
    return {};
  }
  replica->wishes().configuration = leave_joint(present);
  return {};
}

Status transfer(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  GCOORD_TRY(replica->wishes().transfer_to, scene.node_of(line, 1));
  return {};
}

// "target [1...] voters=1,2*3,4 learners=5 [draining=1] [witness=4]": these nodes, or all, bring
// the shards that they lead to these members. Learners are joining; without voters nothing is
// wanted.
Status target(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::vector<NodeId> nodes, scene.nodes_of(line, 0));
  GCOORD_TRY(const Members members, line.members());
  GCOORD_TRY(const std::uint64_t draining, line.option("draining", 0));
  GCOORD_TRY(const std::uint64_t witness, line.option("witness", 0));
  MembersTarget wanted;
  for (const Voter& voter : members.voters) {
    const std::uint8_t leads = voter.node.value == draining ? std::uint8_t{0} : kTargetLeads;
    const auto can_lead = static_cast<std::uint8_t>(kTargetLeadsAtNeed | leads);
    const std::uint8_t does = voter.node.value == witness ? kTargetWitness : can_lead;
    add_target(wanted,
               {.node = voter.node,
                .weight = voter.weight,
                .flags = static_cast<std::uint8_t>(kTargetVoter | does)});
  }
  for (const NodeId learner : members.learners) {
    const std::uint8_t will = learner.value == witness ? kTargetWitness : std::uint8_t{0};
    add_target(
        wanted,
        {.node = learner, .weight = 0, .flags = static_cast<std::uint8_t>(kTargetJoining | will)});
  }
  for (const NodeId node : nodes) {
    scene.cluster().node(node).set_target(wanted);
  }
  return {};
}

// "read 1 [quorum]".
Status read(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  scene.cluster().read(replica->self(),
                       replica->row().shard(),
                       line.has_word("quorum") ? ReadProof::Round : ReadProof::LeaseOrRound);
  return {};
}

// "compact 1 [INDEX]": a checkpoint at the index, or at all that is applied.
Status compact(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  std::uint64_t index = replica->row().log().applied.value;
  if (line.words.size() > 1) {
    GCOORD_TRY(index, line.number(1));
  }
  replica->checkpoint(LogIndex{index});
  return {};
}

// "snapshot 1 3": node 1 sends node 3 its state, asked or not.
Status snapshot(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  GCOORD_TRY(const NodeId to, scene.node_of(line, 1));
  scene.cluster().force_snapshot(replica->self(), to, replica->row().shard());
  return {};
}

Status snapshot_failed(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  GCOORD_TRY(replica->wishes().snapshot_failed, scene.node_of(line, 1));
  return {};
}

Status storage(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  GCOORD_TRY(const Acknowledging by, acknowledging_of(line));
  scene.cluster().node(node).set_storage_acknowledging(by);
  return {};
}

Status acknowledge(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  if (!scene.cluster().acknowledge_storage(replica->self(), replica->row().shard())) {
    scene.say(fmt::format("{}: no storage request is under way", replica->self().value));
  }
  return {};
}

Status application(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  GCOORD_TRY(const Acknowledging by, acknowledging_of(line));
  scene.cluster().node(node).set_apply_acknowledging(by);
  return {};
}

Status apply(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(Replica* const replica, scene.replica_of(line, 0));
  if (!replica->acknowledge_apply()) {
    scene.say(fmt::format("{}: nothing is to be applied", replica->self().value));
  }
  return {};
}

}  // namespace

std::span<const CommandRow> replica_commands() {
  static constexpr CommandRow kRows[] = {
      {"campaign", campaign},
      {"elect", elect},
      {"propose", propose},
      {"configure", configure},
      {"leave", leave},
      {"transfer", transfer},
      {"target", target},
      {"read", read},
      {"compact", compact},
      {"snapshot", snapshot},
      {"snapshot_failed", snapshot_failed},
      {"storage", storage},
      {"ack", acknowledge},
      {"application", application},
      {"apply", apply},
  };
  return kRows;
}

}  // namespace gcoord::consensus::scenario
