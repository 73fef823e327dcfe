#include "cli/terminal/quorum_input.h"

#include "protocol/error_codes.h"

#include <charconv>
#include <sstream>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

using consensus::Configuration;
using consensus::SlotMask;

using Pairs = std::vector<std::pair<std::uint32_t, std::string>>;

Status refuse(const std::string& evidence) {
  return protocol::make_error(protocol::ErrorCode::OptionInvalid, evidence);
}

template <typename Number>
bool parse_number(const std::string& text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

// "1:2,3" with separator ':' -> {1, "2"}, {3, ""}.
Result<Pairs> parse_pairs(const std::string& flag, const std::string& text, char separator) {
  Pairs pairs;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    const std::size_t at = part.find(separator);
    std::uint32_t node = 0;
    if (!parse_number(part.substr(0, at), node) || node == 0) {
      return refuse(flag + " '" + part + "' does not begin with a node id");
    }
    pairs.emplace_back(node, at == std::string::npos ? "" : part.substr(at + 1));
  }
  return pairs;
}

// The node's slot, a new one if it has none; kSlotNone when all are taken.
std::uint8_t place(Configuration& configuration, std::uint32_t node) {
  const std::uint8_t known = consensus::slot_of(configuration, NodeId{node});
  if (known != consensus::kSlotNone) {
    return known;
  }
  for (std::uint8_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    if (configuration.node[slot].value == 0) {
      configuration.node[slot] = NodeId{node};
      return slot;
    }
  }
  return consensus::kSlotNone;
}

Status add_members(const std::string& flag,
                   const std::string& text,
                   Configuration& configuration,
                   SlotMask& members) {
  GCOORD_TRY(const Pairs pairs, parse_pairs(flag, text, ':'));
  for (const auto& [node, weight_text] : pairs) {
    std::uint32_t weight = 1;
    if (!weight_text.empty() &&
        (!parse_number(weight_text, weight) || weight < 1 || weight > 255)) {
      return refuse(flag + ": the weight of node " + std::to_string(node) +
                    " is not a number from 1 to 255");
    }
    const std::uint8_t slot = place(configuration, node);
    if (slot == consensus::kSlotNone) {
      return refuse(flag + ": a shard has at most " + std::to_string(consensus::kReplicaSlots) +
                    " replicas");
    }
    if (consensus::has_slot(members, slot)) {
      return refuse(flag + " names node " + std::to_string(node) + " twice");
    }
    std::uint8_t& known = configuration.weight[slot];
    if (known != 0 && known != weight) {
      return refuse("node " + std::to_string(node) + " has two weights");
    }
    known = static_cast<std::uint8_t>(weight);
    members = static_cast<SlotMask>(members | consensus::slot_bit(slot));
  }
  return Status{};
}

Result<std::uint8_t> member(const std::string& flag,
                            const Configuration& configuration,
                            std::uint32_t node) {
  const std::uint8_t slot = consensus::slot_of(configuration, NodeId{node});
  if (slot == consensus::kSlotNone) {
    return refuse(flag + ": node " + std::to_string(node) + " is no member");
  }
  return slot;
}

Status add_votes(const std::string& text, QuorumInput& input) {
  GCOORD_TRY(const Pairs pairs, parse_pairs("--votes", text, '='));
  for (const auto& [node, vote] : pairs) {
    GCOORD_TRY(const std::uint8_t slot, member("--votes", input.configuration, node));
    const SlotMask bit = consensus::slot_bit(slot);
    if ((vote != "yes" && vote != "no") || ((input.granted | input.rejected) & bit) != 0) {
      return refuse("--votes: node " + std::to_string(node) + " needs exactly one yes or no");
    }
    SlotMask& side = vote == "yes" ? input.granted : input.rejected;
    side = static_cast<SlotMask>(side | bit);
  }
  input.has_votes = !pairs.empty();
  return Status{};
}

Status add_acknowledged(const std::string& text, QuorumInput& input) {
  GCOORD_TRY(const Pairs pairs, parse_pairs("--acknowledged", text, '='));
  for (const auto& [node, index] : pairs) {
    GCOORD_TRY(const std::uint8_t slot, member("--acknowledged", input.configuration, node));
    if (!parse_number(index, input.acknowledged[slot])) {
      return refuse("--acknowledged: node " + std::to_string(node) + " needs a log index");
    }
  }
  input.has_acknowledged = !pairs.empty();
  return Status{};
}

}  // namespace

Result<QuorumInput> parse_quorum(const QuorumText& text) {
  QuorumInput input;
  Configuration& configuration = input.configuration;
  GCOORD_TRY_STATUS(add_members("--voters", text.voters, configuration, configuration.voters));
  GCOORD_TRY_STATUS(
      add_members("--outgoing", text.outgoing, configuration, configuration.voters_outgoing));
  GCOORD_TRY_STATUS(
      add_members("--learners", text.learners, configuration, configuration.learners));
  if (!consensus::well_formed(configuration, consensus::kReplicaSlots)) {
    return refuse("the configuration needs voters, and a learner cannot be a voter too");
  }
  GCOORD_TRY_STATUS(add_votes(text.votes, input));
  GCOORD_TRY_STATUS(add_acknowledged(text.acknowledged, input));
  return input;
}

}  // namespace gcoord::cli
