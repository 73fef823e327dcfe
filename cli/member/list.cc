#include "cli/member/list.h"

#include "cli/member/description.h"
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

namespace {

using std::chrono::milliseconds;

// Nodes answer in a few milliseconds; one that is stopped, or beside which the network drops all,
// must not keep the others from being shown. A --timeout that was given is kept to instead.
constexpr milliseconds kAnswerTime{1000};
constexpr milliseconds kConnectTime{500};

// Of all nodes at once.
class ViewAnswers {
 public:
  ViewAnswers(client::Client& client, milliseconds time) : time_(time) {
    static_cast<void>(client.wait_for_all_nodes(std::min(time, kConnectTime)).ok());
    until_ = std::chrono::steady_clock::now() + time;
    for (const client::NodeView& node : client.cluster().nodes) {
      if (node.node_id != 0) {
        answers_.emplace_back(
            node.node_id,
            client.view_async({.node_id = node.node_id, .after = std::nullopt, .wait = {}}));
      }
    }
  }

  void add_to(MemberRows& rows) {
    for (auto& [node, answer] : answers_) {
      const auto left = until_ - std::chrono::steady_clock::now();
      const bool came =
          answer.wait_for(std::max(left, std::chrono::steady_clock::duration::zero()));
      rows.add(node, came ? answer.get() : client::Result<client::MembershipView>{silent()});
    }
  }

 private:
  client::Status silent() const {
    return {client::StatusCode::DeadlineExceeded,
            "no answer within " + std::to_string(time_.count()) + " ms; --timeout waits longer",
            static_cast<std::uint32_t>(protocol::ErrorCode::DeadlineExceeded)};
  }

  milliseconds time_;
  std::chrono::steady_clock::time_point until_;
  std::vector<std::pair<std::uint32_t, client::Future<client::Result<client::MembershipView>>>>
      answers_;
};

}  // namespace

int list_members(Context& context) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  MemberRows rows;
  const milliseconds time = context.timeout();
  ViewAnswers(*client, context.timeout_given() ? time : std::min(time, kAnswerTime)).add_to(rows);
  if (is_moving(rows.view())) {
    if (const auto progress = client->member_progress(); progress.ok()) {
      rows.set_progress(progress.value());
    }
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
