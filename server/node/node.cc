#include "server/node/node.h"

#include "ledger/base/error_details.h"
#include "ledger/snapshot/frontier.h"
#include "protocol/error_codes.h"
#include "server/endpoints/frontend.h"
#include "server/endpoints/ledger_endpoint.h"
#include "server/endpoints/metrics_endpoint.h"
#include "server/history/history.h"
#include "server/history/ledger_pruning.h"
#include "server/history/node_ledger.h"
#include "server/host_turn/host_replicas.h"
#include "server/lock_service/lock_service.h"
#include "server/node/node_log.h"
#include "server/node/node_parts.h"
#include "server/node/reports.h"
#include "server/node/request_table.h"
#include "server/node/trace_file.h"
#include "server/peers/client_address.h"
#include "server/peers/device_links.h"
#include "server/peers/leader_balance.h"
#include "server/platform/boot_time.h"
#include "server/platform/listen_probe.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"
#include "server/reads/historical_reads.h"
#include "server/resident/engine/resident_replicas.h"
#include "server/snapshots/downloads.h"
#include "server/watch/hub.h"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

constexpr std::uint64_t kSweepMs = 1000;

}  // namespace

class Node::Impl {
 public:
  explicit Impl(const NodeOptions& options)
      : options_(options),
        frontend_(context_, frontend_options(options), metrics_),
        service_(service_options(options), frontend_, metrics_),
        history_(history_options(options, metrics_), service_),
        publication_(history_.service()),
        signals_(context_),
        leader_transfers_(metrics_.counter({"gcoord_server_leader_transfers_total",
                                            "Leaderships handed to the node that should have them.",
                                            "",
                                            ""})),
        turn_us_(metrics_.histogram(
            {"gcoord_server_turn_duration_us", "Length of a turn that did something.", "", ""})),
        turns_(metrics_.counter({"gcoord_server_turns_total", "Turns of the loop.", "", ""})) {}

  ~Impl() {
    // Saves read what the engine keeps, and it calls the service until its threads are joined.
    saves_.reset();
    engine_.reset();
    publication_.set_listener(nullptr);
    for (auto& descriptor : descriptors_) {
      descriptor.release();
    }
  }

  Status open() {
    ReplicaOptions engine = engine_options(options_);
    if (!options_.trace_file.empty()) {
      GCOORD_TRY(trace_, TraceFile::open(options_.trace_file));
      engine.trace = [this](const ShardTransition& transition) { trace_->write(transition); };
    }
    set_time();
    GCOORD_TRY(ledger_, NodeLedger::open(ledger_options(options_), metrics_));
    engine.repaired_shards = ledger_->repaired_shards();
    GCOORD_TRY_STATUS(open_engine(std::move(engine)));
    history_.recovered();
    // Its thread finds what history lacks: it is waited for, so that --rejoin hears of it.
    GCOORD_TRY_STATUS(history_.settle());
    GCOORD_TRY_STATUS(history_.service().failure());
    GCOORD_TRY_STATUS(start_ledger());
    device_links_ = std::make_unique<DeviceLinks>(engine_->view().stepper.name);
    reports_ = std::make_unique<StatusReports>(
        StatusSources{&options_,
                      engine_.get(),
                      &service_,
                      &publication_,
                      &history_.worker(),
                      ledger_.get(),
                      [this] { return frontend_.connection_count(); },
                      [this] { return time_.elapsed_ms(); },
                      [this](NodeId peer) { return link_text(peer); }});
    service_.start(*engine_, engine_->incarnation(), *reports_);
    GCOORD_TRY_STATUS(start_sweeps(options_, *engine_, service_));
    open_saves();
    open_pruning();
    open_watches();
    open_past();
    open_sinks();
    open_router();
    GCOORD_TRY_STATUS(frontend_.listen());
    welcome_ = make_welcome(options_, frontend_.port());
    frontend_.set_welcome(welcome_);
    tell_durability(options_, metrics_);
    if (!options_.listen_metrics.empty()) {
      GCOORD_TRY(endpoint_, MetricsEndpoint::open(options_.listen_metrics, metrics_));
    }
    if (!options_.listen_ledger.empty()) {
      GCOORD_TRY(ledger_endpoint_,
                 LedgerEndpoint::open(to_string(options_.listen_ledger), *ledger_, metrics_));
    }
    watch_engine();
    log_.on_serving(options_, ports(), engine_->view(), time_.elapsed_ms());
    return watch_signals();
  }

  NodePorts ports() const {
    return {frontend_.port(),
            engine_->listen_port(),
            endpoint_ == nullptr ? std::uint16_t{0} : endpoint_->port(),
            ledger_endpoint_ == nullptr ? std::uint16_t{0} : ledger_endpoint_->port()};
  }

  Status run(const std::function<void()>& on_ready) {
    bool ready = false;
    while (!stopping_) {
      if (!ready && is_ready(engine_->view())) {
        ready = true;
        on_ready();
      }
      GCOORD_TRY_STATUS(pass());
    }
    log_info("stopping: {}", stop_reason_);
    GCOORD_TRY_STATUS(hand_over());
    frontend_.stop();
    return Status{};
  }

 private:
  Status open_history() {
    GCOORD_TRY(auto store,
               ledger::HistoryStore::open(options_.data_dir + "/history", options_.shards));
    GCOORD_TRY_STATUS(history_.open(std::move(store)));
    for (const ShardId shard : ledger_->repaired_shards()) {
      history_.worker().forget(shard);
    }
    return Status{};
  }

  Status start_ledger() {
    const auto history = history_.worker().history();
    return ledger_->start(
        engine_->incarnation(),
        publication_,
        [history](ShardId shard) { return history->reader(shard); },
        [history](std::span<const ShardId> shards) { return history->heads(shards); },
        [this] { asio::post(context_, [] {}); });
  }

  // Before this start counts as an incarnation of the directory (listen_probe.h).
  Status probe_ports() const {
    GCOORD_TRY_STATUS(probe_listen("listen-client", options_.listen_client));
    GCOORD_TRY_STATUS(probe_listen("listen-peer", options_.listen_peer));
    GCOORD_TRY_STATUS(probe_listen("listen-metrics", options_.listen_metrics));
    return probe_listen("listen-ledger", options_.listen_ledger);
  }

  // What must be durable before a checkpoint; the checkpoints' thread asks.
  Status settle() {
    GCOORD_TRY_STATUS(history_.settle());
    return ledger_->settle();
  }

  Status pass_ledger() {
    const Status status = ledger_->pass(*engine_, wall_ms());
    if (status.detail() == ledger::kHistoryRepair) {
      engine_->turn();  // Tells the others.
    }
    return status;
  }

  Status open_engine(ReplicaOptions engine) {
    engine.before_start = [this] { return probe_ports(); };
    engine.on_directory = [this] { return open_history(); };
    engine.before_checkpoint = [this] { return settle(); };
    StateMachine& service = publication_;
    if (options_.turn == TurnOption::Resident) {
      GCOORD_TRY(engine_,
                 ResidentReplicas::open(
                     {std::move(engine), options_.locks_max, draw_random()}, service, metrics_));
      return Status{};
    }
    GCOORD_TRY(engine_, HostReplicas::open(std::move(engine), service, metrics_));
    return Status{};
  }

  void open_saves() {
    saves_ = std::make_unique<SnapshotDownloads>(SnapshotDownloads::Environment{
        .engine = *engine_,
        .replies = frontend_,
        .make_header = [this] { return make_header(options_, *engine_); },
        .wake = [this] { asio::post(context_, [] {}); },
        .frontier_at =
            [history = history_.worker().history()](ShardId shard, std::uint64_t size) {
              return ledger::snapshot_frontier(*history->reader(shard), size);
            }});
  }

  decltype(LedgerPruning::Environment::cluster) cluster_pruning() {
    if (!ledger_->publishes()) {
      return {};
    }
    return
        [this](const auto& order, auto ended) { return ledger_->prune(order, std::move(ended)); };
  }

  void open_pruning() {
    pruning_ = std::make_unique<LedgerPruning>(LedgerPruning::Environment{
        .replies = frontend_,
        .shard_count = options_.shards,
        .shards = [this](const auto& order,
                         auto ended) { return history_.worker().prune(order, std::move(ended)); },
        .cluster = cluster_pruning(),
        .wake = [this] { asio::post(context_, [] {}); }});
  }

  void open_sinks() {
    service_.set_sinks({.address =
                            [this](NodeId from, std::string_view address) {
                              if (learn_client_address(welcome_, from, address)) {
                                frontend_.set_welcome(welcome_);
                              }
                            },
                        .device_facts =
                            [this](NodeId from, std::span<const std::byte> message) {
                              device_links_->learn(from, message);
                            },
                        .coordinator =
                            [this](NodeId coordinator) {
                              log_.on_coordinator(options_.node, options_.coordinator, coordinator);
                            },
                        .past =
                            [this](std::uint64_t number, const Status& status, NodeId leader_hint) {
                              past_->on_confirmed(number, status, leader_hint);
                            }});
  }

  void open_router() {
    const RequestRouter router({.service = service_,
                                .snapshots = saves_.get(),
                                .pruning = pruning_.get(),
                                .watches = watches_.get(),
                                .past = past_.get(),
                                .now_ms = [this] { return time_.read() / 1000; }});
    frontend_.set_handler(
        [router](protocol::ConnectionId connection,
                 const protocol::RequestSlot& request,
                 auto payload) { router.on_request(connection, request, payload); },
        [this] { set_time(); });
  }

  // What was, to be applied again; empty where the entries are those of a device's log, which are
  // of another form.
  WatchReplay::Reader past_reader() {
    if (options_.turn != TurnOption::Host) {
      return {};
    }
    return
        [history = history_.worker().history()](ShardId shard) { return history->reader(shard); };
  }

  void open_past() {
    past_ = std::make_unique<HistoricalReads>(
        HistoricalReadsOptions{.shard_count = options_.shards},
        HistoricalReads::Environment{
            .replies = frontend_,
            .metrics = metrics_,
            .applied =
                [this](ShardId shard) { return LogIndex{history_.service().applied(shard)}; },
            .leads =
                [this](ShardId shard) {
                  return engine_->view(shard).role == consensus::Role::Leader;
                },
            .leader_hint = [this](ShardId shard) { return engine_->view(shard).leader; },
            .confirm = [this](ShardId shard,
                              std::uint64_t number) { service_.confirm_read(shard, number); },
            .history = past_reader(),
            .wake = [this] { asio::post(context_, [] {}); }});
  }

  void open_watches() {
    watches_ = std::make_unique<WatchHub>(
        WatchHubOptions{.shard_count = options_.shards},
        WatchHub::Environment{
            .replies = frontend_,
            .metrics = metrics_,
            .applied =
                [this](ShardId shard) { return LogIndex{history_.service().applied(shard)}; },
            .residence = [this](ShardId shard,
                                NameHash name) { return service_.locks().residence(shard, name); },
            .tell_peers =
                [this](std::span<const std::byte> message) {
                  for (const PeerOption& peer : options_.peers) {
                    engine_->send_peer_message(peer.id, message);
                  }
                },
            .history = past_reader(),
            .wake = [this] { asio::post(context_, [] {}); }});
    service_.set_tap(watches_.get());
  }

  // By what way shards' messages go from device to device, or that they do not.
  std::string link_text(NodeId peer) const {
    const std::string channel = engine_->shard_channel(peer);
    return channel.empty() ? device_links_->text(peer) : channel;
  }

  // One pass of the loop; sleeps at its end if there was nothing to do.
  Status pass() {
    context_.poll();
    const std::uint64_t before_us = set_time();
    GCOORD_TRY_STATUS(time_.failure());
    service_.on_tick();
    GCOORD_TRY_STATUS(service_.sweeps().failure());
    GCOORD_TRY_STATUS(sweep(before_us / 1000));
    GCOORD_TRY_STATUS(pass_ledger());
    std::size_t done = engine_->turn();
    GCOORD_TRY_STATUS(engine_->failure());
    GCOORD_TRY_STATUS(history_.end_turn(done == 0));
    done += watches_->advance(before_us / 1000) ? 1 : 0;
    past_->advance(before_us / 1000);
    turns_.add();
    saves_->advance(before_us / 1000);
    pruning_->advance();
    time_.read();
    GCOORD_TRY_STATUS(time_.failure());  // Leases were read in this turn: no reply leaves.
    const bool replied = frontend_.flush();
    if (done > 0 || replied) {
      idle_ = false;
      turn_us_.observe_us(time_.read() - before_us);
    } else if (engine_->arm()) {
      sleep();
    }
    return Status{};
  }

  // Gives the shards that are led here to the other nodes, so that nobody has to miss this one for
  // an election timeout. Whatever is left after that time is missed after all.
  Status hand_over() {
    std::vector<NodeId> heirs;
    for (const NodePeerView& peer : engine_->view().peers) {
      if (peer.live) {
        heirs.push_back(peer.link.id);
      }
    }
    if (heirs.empty()) {
      return Status{};
    }
    for (std::uint32_t shard = 0; shard < options_.shards; ++shard) {
      if (engine_->view(ShardId{shard}).role == consensus::Role::Leader) {
        engine_->transfer(ShardId{shard}, heirs[shard % heirs.size()]);
      }
    }
    const std::uint64_t latest_us = time_.read() + options_.election_ms * std::uint64_t{1000};
    while (engine_->view().leader_count > 0 && time_.read() < latest_us) {
      GCOORD_TRY_STATUS(pass());
    }
    return Status{};
  }

  std::uint64_t set_time() {
    const std::uint64_t now_us = time_.read();
    service_.set_time(now_us);
    return now_us;
  }

  Status sweep(std::uint64_t now_ms) {
    if (now_ms >= next_sweep_ms_) {
      next_sweep_ms_ = now_ms + kSweepMs;
      frontend_.sweep(now_ms);
      const NodeView view = engine_->view();
      log_.on_look(view);
      watches_->on_sweep(now_ms, hears_majority(view));
      announce();
      look_at_device_links();
      release_memory();
      if (!stopping_) {
        leader_transfers_.add(balance_.sweep(view));
      }
      return ledger_->sweep(*engine_);
    }
    return Status{};
  }

  // After an election of a million shards, most of what the heap grew by is free but still held.
  void release_memory() {
    if (std::exchange(idle_, true) && engine_->shrink()) {
      ::malloc_trim(0);
    }
  }

  // Messages to peers may be lost, so it is said again with every sweep.
  void announce() {
    const auto self = std::find_if(welcome_.nodes.begin(),
                                   welcome_.nodes.end(),
                                   [&](const auto& each) { return each.node == options_.node; });
    const std::vector<std::byte> address = encode_client_address(self->address);
    const std::vector<std::byte> device = device_links_->announcement();
    for (const PeerOption& peer : options_.peers) {
      engine_->send_peer_message(peer.id, address);
      engine_->send_peer_message(peer.id, device);
    }
  }

  void look_at_device_links() {
    for (const NodeId peer : device_links_->refresh()) {
      log_.on_device_link(peer, link_text(peer));
    }
  }

  void sleep() {
    for (auto* descriptor : unwatched_) {
      watch(*descriptor);
    }
    unwatched_.clear();
    const auto engine_ms = static_cast<std::uint64_t>(engine_->until_next_deadline().count());
    const std::uint64_t wait_ms = std::min(
        {engine_ms, service_.until_next_deadline_ms(), past_->until_next_look_ms(), kSweepMs});
    if (wait_ms > 0) {
      context_.run_one_for(std::chrono::milliseconds(wait_ms));
    }
  }

  // The engine's descriptors only wake the loop; the engine reads them itself.
  void watch_engine() {
    const std::vector<int> fds = engine_->event_fds();
    descriptors_.reserve(fds.size());
    for (const int fd : fds) {
      descriptors_.emplace_back(context_, fd);
    }
    for (auto& descriptor : descriptors_) {
      watch(descriptor);
    }
  }

  void watch(asio::posix::stream_descriptor& descriptor) {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, &descriptor](const asio::error_code& error) {
                            if (!error) {
                              unwatched_.push_back(&descriptor);
                            }
                          });
  }

  Status watch_signals() {
    asio::error_code error;
    signals_.add(SIGTERM, error);
    signals_.add(SIGINT, error);
    if (error) {
      return Status{StatusCode::Internal, "cannot watch signals: " + error.message()};
    }
    signals_.async_wait([this](const asio::error_code& failed, int signal) {
      if (!failed) {
        stopping_ = true;
        stop_reason_ = signal == SIGTERM ? "SIGTERM" : "SIGINT";
      }
    });
    return Status{};
  }

  NodeOptions options_;
  SteadyTime time_;
  MetricsRegistry metrics_;
  asio::io_context context_{1};
  protocol::Welcome welcome_;
  FrontEnd frontend_;
  LockService service_;
  NodeHistory history_;
  PublicationService publication_;
  std::unique_ptr<NodeLedger> ledger_;
  std::unique_ptr<TraceFile> trace_;
  std::unique_ptr<ReplicatedLog> engine_;
  std::unique_ptr<DeviceLinks> device_links_;
  std::unique_ptr<StatusReports> reports_;
  std::unique_ptr<SnapshotDownloads> saves_;
  std::unique_ptr<LedgerPruning> pruning_;
  std::unique_ptr<WatchHub> watches_;
  std::unique_ptr<HistoricalReads> past_;
  std::unique_ptr<MetricsEndpoint> endpoint_;
  std::unique_ptr<LedgerEndpoint> ledger_endpoint_;  // Reads ledger_ until it is gone.
  std::vector<asio::posix::stream_descriptor> descriptors_;
  std::vector<asio::posix::stream_descriptor*> unwatched_;
  asio::signal_set signals_;
  bool stopping_ = false;
  bool idle_ = true;  // Nothing was done since the last sweep.
  std::string stop_reason_;
  std::uint64_t next_sweep_ms_ = 0;
  NodeLog log_;
  LeaderBalance balance_{
      {.view = [this](ShardId shard) { return engine_->view(shard); },
       .transfer = [this](ShardId shard, NodeId to) { engine_->transfer(shard, to); }}};
  Counter& leader_transfers_;
  Histogram& turn_us_;
  Counter& turns_;
};

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Node::~Node() = default;

Result<std::unique_ptr<Node>> Node::open(const NodeOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  GCOORD_TRY_STATUS(impl->open());
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

NodePorts Node::ports() const {
  return impl_->ports();
}

Status Node::run(const std::function<void()>& on_ready) {
  return impl_->run(on_ready);
}

}  // namespace gcoord::server
