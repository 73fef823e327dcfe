#include "membership/view/command.h"

#include "common/bytes.h"

#include <algorithm>

namespace gcoord::membership {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMemberBytesMin = 16;
constexpr std::uint32_t kFoundersMax = 8;

bool rise(const std::vector<Member>& nodes) {
  const auto fall = [](const Member& a, const Member& b) { return a.id >= b.id; };
  return std::ranges::adjacent_find(nodes, fall) == nodes.end();
}

bool read_nodes(ByteReader& reader, std::vector<Member>& nodes) {
  const std::uint32_t count = reader.count(kMemberBytesMin, kFoundersMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    auto member = protocol::read_member(reader);
    if (!member) {
      return false;
    }
    nodes.push_back(*std::move(member));
  }
  return reader.ok() && !nodes.empty() && rise(nodes);
}

bool read_body(ByteReader& reader, ViewCommand& command) {
  switch (command.kind) {
    case ViewCommandKind::Found:
      command.settings = protocol::read_settings(reader);
      return read_nodes(reader, command.nodes);
    case ViewCommandKind::Retune:
      command.settings = protocol::read_settings(reader);
      return reader.ok();
    case ViewCommandKind::Describe:
      return read_nodes(reader, command.nodes) && command.nodes.size() == 1;
    case ViewCommandKind::Update: {
      auto change = protocol::read_change(reader);
      if (!change || change->expected != command.expected) {
        return false;
      }
      command.change = *std::move(change);
      return true;
    }
    default:
      break;
  }
  auto step = is_member_step(command.kind) ? read_step(reader, command.kind) : std::nullopt;
  if (!step) {
    return false;
  }
  command.step = *std::move(step);
  return true;
}

// What is too long is said later, by each node of itself.
void shorten(ViewCommand& command, bool addresses) {
  for (Member& node : command.nodes) {
    node.labels.clear();
    node.described = false;
    if (addresses) {
      node.peer_address.clear();
      node.client_address.clear();
    }
  }
}

std::string label_changes_text(const std::vector<MemberLabel>& labels) {
  std::string text;
  for (const MemberLabel& label : labels) {
    text += (text.empty() ? "" : ",") + label.key + "=" + label.value;
  }
  return text;
}

std::string ids_text(const std::vector<Member>& nodes) {
  std::string text;
  for (const Member& node : nodes) {
    text += (text.empty() ? "" : " ") + std::to_string(node.id.value);
  }
  return text;
}

}  // namespace

std::vector<std::byte> encode_view_command(const ViewCommand& command) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(kVersion);
  writer.integer(command.expected);
  if (command.kind == ViewCommandKind::Update) {
    protocol::write_change(writer, command.change);
    return bytes;
  }
  if (is_member_step(command.kind)) {
    write_step(writer, command.kind, command.step);
    return bytes;
  }
  if (command.kind == ViewCommandKind::Found || command.kind == ViewCommandKind::Retune) {
    protocol::write_settings(writer, command.settings);
  }
  if (command.kind == ViewCommandKind::Retune) {
    return bytes;
  }
  writer.integer(static_cast<std::uint32_t>(command.nodes.size()));
  for (const Member& node : command.nodes) {
    protocol::write_member(writer, node);
  }
  return bytes;
}

std::optional<ViewCommand> decode_view_command(std::span<const std::byte> bytes) {
  if (bytes.size() > kViewCommandBytesMax) {
    return std::nullopt;
  }
  ByteReader reader{bytes};
  ViewCommand command;
  command.kind = static_cast<ViewCommandKind>(reader.integer<std::uint8_t>());
  const auto version = reader.integer<std::uint8_t>();
  command.expected = reader.integer<std::uint64_t>();
  const bool whole = version == kVersion && read_body(reader, command) && reader.complete();
  return whole ? std::optional(std::move(command)) : std::nullopt;
}

ViewCommand founding_command(const ViewSettings& settings, std::vector<Member> nodes) {
  ViewCommand command{.settings = settings, .nodes = std::move(nodes)};
  for (std::size_t k = 0; k < command.nodes.size(); ++k) {
    Member& node = command.nodes[k];
    const auto before = std::span{command.nodes}.first(k);
    const bool taken = std::ranges::find(before, node.name, &Member::name) != before.end();
    if (taken || !protocol::is_member_name(node.name, node.id)) {
      node.name = protocol::default_member_name(node.id);
    }
    node.described = true;
  }
  if (encode_view_command(command).size() > kViewCommandBytesMax) {
    shorten(command, false);
  }
  if (encode_view_command(command).size() > kViewCommandBytesMax) {
    shorten(command, true);
  }
  return command;
}

std::vector<std::pair<std::string, std::string>> view_command_facts(const ViewCommand& command) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&facts](const char* name, std::string text) {
    facts.emplace_back(name, std::move(text));
  };
  switch (command.kind) {
    case ViewCommandKind::Found:
      add("kind", "view_found");
      add("nodes", ids_text(command.nodes));
      break;
    case ViewCommandKind::Describe: {
      const Member& node = command.nodes.front();
      add("kind", "view_describe");
      add("node", std::to_string(node.id.value));
      add("incarnation", std::to_string(node.incarnation.value));
      add("name", node.name);
      add("peer_address", node.peer_address);
      add("client_address", node.client_address);
      add("labels", protocol::member_labels_text(node.labels));
      break;
    }
    case ViewCommandKind::Retune:
      add("kind", "view_retune");
      add("tick_ms", std::to_string(command.settings.tick_ms));
      add("election_ms", std::to_string(command.settings.election_ms));
      add("heartbeat_ms", std::to_string(command.settings.heartbeat_ms));
      add("durability", command.settings.durability == 0 ? "durable" : "memory");
      break;
    case ViewCommandKind::Update:
      add("kind", "view_update");
      add("node", std::to_string(command.change.node.value));
      if (command.change.name) {
        add("name", *command.change.name);
      }
      add("labels", label_changes_text(command.change.labels));
      add("by", command.change.who);
      break;
    default:
      facts = step_facts(command.kind, command.step);
      break;
  }
  add("view", std::to_string(command.expected));
  return facts;
}

}  // namespace gcoord::membership
