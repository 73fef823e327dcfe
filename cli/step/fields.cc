#include "cli/step/fields.h"

#include "consensus/scenario/names.h"
#include "protocol/error_codes.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

namespace gcoord::cli {
namespace {

using consensus::scenario::KindMask;
using consensus::scenario::Members;
using consensus::scenario::Voter;

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument,
          std::move(message),
          static_cast<std::uint32_t>(protocol::ErrorCode::OptionInvalid)};
}

Status missing(const std::string& name) {
  return {StatusCode::InvalidArgument,
          fmt::format("\"{}\" is missing", name),
          static_cast<std::uint32_t>(protocol::ErrorCode::OptionMissing)};
}

Result<std::uint64_t> parse_number(const Json& value, const std::string& name) {
  if (const std::optional<std::uint64_t> number = unsigned_of(value)) {
    return *number;
  }
  if (value.is_string()) {
    const std::string& text = value.text();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) {
      return number;
    }
  }
  return invalid(fmt::format("\"{}\" is not a number from 0 to 2^64-1", name));
}

Result<NodeId> parse_node(const Json& value, const std::string& name, std::uint32_t node_count) {
  GCOORD_TRY(const std::uint64_t number, parse_number(value, name));
  if (number < 1 || number > node_count) {
    return invalid(fmt::format("\"{}\": there is no node {}", name, number));
  }
  return NodeId{static_cast<std::uint32_t>(number)};
}

constexpr std::uint32_t kAnyNode = std::numeric_limits<std::uint32_t>::max();

// 2, or {"node": 2, "weight": 3}.
Result<Voter> parse_voter(const Json& value) {
  if (!value.is_object()) {
    GCOORD_TRY(const NodeId node, parse_node(value, "voters", kAnyNode));
    return Voter{node, 1};
  }
  const StepFields fields(value);
  GCOORD_TRY(const NodeId node, fields.node("node", kAnyNode));
  GCOORD_TRY(const std::uint64_t weight, fields.number_or("weight", 1));
  if (weight < 1 || weight > std::numeric_limits<std::uint8_t>::max()) {
    return invalid("\"weight\" is from 1 to 255");
  }
  return Voter{node, static_cast<std::uint8_t>(weight)};
}

// The array of this name; an empty one if it is absent.
Result<Json> array(const Json& object, const std::string& name) {
  if (!object.contains(name)) {
    return Json::array();
  }
  if (!object[name].is_array()) {
    return invalid(fmt::format("\"{}\" is not an array", name));
  }
  return object[name];
}

}  // namespace

Result<std::uint64_t> StepFields::number(const std::string& name) const {
  if (!has(name)) {
    return missing(name);
  }
  return parse_number(object_[name], name);
}

Result<std::uint64_t> StepFields::number_or(const std::string& name,
                                            std::uint64_t otherwise) const {
  return has(name) ? number(name) : Result<std::uint64_t>(otherwise);
}

Result<std::uint32_t> StepFields::number32_or(const std::string& name,
                                              std::uint32_t otherwise) const {
  GCOORD_TRY(const std::uint64_t value, number_or(name, otherwise));
  if (value > std::numeric_limits<std::uint32_t>::max()) {
    return invalid(fmt::format("\"{}\" is too large", name));
  }
  return static_cast<std::uint32_t>(value);
}

Result<std::string> StepFields::text_or(const std::string& name,
                                        const std::string& otherwise) const {
  if (!has(name)) {
    return otherwise;
  }
  if (!object_[name].is_string()) {
    return invalid(fmt::format("\"{}\" is not a string", name));
  }
  return object_[name].text();
}

Result<bool> StepFields::flag_or(const std::string& name, bool otherwise) const {
  if (!has(name)) {
    return otherwise;
  }
  if (!object_[name].is_boolean()) {
    return invalid(fmt::format("\"{}\" is neither true nor false", name));
  }
  return object_[name].truth();
}

Result<NodeId> StepFields::node(const std::string& name, std::uint32_t node_count) const {
  if (!has(name)) {
    return missing(name);
  }
  return parse_node(object_[name], name, node_count);
}

Result<ShardId> StepFields::shard(std::uint32_t shard_count) const {
  GCOORD_TRY(const std::uint64_t number, number_or("shard", 0));
  if (number >= shard_count) {
    return invalid(fmt::format("\"shard\": there is no shard {}", number));
  }
  return ShardId{static_cast<std::uint32_t>(number)};
}

Result<Members> StepFields::members() const {
  Members members;
  GCOORD_TRY(const Json voters, array(object_, "voters"));
  for (const Json& value : voters) {
    GCOORD_TRY(const Voter voter, parse_voter(value));
    members.voters.push_back(voter);
  }
  GCOORD_TRY(const Json learners, array(object_, "learners"));
  for (const Json& value : learners) {
    GCOORD_TRY(const NodeId learner, parse_node(value, "learners", kAnyNode));
    members.learners.push_back(learner);
  }
  return members;
}

Result<KindMask> StepFields::kinds() const {
  GCOORD_TRY(const Json names, array(object_, "kinds"));
  KindMask kinds = 0;
  for (const Json& name : names) {
    const auto kind =
        name.is_string() ? consensus::scenario::message_kind_named(name.text()) : std::nullopt;
    if (!kind.has_value()) {
      return invalid("\"kinds\" holds something that is no kind of message");
    }
    kinds |= consensus::scenario::kind_bit(*kind);
  }
  return kinds == 0 ? consensus::scenario::kAllKinds : kinds;
}

Result<std::vector<std::string>> StepFields::commands() const {
  GCOORD_TRY(const Json values, array(object_, "commands"));
  std::vector<std::string> commands;
  for (const Json& value : values) {
    if (!value.is_string()) {
      return invalid("\"commands\" holds something that is no string");
    }
    commands.push_back(value.text());
  }
  if (commands.empty()) {
    return missing("commands");
  }
  return commands;
}

Result<std::vector<std::vector<NodeId>>> StepFields::sides(std::uint32_t node_count) const {
  GCOORD_TRY(const Json values, array(object_, "sides"));
  std::vector<std::vector<NodeId>> sides;
  for (const Json& side : values) {
    if (!side.is_array()) {
      return invalid("\"sides\" is an array of arrays of nodes");
    }
    sides.emplace_back();
    for (const Json& value : side) {
      GCOORD_TRY(const NodeId node, parse_node(value, "sides", node_count));
      sides.back().push_back(node);
    }
  }
  return sides;
}

Result<consensus::Message> StepFields::message() const {
  consensus::Message message;
  GCOORD_TRY(const std::string name, text_or("kind", ""));
  const auto kind = consensus::scenario::message_kind_named(name);
  GCOORD_TRY(const std::uint64_t code, number_or("kind_number", 0));
  GCOORD_TRY(const std::uint64_t flags, number_or("flags", 0));
  GCOORD_TRY(const std::uint64_t count, number_or("count", 0));
  const std::uint64_t byte_max = std::numeric_limits<std::uint8_t>::max();
  if (code > byte_max || flags > byte_max || count > std::numeric_limits<std::uint16_t>::max()) {
    return invalid("\"kind_number\" and \"flags\" have 8 bits, \"count\" has 16");
  }
  message.kind = kind.value_or(static_cast<consensus::MessageKind>(code));
  message.flags = static_cast<std::uint8_t>(flags);
  message.count = static_cast<std::uint16_t>(count);
  GCOORD_TRY(message.term.value, number_or("term", 0));
  GCOORD_TRY(message.index.value, number_or("index", 0));
  GCOORD_TRY(message.log_term.value, number_or("log_term", 0));
  GCOORD_TRY(message.commit.value, number_or("commit", 0));
  GCOORD_TRY(message.entry_term, number_or("entry_term", 0));
  GCOORD_TRY(message.context, number_or("context", 0));
  return message;
}

}  // namespace gcoord::cli
