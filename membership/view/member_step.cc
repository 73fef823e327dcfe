#include "membership/view/member_step.h"

#include "protocol/members/view_messages.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace gcoord::membership {

namespace {

// Bits of a step.
constexpr std::uint8_t kAutoPromotes = 1;
constexpr std::uint8_t kSuspects = 2;
constexpr std::size_t kMarkBytes = 4 + 1;

std::string_view step_name(ViewCommandKind kind) {
  switch (kind) {
    case ViewCommandKind::Add:
      return "view_add";
    case ViewCommandKind::Admit:
      return "view_admit";
    case ViewCommandKind::Promote:
      return "view_promote";
    case ViewCommandKind::Leave:
      return "view_leave";
    case ViewCommandKind::Gone:
      return "view_gone";
    case ViewCommandKind::Drain:
      return "view_drain";
    case ViewCommandKind::Undrain:
      return "view_undrain";
    case ViewCommandKind::Suspect:
      return "view_suspect";
    case ViewCommandKind::Reweigh:
      return "view_reweigh";
    case ViewCommandKind::Marks:
      return "view_marks";
    case ViewCommandKind::Renew:
      return "view_renew";
    default:
      return "view";
  }
}

void write_added(ByteWriter& writer, const MemberStep& step) {
  writer.integer(static_cast<std::uint8_t>(step.role));
  writer.integer(static_cast<std::uint8_t>(step.auto_promote ? kAutoPromotes : 0));
  writer.integer(step.weight);
  writer.integer(step.replaces.value);
  writer.array(step.invitation.token_hash);
  writer.integer(step.invitation.deadline_ms);
  writer.text(step.name);
  protocol::write_labels(writer, step.labels);
}

bool read_labels_of(ByteReader& reader, MemberStep& step) {
  auto labels = protocol::read_labels(reader, protocol::kMemberLabelsMax);
  if (!labels) {
    return false;
  }
  step.labels = *std::move(labels);
  return true;
}

bool read_added(ByteReader& reader, MemberStep& step) {
  step.role = static_cast<MemberRole>(reader.integer<std::uint8_t>());
  const auto flags = reader.integer<std::uint8_t>();
  step.auto_promote = flags == kAutoPromotes;
  step.weight = reader.integer<std::uint32_t>();
  step.replaces = NodeId{reader.integer<std::uint32_t>()};
  reader.array(step.invitation.token_hash);
  step.invitation.deadline_ms = reader.integer<std::uint64_t>();
  step.name = reader.text(protocol::kMemberNameBytesMax);
  const bool known = step.role >= MemberRole::Voter && step.role <= MemberRole::Witness;
  return flags <= kAutoPromotes && known && read_labels_of(reader, step);
}

void write_renewed(ByteWriter& writer, const MemberStep& step) {
  writer.array(step.invitation.token_hash);
  writer.integer(step.invitation.deadline_ms);
  writer.text(step.name);
  protocol::write_labels(writer, step.labels);
}

bool read_renewed(ByteReader& reader, MemberStep& step) {
  reader.array(step.invitation.token_hash);
  step.invitation.deadline_ms = reader.integer<std::uint64_t>();
  step.name = reader.text(protocol::kMemberNameBytesMax);
  return read_labels_of(reader, step);
}

void write_admitted(ByteWriter& writer, const MemberStep& step) {
  writer.array(step.proof);
  writer.integer(step.directory);
  writer.integer(step.time_ms);
  writer.text(step.name);
  writer.text(step.peer_address);
  writer.text(step.client_address);
  protocol::write_labels(writer, step.labels);
}

bool read_admitted(ByteReader& reader, MemberStep& step) {
  reader.array(step.proof);
  step.directory = reader.integer<std::uint64_t>();
  step.time_ms = reader.integer<std::uint64_t>();
  step.name = reader.text(protocol::kMemberNameBytesMax);
  step.peer_address = reader.text(protocol::kMemberAddressBytesMax);
  step.client_address = reader.text(protocol::kMemberAddressBytesMax);
  return read_labels_of(reader, step) && step.directory != 0;
}

void write_marks(ByteWriter& writer, const MemberStep& step) {
  writer.integer(static_cast<std::uint32_t>(step.marks.size()));
  for (const SuspectMark& mark : step.marks) {
    writer.integer(mark.node.value);
    writer.integer(static_cast<std::uint8_t>(mark.suspect ? kSuspects : 0));
  }
  writer.integer(step.time_ms);
}

bool read_marks(ByteReader& reader, MemberStep& step) {
  const std::uint32_t count = reader.count(kMarkBytes, protocol::kViewNodesMax);
  bool sound = count > 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    const NodeId node{reader.integer<std::uint32_t>()};
    const auto flags = reader.integer<std::uint8_t>();
    const NodeId before = step.marks.empty() ? NodeId{} : step.marks.back().node;
    sound = sound && node > before && (flags == 0 || flags == kSuspects);
    step.marks.push_back({node, flags == kSuspects});
  }
  step.time_ms = reader.integer<std::uint64_t>();
  return sound;
}

// "2 5": those that are held for failed, or those that no longer are.
std::string marked_text(const std::vector<SuspectMark>& marks, bool suspect) {
  std::string text;
  for (const SuspectMark& mark : marks) {
    if (mark.suspect == suspect) {
      text += (text.empty() ? "" : " ") + std::to_string(mark.node.value);
    }
  }
  return text;
}

}  // namespace

void write_step(ByteWriter& writer, ViewCommandKind kind, const MemberStep& step) {
  if (kind == ViewCommandKind::Add) {
    write_added(writer, step);
  } else if (kind == ViewCommandKind::Marks) {
    write_marks(writer, step);
  } else {
    writer.integer(step.node.value);
  }
  if (kind == ViewCommandKind::Admit) {
    write_admitted(writer, step);
  } else if (kind == ViewCommandKind::Renew) {
    write_renewed(writer, step);
  } else if (kind == ViewCommandKind::Promote) {
    writer.integer(step.replaces.value);
  } else if (kind == ViewCommandKind::Suspect) {
    writer.integer(static_cast<std::uint8_t>(step.suspect ? kSuspects : 0));
    writer.integer(step.time_ms);
  } else if (kind == ViewCommandKind::Reweigh) {
    writer.integer(step.weight);
  }
  writer.integer(step.number);
  writer.text(step.who);
}

std::optional<MemberStep> read_step(ByteReader& reader, ViewCommandKind kind) {
  MemberStep step;
  bool sound = true;
  if (kind == ViewCommandKind::Add) {
    sound = read_added(reader, step);
  } else if (kind == ViewCommandKind::Marks) {
    sound = read_marks(reader, step);
  } else {
    step.node = NodeId{reader.integer<std::uint32_t>()};
    sound = step.node.value != 0;
  }
  if (kind == ViewCommandKind::Admit) {
    sound = sound && read_admitted(reader, step);
  } else if (kind == ViewCommandKind::Renew) {
    sound = sound && read_renewed(reader, step);
  } else if (kind == ViewCommandKind::Promote) {
    step.replaces = NodeId{reader.integer<std::uint32_t>()};
  } else if (kind == ViewCommandKind::Suspect) {
    const auto flags = reader.integer<std::uint8_t>();
    step.suspect = flags == kSuspects;
    step.time_ms = reader.integer<std::uint64_t>();
    sound = sound && (flags == 0 || flags == kSuspects);
  } else if (kind == ViewCommandKind::Reweigh) {
    step.weight = reader.integer<std::uint32_t>();
  }
  step.number = reader.integer<std::uint64_t>();
  step.who = reader.text(protocol::kMemberWhoBytesMax);
  return sound && reader.ok() ? std::optional(std::move(step)) : std::nullopt;
}

std::vector<std::pair<std::string, std::string>> step_facts(ViewCommandKind kind,
                                                            const MemberStep& step) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&facts](const char* name, std::string text) {
    facts.emplace_back(name, std::move(text));
  };
  add("kind", std::string{step_name(kind)});
  if (kind == ViewCommandKind::Marks) {
    add("suspects", marked_text(step.marks, true));
    add("cleared", marked_text(step.marks, false));
  } else if (kind != ViewCommandKind::Add) {
    add("node", std::to_string(step.node.value));
  } else {
    add("role", std::string{protocol::member_role_name(step.role)});
    add("deadline_ms", std::to_string(step.invitation.deadline_ms));
  }
  if (step.replaces.value != 0) {
    add("replaces", std::to_string(step.replaces.value));
  }
  if (kind == ViewCommandKind::Add || kind == ViewCommandKind::Reweigh) {
    add("weight", std::to_string(step.weight));
  }
  if (kind == ViewCommandKind::Renew) {
    add("deadline_ms", std::to_string(step.invitation.deadline_ms));
  }
  if (kind == ViewCommandKind::Suspect) {
    add("suspect", step.suspect ? "1" : "0");
  }
  if (kind == ViewCommandKind::Admit) {
    add("peer_address", step.peer_address);
    add("client_address", step.client_address);
  }
  if (!step.name.empty()) {
    add("name", step.name);
  }
  if (!step.labels.empty()) {
    add("labels", protocol::member_labels_text(step.labels));
  }
  if (!step.who.empty()) {
    add("by", step.who);
  }
  return facts;
}

}  // namespace gcoord::membership
