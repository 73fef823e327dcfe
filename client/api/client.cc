#include "gcoord/client.h"

#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/calls.h"
#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/discovery/endpoint_list.h"
#include "client/net/failure.h"
#include "client/reads/lookups.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gcoord::client {

namespace {

// How long a list waits for nodes that neither answer nor refuse; without them it is not complete.
constexpr std::chrono::milliseconds kListPatience{1000};

// "2:rest": whose cursor it is, and the node's own part.
struct ListPosition {
  std::uint32_t node = 0;
  std::string cursor;
};

ListPosition parse_cursor(const std::string& text) {
  ListPosition position;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, position.node);
  if (error == std::errc{} && stop != end && *stop == ':') {
    position.cursor.assign(stop + 1, end);
  }
  return position;
}

// Where the next page begins: here, at the next node, or nowhere after the last one.
std::string next_position(const LockPage& page, const NodeView& node, const NodeView& last) {
  if (!page.next_cursor.empty()) {
    return std::to_string(node.node_id) + ":" + page.next_cursor;
  }
  return node.node_id == last.node_id ? "" : std::to_string(node.node_id + 1) + ":";
}

ClientStatistics statistics_of(Core& core) {
  ClientStatistics statistics = core.dispatcher().statistics();
  statistics.frames = core.nodes().frames_sent();
  statistics.reconnects = core.nodes().reconnects();
  return statistics;
}

}  // namespace

ClusterView view_of(Core& core) {
  ClusterView view;
  if (const protocol::Welcome* cluster = core.nodes().cluster()) {
    view.cluster_id = cluster->cluster.value;
    view.shard_count = cluster->shard_count;
    view.tick = std::chrono::milliseconds{cluster->tick_ms};
    view.election_timeout = std::chrono::milliseconds{cluster->election_ms};
    view.ttl_min = std::chrono::milliseconds{cluster->ttl_ms_min};
    view.ttl_max = std::chrono::milliseconds{cluster->ttl_ms_max};
  }
  view.nodes = core.nodes().views();
  return view;
}

Client::Impl::Impl(ClientOptions options)
    : core_(std::make_shared<Core>(std::move(options))),
      watches_(std::make_shared<Watches>(core_)) {
  wipe(options.credentials);  // What the move has left.
}

void Client::Impl::close() {
  const std::lock_guard lock{closing_};
  core_->begin_stop();  // First: a callback of a watch may be inside a call that only this ends.
  watches_->close();
  core_->stop();
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Client> Client::connect(ClientOptions options) {
  const CredentialsWiper wiper{options.credentials};
  if (options.endpoints.empty()) {
    return failure(protocol::ErrorCode::OptionMissing, "endpoints");
  }
  if (options.backoff_min <= std::chrono::milliseconds{0} ||
      options.backoff_max < options.backoff_min) {
    return failure(protocol::ErrorCode::OptionInvalid,
                   "backoff_min must be above 0 and at most backoff_max");
  }
  auto endpoints =
      resolve_endpoints(options.endpoints,
                        options.connect_timeout,
                        options.wait_for_cluster ? IfAbsent::AskAgain : IfAbsent::Fail);
  if (!endpoints.ok()) {
    return endpoints.status();
  }
  options.endpoints = std::move(endpoints).value();
  auto impl = std::make_unique<Impl>(std::move(options));
  const Status status = await<Status>(
      *impl->core(), [&](auto callback) { impl->core()->start(std::move(callback)); });
  if (!status.ok()) {
    return status;
  }
  return Client{std::move(impl)};
}

Result<Session> Client::open_session(SessionOptions options) {
  auto opened = await<Result<std::shared_ptr<SessionImpl>>>(*impl_->core(), [&](auto callback) {
    SessionImpl::open(impl_->core(), std::move(options), std::move(callback));
  });
  if (!opened.ok()) {
    return opened.status();
  }
  return Session{std::move(opened).value()};
}

Future<Result<Session>> Client::open_session_async(SessionOptions options) {
  return future_of<Result<Session>>(*impl_->core(), [&](auto callback) {
    const auto opened = [callback](const Result<std::shared_ptr<SessionImpl>>& session) {
      callback(session.ok() ? Result<Session>{Session{session.value()}}
                            : Result<Session>{session.status()});
    };
    SessionImpl::open(impl_->core(), std::move(options), opened);
  });
}

Result<Lease> Client::take_lease(std::string_view name, LeaseOptions options) {
  if (impl_->core()->on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  return take_lease_async(name, std::move(options)).get();
}

Future<Result<Lease>> Client::take_lease_async(std::string_view name, LeaseOptions options) {
  return future_of<Result<Lease>>(*impl_->core(), [&](auto callback) {
    const auto opened = [wait = options.wait,
                         stop = options.stop,
                         held = std::string{name},
                         callback](const Result<std::shared_ptr<SessionImpl>>& opening) {
      if (!opening.ok()) {
        return callback(opening.status());
      }
      // Closed again if it does not get the name.
      const auto session = std::make_shared<Session>(Session{opening.value()});
      const auto granted = [session, impl = opening.value(), held, callback](
                               const Result<Grant>& grant) {
        callback(grant.ok()
                     ? Result<Lease>{Lease{std::move(*session), Lock{impl, held, grant.value()}}}
                     : Result<Lease>{grant.status()});
      };
      opening.value()->acquire(held, {.wait = wait, .stop = &stop}, granted);
    };
    SessionImpl::open(impl_->core(),
                      {.ttl = options.ttl,
                       .on_event = std::move(options.on_event),
                       .health = std::move(options.health)},
                      opened);
  });
}

Result<Session> Client::attach_session(AttachOptions options) {
  auto attached = SessionImpl::attach(impl_->core(), std::move(options));
  if (!attached.ok()) {
    return attached.status();
  }
  return Session{std::move(attached).value()};
}

Result<Verdict> Client::check(std::string_view name, std::uint64_t token) {
  return await<Result<Verdict>>(*impl_->core(), [&](auto callback) {
    client::check(*impl_->core(), name, token, std::move(callback));
  });
}

Future<Result<Verdict>> Client::check_async(std::string_view name, std::uint64_t token) {
  return future_of<Result<Verdict>>(*impl_->core(), [&](auto callback) {
    client::check(*impl_->core(), name, token, std::move(callback));
  });
}

void Client::check_async(std::string_view name, std::uint64_t token, CheckCallback callback) {
  client::check(*impl_->core(), name, token, std::move(callback));
}

Result<std::vector<Verdict>> Client::check_batch(std::span<const TokenCheck> checks) {
  return await<Result<std::vector<Verdict>>>(*impl_->core(), [&](auto callback) {
    client::check_batch(*impl_->core(), checks, std::move(callback));
  });
}

Future<Result<std::vector<Verdict>>> Client::check_batch_async(std::span<const TokenCheck> checks) {
  return future_of<Result<std::vector<Verdict>>>(*impl_->core(), [&](auto callback) {
    client::check_batch(*impl_->core(), checks, std::move(callback));
  });
}

Future<Result<LockDescription>> Client::get_async(std::string_view name, bool waiters) {
  return future_of<Result<LockDescription>>(*impl_->core(), [&](auto callback) {
    client::get(*impl_->core(), name, waiters, std::move(callback));
  });
}

Result<LockDescription> Client::get(std::string_view name, bool waiters) {
  return await<Result<LockDescription>>(*impl_->core(), [&](auto callback) {
    client::get(*impl_->core(), name, waiters, std::move(callback));
  });
}

Result<LockPage> Client::list(const ListOptions& options) {
  const ListPosition start = parse_cursor(options.cursor);
  Core& core = *impl_->core();
  if (start.node == 0) {
    const auto patience = std::min(core.options().connect_timeout, kListPatience);
    static_cast<void>(wait_until(core, WaitFor::EveryNodeTried, patience));
  }
  std::vector<NodeView> nodes = cluster().nodes;
  // An endpoint without a number is another address of a node, or of none.
  std::erase_if(
      nodes, [&](const NodeView& node) { return node.node_id == 0 || node.node_id < start.node; });
  Status status = failure(protocol::ErrorCode::Unreachable);
  bool answered = start.node != 0;
  bool complete = true;
  for (const NodeView& node : nodes) {
    if (!node.connected) {
      complete = false;
      continue;
    }
    if (Status lacking = majority(core); !lacking.ok()) {
      return lacking;
    }
    ListOptions at_node = options;
    at_node.cursor = node.node_id == start.node ? start.cursor : std::string{};
    auto page = await<Result<LockPage>>(core, [&](auto callback) {
      list_node(core, NodeId{node.node_id}, at_node, std::move(callback));
    });
    if (!page.ok()) {
      status = page.status();
      complete = false;
      continue;
    }
    answered = true;
    complete = complete && page.value().complete;
    if (!page.value().locks.empty() || !page.value().next_cursor.empty()) {
      page.value().next_cursor = next_position(page.value(), node, nodes.back());
      page.value().complete = complete;
      return page;
    }
  }
  if (!answered) {
    const Status lacking = majority(core);
    return lacking.ok() ? status : lacking;
  }
  LockPage last;
  last.complete = complete;
  return last;
}

Status Client::wait_for_all_nodes(std::chrono::milliseconds timeout) {
  return wait_until(*impl_->core(), WaitFor::AllNodes, timeout);
}

Future<Status> Client::wait_for_all_nodes_async(std::chrono::milliseconds timeout) {
  return future_of<Status>(*impl_->core(), [&](auto callback) {
    begin_wait(*impl_->core(), {WaitFor::AllNodes, timeout}, std::move(callback));
  });
}

Status Client::close() {
  if (in_callback() || impl_->watches()->on_own_thread()) {
    return blocked_in_callback();
  }
  impl_->close();
  return {};
}

bool Client::in_callback() const {
  return impl_->core()->on_own_thread();
}

TimePoint Client::now() const {
  return impl_->core()->clock().now();
}

ClusterView Client::cluster() const {
  return read_on_thread<ClusterView>(*impl_->core(), view_of);
}

Identity Client::identity() const {
  return impl_->core()->nodes().access().login->identity(now()).value_or(
      Identity{.kind = "anonymous"});
}

ClientStatistics Client::statistics() const {
  return read_on_thread<ClientStatistics>(*impl_->core(), statistics_of);
}

}  // namespace gcoord::client
