#include "cli/member/list.h"

#include "cli/member/description.h"
#include "cli/terminal/command.h"
#include "cli/terminal/named_nodes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>

namespace gcoord::cli {

namespace {

// "0.3": as tables of nodes show it.
std::string phi_text(const std::optional<std::uint32_t>& phi_milli) {
  if (!phi_milli) {
    return "-";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", *phi_milli / 1000.0);
  return text.data();
}

Json sighting_json(std::uint32_t by, const client::MemberSighting& seen) {
  return {{"node", by},
          {"alive", seen.alive},
          {"phi_milli", seen.phi_milli ? Json(*seen.phi_milli) : Json(nullptr)},
          {"heard_ms",
           seen.heard ? Json(static_cast<std::uint64_t>(seen.heard->count())) : Json(nullptr)},
          {"suspicion", seen.suspicion ? suspicion_json(*seen.suspicion) : Json(nullptr)}};
}

}  // namespace

void MemberRows::add(std::uint32_t node, const client::Result<client::MembershipView>& answer) {
  if (!answer.ok()) {
    failure_ = failure_.ok() ? answer.status() : failure_;
    unreachable_.emplace_back(node, answer.status());
    return;
  }
  if (answer.value().epoch > view_.epoch) {
    view_ = answer.value();
  }
  for (const client::MemberSighting& sighting : answer.value().sightings) {
    seen_.push_back({node, sighting});
  }
}

client::Status MemberRows::failure() const {
  return view_.epoch == 0 ? failure_ : client::Status{};
}

// By others; of a node that nobody else sees, by itself.
std::vector<Seen> MemberRows::seen_of(std::uint32_t node) const {
  std::vector<Seen> others;
  std::vector<Seen> own;
  for (const Seen& each : seen_) {
    if (each.sighting.node_id == node) {
      (each.by == node ? own : others).push_back(each);
    }
  }
  return others.empty() ? own : others;
}

// Of the view that the node has: as it says itself or, where it did not answer, as others heard.
std::uint64_t MemberRows::epoch_of(std::uint32_t node) const {
  std::uint64_t heard = 0;
  for (const Seen& each : seen_) {
    if (each.sighting.node_id == node && each.by == node) {
      return each.sighting.epoch;
    }
    heard = each.sighting.node_id == node ? std::max(heard, each.sighting.epoch) : heard;
  }
  return heard;
}

Json MemberRows::json() const {
  Json members = Json::array();
  for (const client::MemberDescription& member : view_.members) {
    const std::vector<Seen> seen = seen_of(member.node_id);
    Json by = Json::array();
    Json suspecting = Json::array();
    for (const Seen& each : seen) {
      by.push_back(sighting_json(each.by, each.sighting));
      if (suspects(each)) {
        suspecting.push_back(each.by);
      }
    }
    const auto heard = last_heard(seen);
    Json row = member_json(member);
    row["alive"] = !seen.empty() &&
                   std::ranges::all_of(seen, [](const Seen& each) { return each.sighting.alive; });
    row["has_view"] = std::to_string(epoch_of(member.node_id));
    row["heard_ms"] = heard ? Json(static_cast<std::uint64_t>(heard->count())) : Json(nullptr);
    row["suspected_by"] = suspecting;
    row["seen_by"] = by;
    members.push_back(row);
  }
  Json unreachable = Json::array();
  for (const auto& [node, status] : unreachable_) {
    unreachable.push_back({{"node", node}, {"error", status.to_string()}});
  }
  return {{"view", std::to_string(view_.epoch)},
          {"members", members},
          {"moves", progress_ ? progress_json(*progress_) : Json(nullptr)},
          {"unreachable", unreachable}};
}

Table MemberRows::table(std::uint64_t now_ms) const {
  Table table{{"NODE",
               "NAME",
               "ROLE",
               "WEIGHT",
               "STATE",
               "PEER",
               "CLIENT",
               "VIEW",
               "SEEN",
               "PHI",
               "HEARD",
               "LABELS"},
              {},
              "view " + std::to_string(view_.epoch),
              {}};
  for (const client::MemberDescription& member : view_.members) {
    const std::vector<Seen> seen = seen_of(member.node_id);
    std::optional<std::uint32_t> phi;
    std::optional<std::chrono::milliseconds> heard;
    for (const Seen& each : seen) {
      phi = std::max(phi, each.sighting.phi_milli);
      heard = std::max(heard, each.sighting.heard);
    }
    const bool absent = member.state == client::MemberState::Removed || member.invited;
    table.rows.push_back({std::to_string(member.node_id),
                          member.name,
                          role_text(member.role),
                          std::to_string(member.weight),
                          (member.invited ? "invited" : state_text(member.state)) +
                              (member.suspect ? " suspect" : ""),
                          member.peer_address,
                          member.client_address,
                          std::to_string(epoch_of(member.node_id)),
                          absent ? "-" : seen_text(seen),
                          phi_text(phi),
                          heard ? std::to_string(heard->count()) + "ms" : "-",
                          labels_text(member)});
    if (const std::string note = absent ? "" : suspicion_note(member, seen, now_ms);
        !note.empty()) {
      table.notes.push_back(note);
    }
  }
  if (progress_) {
    table.notes.push_back(
        "moving: " + std::to_string(std::min(progress_->settled, progress_->shards)) + " of " +
        std::to_string(progress_->shards) + " shards have the nodes of view " +
        std::to_string(progress_->epoch) + ", " + std::to_string(progress_->ready) +
        " are on all that join");
  }
  for (const auto& [node, status] : unreachable_) {
    table.notes.push_back("node " + std::to_string(node) + ": " + status.to_string());
  }
  return table;
}

int list_members(Context& context) {
  MemberRows rows;
  bool asked = false;
  const auto refused = ask_nodes(context, 0, [&](client::Client& client, std::uint32_t node) {
    rows.add(node, client.view({.node_id = node, .after = std::nullopt, .wait = {}}));
    if (!asked && is_moving(rows.view())) {
      asked = true;
      if (const auto progress = client.member_progress(); progress.ok()) {
        rows.set_progress(progress.value());
      }
    }
  });
  if (refused) {
    return *refused;
  }
  if (const client::Status failure = rows.failure(); !failure.ok()) {
    return context.output().fail(failure);
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  context.output().print(rows.json(), rows.table(static_cast<std::uint64_t>(now_ms)));
  return 0;
}

}  // namespace gcoord::cli
