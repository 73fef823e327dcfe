#include "gcoord/client.h"

#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/calls.h"
#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/discovery/endpoint_list.h"
#include "client/elections/election_calls.h"
#include "client/elections/leader_stream.h"
#include "client/ledger/prune.h"
#include "client/ledger/save_snapshot.h"
#include "client/net/failure.h"
#include "client/reads/lookups.h"
#include "client/watches/watch_feed.h"
#include "client/watches/watch_state.h"
#include "protocol/validate.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gcoord::client {

namespace {

// How long a list waits for nodes that neither answer nor refuse; without them it is not complete.
constexpr std::chrono::milliseconds kListPatience{1000};

// Connections that may be lost in a row while one piece of a snapshot is asked for.
constexpr int kLostPiecesMax = 3;
constexpr auto kDetailConnectionLost =
    static_cast<std::uint32_t>(protocol::ErrorCode::ConnectionLost);

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

Result<Leader> leader_of(const Result<LockDescription>& lock) {
  const bool absent =
      lock.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::LockAbsent);
  if (absent || (lock.ok() && lock.value().holder_session == 0)) {
    return failure(protocol::ErrorCode::ElectionVacant);
  }
  if (!lock.ok()) {
    return lock.status();
  }
  return Leader{.session_id = lock.value().holder_session,
                .epoch = lock.value().token,
                .ttl_left = lock.value().ttl_left,
                .candidates_waiting = lock.value().waiter_count,
                .value = lock.value().note,
                .hidden = lock.value().hidden};
}

void find_leader(Core& core, std::string_view name, const Callback<Result<Leader>>& callback) {
  client::get(core, name, false, [callback](const Result<LockDescription>& lock) {
    callback(leader_of(lock));
  });
}

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

ClientStatistics statistics_of(Core& core) {
  ClientStatistics statistics = core.dispatcher().statistics();
  statistics.frames = core.nodes().frames_sent();
  statistics.reconnects = core.nodes().reconnects();
  return statistics;
}

}  // namespace

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

// Under the lock, so that close() ends what was added. The feed is made for the first watch.
Status Client::Impl::Watches::feed(const std::shared_ptr<WatchState>& state) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return failure(protocol::ErrorCode::ClientClosed);
  }
  if (feed_ == nullptr) {
    std::vector<std::string> addresses;
    for (const NodeView& node : read_on_thread<ClusterView>(*core_, view_of).nodes) {
      if (!node.address.empty()) {
        addresses.push_back(node.address);
      }
    }
    WatchNodes known{std::move(addresses), core_->options().seed};
    known.set_login(core_->nodes().access().login);
    feed_ = std::make_shared<WatchFeed>(core_->options(), std::move(known));
    feed_->start();
  }
  feed_->add(state);
  return {};
}

void Client::Impl::Watches::close() {
  std::shared_ptr<WatchFeed> feed;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    feed = feed_;
  }
  if (feed != nullptr) {
    feed->stop();
  }
}

bool Client::Impl::Watches::on_own_thread() {
  const std::lock_guard lock(mutex_);
  return feed_ != nullptr && feed_->on_own_thread();
}

Result<Watch> Client::Impl::Watches::open(WatchOptions options, Watch::Callback callback) {
  const int targets =
      (options.name.empty() ? 0 : 1) + (options.prefix ? 1 : 0) + (options.session_id != 0 ? 1 : 0);
  const bool from_sound = options.from_revision == 0 || !options.name.empty();
  if (targets != 1 || !from_sound) {
    return failure(protocol::ErrorCode::WatchInvalid);
  }
  if (!kinds_mask(options.kinds)) {
    return failure(protocol::ErrorCode::WatchInvalid, "unknown kinds of events");
  }
  if (const auto code = protocol::check_prefix(options.prefix.value_or(""));
      code != protocol::ErrorCode::None) {
    return failure(code);
  }
  if (core_->on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  const std::uint32_t shard_count = read_on_thread<ClusterView>(*core_, view_of).shard_count;
  const auto nowhere = [shard_count](const Revision& each) { return each.shard >= shard_count; };
  if (std::ranges::any_of(options.from, nowhere)) {
    return failure(protocol::ErrorCode::WatchInvalid);
  }
  const auto state = std::make_shared<WatchState>(std::move(options), std::move(callback));
  GCOORD_TRY_STATUS(feed(state));
  Watch watch{state};
  const Status begun = state->wait_started(core_->options().request_timeout);
  if (begun.ok()) {
    return watch;
  }
  const bool silent =
      begun.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::Unreachable);
  const Status lacking = silent ? majority(*core_) : Status{};
  return lacking.ok() ? begun : lacking;
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

Result<Leader> Client::leader(std::string_view name) {
  return await<Result<Leader>>(*impl_->core(), [&](auto callback) {
    find_leader(*impl_->core(), name, std::move(callback));
  });
}

Future<Result<Leader>> Client::leader_async(std::string_view name) {
  return future_of<Result<Leader>>(*impl_->core(), [&](auto callback) {
    find_leader(*impl_->core(), name, std::move(callback));
  });
}

Result<Watch> Client::watch(WatchOptions options, Watch::Callback callback) {
  return impl_->watches()->open(std::move(options), std::move(callback));
}

Result<LeaderStream> Client::observe(std::string_view name) {
  if (const auto code = protocol::check_name(name); code != protocol::ErrorCode::None) {
    return failure(code);
  }
  const auto watch = [watches = impl_->watches(), held = std::string{name}] {
    return watches->open(WatchOptions{.name = held, .kinds = {EventKind::Granted}}, {});
  };
  const auto look = [core = impl_->core(), held = std::string{name}] {
    return await<Result<LockDescription>>(
        *core, [&](auto callback) { client::get(*core, held, false, std::move(callback)); });
  };
  auto impl = std::make_unique<LeaderStream::Impl>(LeaderStream::Impl::Environment{watch, look});
  if (const Status begun = impl->begin(); !begun.ok()) {
    return begun;
  }
  return LeaderStream{std::move(impl)};
}

Result<ElectionView> Client::candidates(std::string_view name) {
  return await<Result<ElectionView>>(*impl_->core(), [&](auto callback) {
    client::candidates(*impl_->core(), name, std::move(callback));
  });
}

Future<Result<ElectionView>> Client::candidates_async(std::string_view name) {
  return future_of<Result<ElectionView>>(*impl_->core(), [&](auto callback) {
    client::candidates(*impl_->core(), name, std::move(callback));
  });
}

Future<Status> Client::ask_transfer_async(std::string_view name,
                                          std::uint64_t session_id,
                                          std::uint64_t epoch) {
  return future_of<Status>(*impl_->core(), [&](auto callback) {
    client::ask_transfer(*impl_->core(), name, {session_id, epoch}, std::move(callback));
  });
}

Status Client::ask_transfer(std::string_view name, std::uint64_t session_id, std::uint64_t epoch) {
  return await<Status>(*impl_->core(), [&](auto callback) {
    client::ask_transfer(*impl_->core(), name, {session_id, epoch}, std::move(callback));
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

Result<std::string> Client::node_status(std::uint32_t node_id) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(
        *impl_->core(), {protocol::RequestKind::NodeStatus, NodeId{node_id}}, std::move(callback));
  });
}

Future<Result<std::string>> Client::node_status_async(std::uint32_t node_id) {
  return future_of<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(
        *impl_->core(), {protocol::RequestKind::NodeStatus, NodeId{node_id}}, std::move(callback));
  });
}

Result<std::string> Client::shard_list(std::uint32_t node_id,
                                       std::uint32_t first,
                                       std::uint32_t count) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {protocol::RequestKind::ShardList, NodeId{node_id}, first, count},
           std::move(callback));
  });
}

Result<std::string> Client::shard_show(std::uint32_t node_id, std::uint32_t shard) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {protocol::RequestKind::ShardShow, NodeId{node_id}, shard},
           std::move(callback));
  });
}

Result<std::string> Client::lock_deadlocks(std::uint32_t node_id) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {protocol::RequestKind::LockDeadlocks, NodeId{node_id}},
           std::move(callback));
  });
}

Result<std::string> Client::log_levels(std::uint32_t node_id, const LogLevelChange& change) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {.kind = protocol::RequestKind::LogLevels, .node = NodeId{node_id}, .order = change},
           std::move(callback));
  });
}

Result<std::vector<std::uint32_t>> Client::leader_map(std::uint32_t first, std::uint32_t count) {
  return await<Result<std::vector<std::uint32_t>>>(*impl_->core(), [&](auto callback) {
    client::leader_map(*impl_->core(), first, count, std::move(callback));
  });
}

Future<Result<std::vector<std::uint32_t>>> Client::leader_map_async(std::uint32_t first,
                                                                    std::uint32_t count) {
  return future_of<Result<std::vector<std::uint32_t>>>(*impl_->core(), [&](auto callback) {
    client::leader_map(*impl_->core(), first, count, std::move(callback));
  });
}

Status Client::read_snapshot(std::uint32_t node_id, const SnapshotSink& on_bytes) {
  Core& core = *impl_->core();
  const NodeId node{node_id};
  const auto save = await<Result<std::uint64_t>>(
      core, [&](auto callback) { open_snapshot(core, node, std::move(callback)); });
  if (!save.ok()) {
    return save.status();
  }
  protocol::SnapshotRead read{save.value(), 0};
  int lost = 0;
  for (bool last = false; !last;) {
    const auto piece = await<Result<SnapshotBytes>>(
        core, [&](auto callback) { client::read_snapshot(core, node, read, std::move(callback)); });
    // The node keeps the piece for whoever asks again.
    const bool again = piece.status().detail() == kDetailConnectionLost && ++lost <= kLostPiecesMax;
    if (!piece.ok() && again) {
      continue;
    }
    if (!piece.ok()) {
      return piece.status();
    }
    lost = 0;
    if (Status taken = on_bytes(piece.value().bytes); !taken.ok()) {
      return taken;
    }
    read.offset += piece.value().bytes.size();
    last = piece.value().last;
  }
  return {};
}

Result<LedgerPruned> Client::prune_ledger(std::uint32_t node_id, const LedgerPruning& order) {
  return await<Result<LedgerPruned>>(*impl_->core(), [&](auto callback) {
    client::prune_ledger(*impl_->core(), NodeId{node_id}, order, std::move(callback));
  });
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
