// Sessions as leases: the functions of Client that grant, show and list them.
#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/net/failure.h"
#include "client/sessions/session_views.h"

#include <charconv>
#include <utility>

namespace gcoord::client {
namespace {

// "2:417": whose cursor it is, and the node's own.
struct SessionPosition {
  std::uint32_t node = 0;
  std::uint32_t cursor = 0;
};

SessionPosition parse_position(const std::string& text) {
  SessionPosition position;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, position.node);
  if (error == std::errc{} && stop != end && *stop == ':') {
    std::from_chars(stop + 1, end, position.cursor);
  }
  return position;
}

}  // namespace

Result<Session> Client::grant_session(GrantOptions options) {
  auto granted = await<Result<std::shared_ptr<SessionImpl>>>(*impl_->core(), [&](auto callback) {
    client::grant_session(impl_->core(), std::move(options), std::move(callback));
  });
  if (!granted.ok()) {
    return granted.status();
  }
  return Session{std::move(granted).value()};
}

Future<Result<Session>> Client::grant_session_async(GrantOptions options) {
  return future_of<Result<Session>>(*impl_->core(), [&](auto callback) {
    const auto granted = [callback](const Result<std::shared_ptr<SessionImpl>>& session) {
      callback(session.ok() ? Result<Session>{Session{session.value()}}
                            : Result<Session>{session.status()});
    };
    client::grant_session(impl_->core(), std::move(options), granted);
  });
}

Result<SessionDescription> Client::session(std::uint64_t session_id) {
  return await<Result<SessionDescription>>(*impl_->core(), [&](auto callback) {
    show_session(*impl_->core(), SessionId{session_id}, std::move(callback));
  });
}

Future<Result<SessionDescription>> Client::session_async(std::uint64_t session_id) {
  return future_of<Result<SessionDescription>>(*impl_->core(), [&](auto callback) {
    show_session(*impl_->core(), SessionId{session_id}, std::move(callback));
  });
}

Future<Result<SessionDescription>> Client::keep_alive_once_async(std::uint64_t session_id) {
  return future_of<Result<SessionDescription>>(*impl_->core(), [&](auto callback) {
    client::keep_alive_once(*impl_->core(), SessionId{session_id}, std::move(callback));
  });
}

Result<SessionDescription> Client::keep_alive_once(std::uint64_t session_id) {
  return await<Result<SessionDescription>>(*impl_->core(), [&](auto callback) {
    client::keep_alive_once(*impl_->core(), SessionId{session_id}, std::move(callback));
  });
}

Result<SessionsPage> Client::list_sessions(const SessionListOptions& options) {
  const SessionPosition start = parse_position(options.cursor);
  SessionsPage page;
  Core& core = *impl_->core();
  if (start.node == 0) {
    static_cast<void>(wait_until(core, WaitFor::EveryNodeTried, core.options().request_timeout));
  }
  if (Status lacking = majority(core); !lacking.ok()) {
    return lacking;
  }
  Status status;
  bool answered = false;
  const std::vector<NodeView> nodes = cluster().nodes;
  for (const NodeView& node : nodes) {
    if (node.node_id == 0 || node.node_id < start.node) {
      continue;
    }
    if (answered) {  // The page of the node before it is what is returned.
      page.next_cursor =
          page.next_cursor.empty() ? std::to_string(node.node_id) + ":0" : page.next_cursor;
      return page;
    }
    const std::uint32_t cursor = node.node_id == start.node ? start.cursor : 0;
    auto told = await<Result<SessionsPage>>(core, [&](auto callback) {
      client::list_sessions(core, NodeId{node.node_id}, options, cursor, std::move(callback));
    });
    const bool complete = page.complete && told.ok();
    if (!told.ok()) {
      // What a node says of itself is more than that another one cannot be reached.
      status = status.ok() || node.connected ? told.status() : status;
      page.complete = false;
      continue;
    }
    page = std::move(told).value();
    page.complete = complete;
    answered = true;
    if (!page.next_cursor.empty()) {
      page.next_cursor = std::to_string(node.node_id) + ":" + page.next_cursor;
    }
  }
  if (!answered && status.ok()) {
    return failure(protocol::ErrorCode::Unreachable);  // No node has a number that is left.
  }
  return answered ? Result<SessionsPage>{std::move(page)} : Result<SessionsPage>{status};
}

}  // namespace gcoord::client
