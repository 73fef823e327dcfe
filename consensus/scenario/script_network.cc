#include "consensus/scenario/names.h"
#include "consensus/scenario/script.h"

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

}  // namespace

Result<Script::Ends> Script::ends_of(const CommandLine& line) {
  GCOORD_TRY(const NodeId from, node_of(line, 0));
  GCOORD_TRY(const NodeId to, node_of(line, 1));
  if (from == to) {
    return invalid("a link has two ends");
  }
  return Ends{from, to};
}

// "partition 1 2 | 3": nobody speaks across a bar.
Status Script::partition(const CommandLine& line) {
  std::vector<std::vector<NodeId>> sides(1);
  for (std::size_t k = 0; k < line.words.size(); ++k) {
    if (line.words[k] == "|") {
      sides.emplace_back();
      continue;
    }
    GCOORD_TRY(const NodeId node, node_of(line, k));
    sides.back().push_back(node);
  }
  cluster_->network().partition(sides);
  return {};
}

Status Script::isolate(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  for (std::uint32_t other = 1; other <= cluster_->node_count(); ++other) {
    if (NodeId{other} != node) {
      cluster_->network().cut_both(node, NodeId{other});
    }
  }
  return {};
}

// "cut 1 2": what 1 sends to 2 is lost; 2 is still heard by 1.
Status Script::cut(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  cluster_->network().link(way.from, way.to).cut = true;
  return {};
}

// "heal": every link; "heal 1 2": this direction.
Status Script::heal(const CommandLine& line) {
  if (!line.words.empty()) {
    GCOORD_TRY(const Ends way, ends_of(line));
    cluster_->network().link(way.from, way.to).cut = false;
    return {};
  }
  cluster_->network().heal_all();
  return {};
}

Status Script::mute(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  cluster_->network().link(way.from, way.to).muted = true;
  return {};
}

Status Script::unmute(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  cluster_->network().link(way.from, way.to).muted = false;
  return {};
}

// "hold 1 2 Append AppendReply": these kinds wait for `deliver`, `drop` or `release`.
Status Script::hold(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  cluster_->network().link(way.from, way.to).held_kinds |= kinds;
  return {};
}

Status Script::release(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  cluster_->network().link(way.from, way.to).held_kinds = 0;
  cluster_->network().deliver(way.from, way.to, kAllKinds, ~std::uint32_t{0});
  return {};
}

Status Script::deliver(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  GCOORD_TRY(const std::uint32_t count, count_of(line));
  cluster_->network().deliver(way.from, way.to, kinds, count);
  return {};
}

Status Script::drop(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  GCOORD_TRY(const std::uint32_t count, count_of(line));
  cluster_->network().drop(way.from, way.to, kinds, count);
  return {};
}

Status Script::duplicate(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  GCOORD_TRY(const KindMask kinds, kinds_of(line, 2));
  cluster_->network().duplicate(way.from, way.to, kinds);
  return {};
}

Status Script::reverse(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  cluster_->network().reverse(way.from, way.to);
  return {};
}

// "credit 1 2 0": node 1's channel to node 2 takes no message until more credit is given.
Status Script::credit(const CommandLine& line) {
  GCOORD_TRY(const Ends way, ends_of(line));
  GCOORD_TRY(const std::string text, line.word(2));
  std::uint64_t count = kCreditUnlimited;
  if (text != "unlimited") {
    GCOORD_TRY(count, line.number(2));
  }
  cluster_->node(way.from).set_credit(way.to, static_cast<std::uint32_t>(count));
  return {};
}

// "inject 1 2 Append term=99 index=3": a message that no replica sent.
Status Script::inject(const CommandLine& line) {
  Message message;
  GCOORD_TRY(const Ends way, ends_of(line));
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
  cluster_->inject(message);
  return {};
}

}  // namespace gcoord::consensus::scenario
