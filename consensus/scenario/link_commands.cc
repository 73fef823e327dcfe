// Commands of the links between the nodes, and of the messages on them.
#include "consensus/scenario/commands.h"
#include "consensus/scenario/names.h"

#include <fmt/format.h>

namespace gcoord::consensus::scenario {
namespace {

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

// The kinds that a line names behind its nodes; all of them if it names none.
Result<KindMask> kinds_of(const CommandLine& line, std::size_t place) {
  KindMask kinds = 0;
  for (std::size_t k = place; k < line.words.size(); ++k) {
    const auto kind = message_kind_named(line.words[k]);
    if (!kind.has_value()) {
      return invalid(fmt::format("'{}' is no kind of message", line.words[k]));
    }
    kinds |= kind_bit(*kind);
  }
  return kinds == 0 ? kAllKinds : kinds;
}

Result<std::uint32_t> count_of(const CommandLine& line) {
  GCOORD_TRY(const std::uint64_t count, line.option("count", ~std::uint32_t{0}));
  return static_cast<std::uint32_t>(count);
}

// "partition 1 2 | 3": nobody speaks across a bar.
Status partition(Scene& scene, const CommandLine& line) {
  std::vector<std::vector<NodeId>> sides(1);
  for (std::size_t k = 0; k < line.words.size(); ++k) {
    if (line.words[k] == "|") {
      sides.emplace_back();
      continue;
    }
    GCOORD_TRY(const NodeId node, scene.node_of(line, k));
    sides.back().push_back(node);
  }
  scene.cluster().network().partition(sides);
  return {};
}

Status isolate(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  for (std::uint32_t other = 1; other <= scene.cluster().node_count(); ++other) {
    if (NodeId{other} != node) {
      scene.cluster().network().cut_both(node, NodeId{other});
    }
  }
  return {};
}

// "cut 1 2": what 1 sends to 2 is lost; 2 is still heard by 1.
Status cut(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  scene.cluster().network().link(way.from, way.to).cut = true;
  return {};
}

// "heal": every link; "heal 1 2": this direction.
Status heal(Scene& scene, const CommandLine& line) {
  if (!line.words.empty()) {
    GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
    scene.cluster().network().link(way.from, way.to).cut = false;
    return {};
  }
  scene.cluster().network().heal_all();
  return {};
}

Status mute(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  scene.cluster().network().link(way.from, way.to).muted = true;
  return {};
}

Status unmute(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  scene.cluster().network().link(way.from, way.to).muted = false;
  return {};
}

// "hold 1 2 Append AppendReply": these kinds wait for `deliver`, `drop` or `release`.
Status hold(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  scene.cluster().network().link(way.from, way.to).held_kinds |= kinds;
  return {};
}

Status release(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  scene.cluster().network().link(way.from, way.to).held_kinds = 0;
  scene.cluster().network().deliver(way.from, way.to, kAllKinds, ~std::uint32_t{0});
  return {};
}

Status deliver(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  GCOORD_TRY(const std::uint32_t count, count_of(line));
  scene.cluster().network().deliver(way.from, way.to, kinds, count);
  return {};
}

Status drop(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  GCOORD_TRY(const std::uint32_t count, count_of(line));
  scene.cluster().network().drop(way.from, way.to, kinds, count);
  return {};
}

Status duplicate(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  scene.cluster().network().duplicate(way.from, way.to, kinds);
  return {};
}

Status reverse(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  scene.cluster().network().reverse(way.from, way.to);
  return {};
}

// "credit 1 2 0": node 1's channel to node 2 takes no message until more credit is given.
Status credit(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  GCOORD_TRY(const std::string text, line.word(2));
  std::uint64_t count = kCreditUnlimited;
  if (text != "unlimited") {
    GCOORD_TRY(count, line.number(2));
  }
  scene.cluster().node(way.from).set_credit(way.to, static_cast<std::uint32_t>(count));
  return {};
}

// "inject 1 2 Append term=99 index=3": a message that no replica sent.
Status inject(Scene& scene, const CommandLine& line) {
  Message message;
  GCOORD_TRY(const Scene::Ends way, scene.ends_of(line));
  message.from = way.from;
  message.to = way.to;
  GCOORD_TRY(const std::string name, line.word(2));
  const auto kind = message_kind_named(name);
  GCOORD_TRY(const std::uint64_t number, line.option("kind", 0));
  message.kind = kind.value_or(static_cast<MessageKind>(number));
  GCOORD_TRY(const std::uint64_t shard, line.option("shard", 0));
  GCOORD_TRY(const std::uint64_t flags, line.option("flags", 0));
  GCOORD_TRY(const std::uint64_t count, line.option("count", 0));
  GCOORD_TRY(message.term.value, line.option("term", 0));
  GCOORD_TRY(message.index.value, line.option("index", 0));
  GCOORD_TRY(message.log_term.value, line.option("log_term", 0));
  GCOORD_TRY(message.commit.value, line.option("commit", 0));
  GCOORD_TRY(message.entry_term, line.option("entry_term", 0));
  GCOORD_TRY(message.context, line.option("context", 0));
  message.shard = ShardId{static_cast<std::uint32_t>(shard)};
  message.flags = static_cast<std::uint8_t>(flags);
  message.count = static_cast<std::uint16_t>(count);
  scene.cluster().inject(message);
  return {};
}

}  // namespace

std::span<const CommandRow> link_commands() {
  static constexpr CommandRow kRows[] = {
      {"partition", partition},
      {"isolate", isolate},
      {"cut", cut},
      {"heal", heal},
      {"mute", mute},
      {"unmute", unmute},
      {"hold", hold},
      {"release", release},
      {"deliver", deliver},
      {"drop", drop},
      {"duplicate", duplicate},
      {"reverse", reverse},
      {"credit", credit},
      {"inject", inject},
  };
  return kRows;
}

}  // namespace gcoord::consensus::scenario
