#include "cli/member/named.h"

#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gcoord::cli {

namespace {

std::optional<std::uint32_t> id_of(const std::string& text) {
  std::uint32_t id = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole && id != 0 ? std::optional(id) : std::nullopt;
}

}  // namespace

std::optional<client::MemberDescription> find_named(const client::MembershipView& view,
                                                    const std::string& text) {
  const auto id = id_of(text);
  const auto found =
      std::ranges::find_if(view.members, [&](const client::MemberDescription& member) {
        const bool there = member.state != client::MemberState::Removed;
        return id ? member.node_id == *id : there && member.name == text;
      });
  return found == view.members.end() ? std::nullopt : std::optional(*found);
}

std::optional<client::MemberDescription> find_left(const client::MembershipView& view,
                                                   const std::string& name) {
  const auto newest = std::find_if(
      view.members.rbegin(), view.members.rend(), [&](const client::MemberDescription& member) {
        return member.state == client::MemberState::Removed && member.name == name;
      });
  return newest == view.members.rend() ? std::nullopt : std::optional(*newest);
}

std::optional<NamedNode> reach_named(Context& context, const std::string& text) {
  auto client = context.connect();
  if (!client.has_value()) {
    return std::nullopt;
  }
  if (const auto id = id_of(text)) {
    return NamedNode{*std::move(client), *id};
  }
  const auto view = client->view();
  if (!view.ok()) {
    context.refuse(*client, view.status());
    return std::nullopt;
  }
  auto member = find_named(view.value(), text);
  member = member ? member : find_left(view.value(), text);
  if (!member) {
    context.refuse(protocol::make_error(protocol::ErrorCode::MemberUnknown, text));
    return std::nullopt;
  }
  return NamedNode{*std::move(client), member->node_id};
}

}  // namespace gcoord::cli
