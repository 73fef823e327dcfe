#include "protocol/members/cluster_view.h"

#include "common/text/printable.h"

#include <algorithm>

namespace gcoord::protocol {

namespace {

// A view that it can say is written in it, so that clients of earlier releases read it.
constexpr std::uint8_t kPlainVersion = 1;
constexpr std::uint8_t kViewVersion = 2;
constexpr std::size_t kLabelBytesMin = 4;
constexpr std::size_t kMemberBytesMin = 4 + 4 + 1 + 1 + 4 + 1 + 2 + 2 + 2 + 4;
// Bits of what version 2 says more of a node.
constexpr std::uint8_t kInvited = 1;
constexpr std::uint8_t kAutoPromote = 2;
constexpr std::uint8_t kSuspect = 4;

bool is_word_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '.' ||
         byte == '_' || byte == '-';
}

bool is_name_byte(char byte) {
  return is_word_byte(byte) || (byte >= 'A' && byte <= 'Z');
}

bool are_digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char byte) { return byte >= '0' && byte <= '9'; });
}

bool is_known(MemberRole role) {
  return role >= MemberRole::Voter && role <= MemberRole::Witness;
}

bool is_known(MemberState state) {
  return state >= MemberState::Joining && state <= MemberState::Leaving;
}

bool is_sound(const Member& member) {
  const bool possible = member.id.value != 0 && member.id.value <= kMemberIdMax;
  return possible && is_known(member.role) && is_known(member.state) &&
         is_member_name(member.name, member.id) && is_member_address(member.peer_address) &&
         is_member_address(member.client_address) && are_member_labels(member.labels);
}

// What only a view of version 2 says of a node.
bool is_plain(const Member& member) {
  return member.state != MemberState::Leaving && !member.invitation && member.directory == 0 &&
         !member.auto_promote && member.replaces.value == 0 && !member.suspect &&
         member.suspect_since_ms == 0;
}

bool is_plain(const ClusterView& view) {
  return std::ranges::all_of(view.nodes, [](const Member& node) { return is_plain(node); });
}

// Whether the new fields stand only where they mean something.
bool are_extras_sound(const Member& member) {
  const bool joining = member.state == MemberState::Joining;
  const bool waits = member.invitation || member.auto_promote || member.replaces.value != 0;
  const bool gone = member.state == MemberState::Removed;
  return (!waits || joining) && member.replaces != member.id && !(gone && member.suspect) &&
         (member.suspect || member.suspect_since_ms == 0) &&
         !(member.invitation && member.directory != 0);
}

void write_extras(ByteWriter& writer, const Member& member) {
  const unsigned flags = (member.invitation ? kInvited : 0u) |
                         (member.auto_promote ? kAutoPromote : 0u) |
                         (member.suspect ? kSuspect : 0u);
  writer.integer(static_cast<std::uint8_t>(flags));
  if (member.invitation) {
    writer.array(member.invitation->token_hash);
    writer.integer(member.invitation->deadline_ms);
  }
  writer.integer(member.directory);
  writer.integer(member.replaces.value);
  writer.integer(member.suspect_since_ms);
}

bool read_extras(ByteReader& reader, Member& member) {
  const auto flags = reader.integer<std::uint8_t>();
  if ((flags & kInvited) != 0) {
    member.invitation.emplace();
    reader.array(member.invitation->token_hash);
    member.invitation->deadline_ms = reader.integer<std::uint64_t>();
  }
  member.auto_promote = (flags & kAutoPromote) != 0;
  member.suspect = (flags & kSuspect) != 0;
  member.directory = reader.integer<std::uint64_t>();
  member.replaces = NodeId{reader.integer<std::uint32_t>()};
  member.suspect_since_ms = reader.integer<std::uint64_t>();
  const bool known = (flags & ~(kInvited | kAutoPromote | kSuspect)) == 0;
  return reader.ok() && known && are_extras_sound(member);
}

bool are_sound(const std::vector<Member>& nodes) {
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!is_sound(nodes[k]) || (k > 0 && nodes[k].id <= nodes[k - 1].id)) {
      return false;
    }
    for (std::size_t j = 0; j < k; ++j) {
      const bool living =
          nodes[j].state != MemberState::Removed && nodes[k].state != MemberState::Removed;
      if (living && nodes[j].name == nodes[k].name) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

const Member* find_member(const ClusterView& view, NodeId id) {
  const auto found = std::ranges::find(view.nodes, id, &Member::id);
  return found == view.nodes.end() ? nullptr : &*found;
}

std::string default_member_name(NodeId id) {
  return "node-" + std::to_string(id.value);
}

bool is_member_name(std::string_view name, NodeId id) {
  constexpr std::string_view kDefault = "node-";
  if (name.empty() || name.size() > kMemberNameBytesMax ||
      !std::ranges::all_of(name, is_name_byte)) {
    return false;
  }
  const bool is_default = name.starts_with(kDefault) && are_digits(name.substr(kDefault.size()));
  return !is_default || name == default_member_name(id);
}

bool is_member_address(std::string_view address) {
  return address.size() <= kMemberAddressBytesMax && is_printable(address) &&
         address.find(' ') == std::string_view::npos;
}

bool is_member_label(const MemberLabel& label) {
  return !label.key.empty() && !label.value.empty() &&
         label.key.size() + 1 + label.value.size() <= kMemberLabelBytesMax &&
         std::ranges::all_of(label.key, is_word_byte) && is_printable(label.value) &&
         label.value.find_first_of(" ,") == std::string::npos;
}

std::optional<MemberLabel> parse_member_label(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return std::nullopt;
  }
  MemberLabel label{std::string{text.substr(0, equals)}, std::string{text.substr(equals + 1)}};
  return is_member_label(label) ? std::optional(std::move(label)) : std::nullopt;
}

bool are_member_labels(std::span<const MemberLabel> labels) {
  const auto fall = [](const MemberLabel& a, const MemberLabel& b) { return a.key >= b.key; };
  return labels.size() <= kMemberLabelsMax && std::ranges::all_of(labels, is_member_label) &&
         std::ranges::adjacent_find(labels, fall) == labels.end();
}

std::string member_labels_text(std::span<const MemberLabel> labels) {
  std::string text;
  for (const MemberLabel& label : labels) {
    text += (text.empty() ? "" : ",") + label.key + "=" + label.value;
  }
  return text;
}

std::string_view member_role_name(MemberRole role) {
  switch (role) {
    case MemberRole::Voter:
      return "voter";
    case MemberRole::Observer:
      return "observer";
    case MemberRole::Witness:
      return "witness";
  }
  return "unknown";
}

std::string_view member_state_name(MemberState state) {
  switch (state) {
    case MemberState::Joining:
      return "joining";
    case MemberState::Active:
      return "active";
    case MemberState::Draining:
      return "draining";
    case MemberState::Removed:
      return "removed";
    case MemberState::Leaving:
      return "leaving";
  }
  return "unknown";
}

void write_labels(ByteWriter& writer, std::span<const MemberLabel> labels) {
  writer.integer(static_cast<std::uint32_t>(labels.size()));
  for (const MemberLabel& label : labels) {
    writer.text(label.key);
    writer.text(label.value);
  }
}

std::optional<std::vector<MemberLabel>> read_labels(ByteReader& reader, std::uint32_t count_max) {
  const std::uint32_t count = reader.count(kLabelBytesMin, count_max);
  std::vector<MemberLabel> labels;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::string_view key = reader.text(kMemberLabelBytesMax);
    const std::string_view value = reader.text(kMemberLabelBytesMax);
    labels.push_back({std::string{key}, std::string{value}});
  }
  return reader.ok() ? std::optional(std::move(labels)) : std::nullopt;
}

void write_member(ByteWriter& writer, const Member& member) {
  writer.integer(member.id.value);
  writer.integer(member.incarnation.value);
  writer.integer(static_cast<std::uint8_t>(member.role));
  writer.integer(static_cast<std::uint8_t>(member.state));
  writer.integer(member.weight);
  writer.integer(static_cast<std::uint8_t>(member.described ? 1 : 0));
  writer.text(member.name);
  writer.text(member.peer_address);
  writer.text(member.client_address);
  write_labels(writer, member.labels);
}

std::optional<Member> read_member(ByteReader& reader) {
  Member member;
  member.id = NodeId{reader.integer<std::uint32_t>()};
  member.incarnation = Incarnation{reader.integer<std::uint32_t>()};
  member.role = static_cast<MemberRole>(reader.integer<std::uint8_t>());
  member.state = static_cast<MemberState>(reader.integer<std::uint8_t>());
  member.weight = reader.integer<std::uint32_t>();
  const auto described = reader.integer<std::uint8_t>();
  member.described = described == 1;
  member.name = reader.text(kMemberNameBytesMax);
  member.peer_address = reader.text(kMemberAddressBytesMax);
  member.client_address = reader.text(kMemberAddressBytesMax);
  auto labels = read_labels(reader, kMemberLabelsMax);
  if (!labels || described > 1) {
    return std::nullopt;
  }
  member.labels = *std::move(labels);
  return is_sound(member) ? std::optional(std::move(member)) : std::nullopt;
}

void write_settings(ByteWriter& writer, const ViewSettings& settings) {
  for (const std::uint32_t each : {settings.shards,
                                   settings.tick_ms,
                                   settings.election_ms,
                                   settings.heartbeat_ms,
                                   settings.durability,
                                   settings.turn,
                                   settings.stripes}) {
    writer.integer(each);
  }
}

ViewSettings read_settings(ByteReader& reader) {
  ViewSettings settings;
  for (std::uint32_t* const each : {&settings.shards,
                                    &settings.tick_ms,
                                    &settings.election_ms,
                                    &settings.heartbeat_ms,
                                    &settings.durability,
                                    &settings.turn,
                                    &settings.stripes}) {
    *each = reader.integer<std::uint32_t>();
  }
  return settings;
}

ClusterView plain_view(const ClusterView& view) {
  ClusterView plain = view;
  for (Member& node : plain.nodes) {
    const bool leaves = node.state == MemberState::Leaving;
    node.state = leaves ? MemberState::Draining : node.state;
    node.invitation.reset();
    node.directory = 0;
    node.auto_promote = false;
    node.replaces = {};
    node.suspect = false;
    node.suspect_since_ms = 0;
  }
  return plain;
}

std::vector<std::byte> encode_view(const ClusterView& view) {
  const bool plain = is_plain(view);
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(plain ? kPlainVersion : kViewVersion);
  writer.integer(view.epoch);
  write_settings(writer, view.settings);
  writer.integer(static_cast<std::uint32_t>(view.nodes.size()));
  for (const Member& member : view.nodes) {
    write_member(writer, member);
    if (!plain) {
      write_extras(writer, member);
    }
  }
  return bytes;
}

std::optional<ClusterView> decode_view(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  const auto version = reader.integer<std::uint8_t>();
  ClusterView view;
  view.epoch = reader.integer<std::uint64_t>();
  view.settings = read_settings(reader);
  const std::uint32_t count = reader.count(kMemberBytesMin, kViewNodesMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    auto member = read_member(reader);
    if (!member || (version == kViewVersion && !read_extras(reader, *member))) {
      return std::nullopt;
    }
    view.nodes.push_back(*std::move(member));
  }
  const bool whole = reader.complete() &&
                     version == (is_plain(view) ? kPlainVersion : kViewVersion) &&
                     (view.epoch == 0) == view.nodes.empty() && are_sound(view.nodes) &&
                     (view.epoch != 0 || view.settings == ViewSettings{});
  return whole ? std::optional(std::move(view)) : std::nullopt;
}

}  // namespace gcoord::protocol
