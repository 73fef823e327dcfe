#include "cli/group/views.h"

#include "common/text/printable.h"

#include <cstddef>
#include <vector>

namespace gcoord::cli {

Json view_json(std::string_view name, const client::GroupView& view) {
  Json members = Json::array();
  for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
    const client::GroupMember& member = view.members[rank];
    members.push_back({{"rank", rank},
                       {"id", member.id},
                       {"session", std::to_string(member.session_id)},
                       {"payload", member.payload}});
  }
  return {{"name", std::string{name}},
          {"epoch", std::to_string(view.epoch)},
          {"members", members},
          {"gap", view.gap},
          {"barrier_size", view.barrier_size},
          {"barrier_arrived", view.arrived}};
}

Table view_table(std::string_view name, const client::GroupView& view) {
  Table table{{"RANK", "ID", "SESSION", "PAYLOAD"}, {}, {}, {}};
  for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
    const client::GroupMember& member = view.members[rank];
    table.rows.push_back(
        {std::to_string(rank), member.id, std::to_string(member.session_id), member.payload});
  }
  table.caption = "group " + std::string{name} + ", epoch " + std::to_string(view.epoch);
  if (view.barrier_size != 0) {
    table.notes.push_back(std::to_string(view.arrived) + " of " +
                          std::to_string(view.barrier_size) + " have arrived at its barrier");
  }
  return table;
}

std::string view_line(const client::GroupView& view) {
  std::string line =
      "epoch=" + std::to_string(view.epoch) + " members=" + std::to_string(view.members.size());
  for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
    line += " " + std::to_string(rank) + ":" + shown(view.members[rank].id);
  }
  return line + (view.gap ? " gap" : "");
}

}  // namespace gcoord::cli
