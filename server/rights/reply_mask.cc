#include "server/rights/reply_mask.h"

#include "common/json/text.h"
#include "common/json/value.h"
#include "protocol/audit/messages.h"
#include "protocol/force_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/members/view_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "protocol/watch_messages.h"

#include <string>
#include <string_view>
#include <utility>

namespace gcoord::server {

namespace {

using protocol::RequestKind;
using security::Right;

using Bytes = std::vector<std::byte>;
using Payload = std::span<const std::byte>;

bool shows(const Viewer& viewer, std::string_view name) {
  return viewer.rights.allows(Right::LockRead, name);
}

bool shows_details(const Viewer& viewer, std::string_view name) {
  return viewer.rights.allows(Right::LockReadDetails, name);
}

void hide(SessionId& session) {
  session = session.value == 0 ? session : protocol::kHiddenSession;
}

void mask_row(protocol::LockRow& row, const Viewer& viewer) {
  if (shows_details(viewer, row.name)) {
    return;
  }
  hide(row.holder);
  row.token = {};
  row.note.clear();
  row.waiters.clear();
  row.holders.clear();
}

void mask_page(protocol::ListPage& page, const Viewer& viewer) {
  std::erase_if(page.rows,
                [&viewer](const protocol::LockRow& row) { return !shows(viewer, row.name); });
  for (protocol::LockRow& row : page.rows) {
    mask_row(row, viewer);
  }
}

Bytes mask_list(Payload payload, const Viewer& viewer) {
  auto page = protocol::decode_list_page(payload);
  if (!page.ok()) {
    return {};
  }
  mask_page(page.value(), viewer);
  return protocol::encode_list_page(page.value());
}

Bytes mask_read_list(Payload payload, const Viewer& viewer) {
  auto page = protocol::decode_read_page(payload);
  if (!page.ok()) {
    return {};
  }
  mask_page(page.value().page, viewer);
  return protocol::encode_read_page(page.value());
}

// With details or without: which of them the reply does not say.
Bytes mask_get(Payload payload, const Viewer& viewer) {
  if (auto details = protocol::decode_lock_details(payload); details.ok()) {
    mask_row(details.value(), viewer);
    return protocol::encode_lock_details(details.value());
  }
  auto row = protocol::decode_lock_row(payload);
  if (!row.ok()) {
    return {};
  }
  mask_row(row.value(), viewer);
  return protocol::encode_lock_row(row.value());
}

Bytes mask_past(Payload payload, const Viewer& viewer) {
  auto reply = protocol::decode_past_reply(payload);
  if (!reply.ok()) {
    return {};
  }
  mask_row(reply.value().row, viewer);
  return protocol::encode_past_reply(reply.value());
}

Bytes mask_read(Payload payload, const Viewer& viewer) {
  auto reply = protocol::decode_lock_read_reply(payload);
  if (!reply.ok()) {
    return {};
  }
  for (protocol::NameAnswer& answer : reply.value().names) {
    if (answer.present) {
      mask_row(answer.row, viewer);
    }
  }
  return protocol::encode_lock_read_reply(reply.value());
}

Bytes mask_session(Payload payload, const Viewer& viewer) {
  auto details = protocol::decode_session(payload);
  if (!details.ok()) {
    return {};
  }
  std::erase_if(details.value().keys,
                [&viewer](const std::string& name) { return !shows(viewer, name); });
  return protocol::encode_session(details.value());
}

// Of a session's own losses it knows the names already that it may acquire.
Bytes mask_losses(Payload payload, const Viewer& viewer) {
  auto losses = protocol::decode_losses(payload);
  if (!losses.ok()) {
    return {};
  }
  std::erase_if(losses.value(), [&viewer](const protocol::LossEntry& loss) {
    return !shows(viewer, loss.name) && !viewer.rights.allows(Right::LockAcquire, loss.name);
  });
  return protocol::encode_losses(losses.value());
}

Bytes mask_sessions(Payload payload, const Viewer& viewer) {
  auto decoded = protocol::decode_session_page(payload);
  if (!decoded.ok()) {
    return {};
  }
  protocol::SessionPage& page = decoded.value();
  std::erase_if(page.rows, [&viewer](const protocol::SessionRow& row) {
    return !viewer.owns || !viewer.owns(row.session);
  });
  page.count = static_cast<std::uint32_t>(page.rows.size());
  return protocol::encode_session_page(page);
}

Bytes mask_origins(Payload payload, const Viewer& viewer) {
  auto origins = protocol::decode_origins(payload);
  if (!origins.ok()) {
    return {};
  }
  std::erase_if(origins.value(), [&viewer](const security::KnownOrigin& each) {
    return !viewer.owns || !viewer.owns(each.session);
  });
  return protocol::encode_origins(origins.value());
}

// Whether all names of the circle may be seen.
bool shows_circle(const Json& deadlock, const Viewer& viewer) {
  if (!deadlock.is_object() || !deadlock.contains("cycle") || !deadlock["cycle"].is_array()) {
    return false;
  }
  for (const Json& step : deadlock["cycle"]) {
    const bool named = step.is_object() && step.contains("name") && step["name"].is_string();
    if (!named || !shows(viewer, step["name"].text()) ||
        !shows_details(viewer, step["name"].text())) {
      return false;
    }
  }
  return true;
}

Bytes mask_deadlocks(Payload payload, const Viewer& viewer) {
  auto report = parse_json_strict(protocol::text_of(payload));
  if (!report.ok() || !report.value().is_object() || !report.value().contains("deadlocks")) {
    return {};
  }
  Json shown = Json::array();
  for (const Json& deadlock : report.value()["deadlocks"]) {
    if (shows_circle(deadlock, viewer)) {
      shown.push_back(deadlock);
    }
  }
  report.value()["deadlocks"] = shown;
  const std::string text = report.value().dump();
  const auto bytes = protocol::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

// Every client needs the ids, roles and client addresses of the nodes, and whose votes count.
Bytes mask_view(Payload payload, const Viewer& viewer) {
  auto answer = protocol::decode_view_answer(payload);
  if (!answer.ok()) {
    return {};
  }
  const bool reads = viewer.rights.allows_all_below(Right::ClusterRead, "");
  const bool administers = viewer.rights.allows_all_below(Right::ClusterAdmin, "");
  if (!reads) {
    answer.value().sights.clear();
    answer.value().verdicts.clear();
  }
  for (protocol::Member& node : answer.value().view.nodes) {
    if (!reads) {
      node.peer_address.clear();
      node.labels.clear();
    }
    if (!administers) {
      node.directory = 0;
    }
  }
  return protocol::encode_view_answer(answer.value());
}

void mask_event(protocol::WatchEvent& event, const Viewer& viewer) {
  if (viewer.rights.allows(Right::WatchDetails, event.name)) {
    return;
  }
  event.previous = {};
  if (viewer.owns && viewer.owns(event.session)) {
    return;  // It is its own.
  }
  hide(event.session);
  event.token = {};
  event.value.clear();
}

}  // namespace

bool is_masked_kind(RequestKind kind) {
  switch (kind) {
    case RequestKind::LockGet:
    case RequestKind::LockList:
    case RequestKind::LockRead:
    case RequestKind::LockReadList:
    case RequestKind::LockGetAt:
    case RequestKind::LockDeadlocks:
    case RequestKind::SessionShow:
    case RequestKind::SessionList:
    case RequestKind::SessionLosses:
    case RequestKind::SessionDescribe:
    case RequestKind::ViewGet:
      return true;
    default:
      return false;
  }
}

bool sees_all(const security::RightsOf& rights) {
  constexpr Right kSeeing[] = {Right::LockRead,
                               Right::LockReadDetails,
                               Right::SessionReadAll,
                               Right::ClusterRead,
                               Right::ClusterAdmin,
                               Right::Watch,
                               Right::WatchDetails};
  for (const Right right : kSeeing) {
    if (!rights.allows_all_below(right, "")) {
      return false;
    }
  }
  return true;
}

std::optional<Bytes> mask_reply(RequestKind kind, Payload payload, const Viewer& viewer) {
  if (sees_all(viewer.rights)) {
    return std::nullopt;
  }
  switch (kind) {
    case RequestKind::LockGet:
      return mask_get(payload, viewer);
    case RequestKind::LockList:
      return mask_list(payload, viewer);
    case RequestKind::LockRead:
      return mask_read(payload, viewer);
    case RequestKind::LockReadList:
      return mask_read_list(payload, viewer);
    case RequestKind::LockGetAt:
      return mask_past(payload, viewer);
    case RequestKind::LockDeadlocks:
      return mask_deadlocks(payload, viewer);
    case RequestKind::SessionShow:
      return mask_session(payload, viewer);
    case RequestKind::SessionLosses:
      return mask_losses(payload, viewer);
    case RequestKind::ViewGet:
      return mask_view(payload, viewer);
    case RequestKind::SessionList:
      if (viewer.rights.allows_all_below(Right::SessionReadAll, "")) {
        return std::nullopt;
      }
      return mask_sessions(payload, viewer);
    case RequestKind::SessionDescribe:
      if (viewer.rights.allows_all_below(Right::SessionReadAll, "")) {
        return std::nullopt;
      }
      return mask_origins(payload, viewer);
    default:
      return std::nullopt;
  }
}

Bytes mask_watch_message(Payload payload, const Viewer& viewer) {
  auto message = protocol::decode_watch_message(payload);
  if (!message.ok()) {
    return {};
  }
  if (message.value().kind == protocol::WatchMessageKind::Progress) {
    return {payload.begin(), payload.end()};
  }
  Bytes bytes;
  for (protocol::WatchBlock& block : message.value().blocks) {
    std::erase_if(block.events, [&viewer](const protocol::WatchEvent& event) {
      return !viewer.rights.allows(Right::Watch, event.name);
    });
    if (block.events.empty()) {
      continue;
    }
    for (protocol::WatchEvent& event : block.events) {
      mask_event(event, viewer);
    }
    if (bytes.empty()) {
      protocol::begin_watch_events(bytes);
    }
    protocol::append_watch_block(bytes, block);
  }
  return bytes;
}

}  // namespace gcoord::server
