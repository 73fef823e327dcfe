#include "server/node/node.h"

#include "common/device/device_errors.h"
#include "server/lock_service/lock_service.h"
#include "server/node/client_services.h"
#include "server/node/engine.h"
#include "server/node/http_endpoints.h"
#include "server/node/ledger_stack.h"
#include "server/node/loop_events.h"
#include "server/node/node_log.h"
#include "server/node/node_parts.h"
#include "server/node/reports.h"
#include "server/node/trace_file.h"
#include "server/node/upkeep.h"
#include "server/peers/client_address.h"
#include "server/peers/leader_handover.h"
#include "server/platform/boot_time.h"
#include "server/platform/operator_log.h"
#include "server/start/node_membership.h"
#include "server/start/openness.h"

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

// The loop's own figures.
struct LoopMetrics {
  explicit LoopMetrics(MetricsRegistry& metrics)
      : leader_transfers(metrics.counter({"gcoord_server_leader_transfers_total",
                                          "Leaderships handed to the node that should have them.",
                                          "",
                                          ""})),
        turn_us(metrics.histogram({"gcoord_server_turn_duration_seconds",
                                   "Length of a turn that did something.",
                                   "",
                                   ""})),
        turns(metrics.counter({"gcoord_server_turns_total", "Turns of the loop.", "", ""})) {}

  Counter& leader_transfers;
  Histogram& turn_us;
  Counter& turns;
};

// Of a resident turn, which has no transitions for a trace.
std::function<void(const TurnSighting&)> sights_of(std::shared_ptr<TraceFile> trace) {
  if (trace == nullptr) {
    return {};
  }
  return [trace = std::move(trace)](const TurnSighting& sighting) { trace->write(sighting); };
}

}  // namespace

// Members end in the reverse of their order, so what is called stands before who calls it. The
// destructor says what ends earlier.
class Node::Impl {
 public:
  Impl(NodeStart start, const ProcessTexts& texts)
      : start_(std::move(start)),
        client_port_(context_, start_, metrics_),
        space_({.metrics = &metrics_, .marks = {}}),
        service_(service_options(options(),
                                 space_,
                                 [this] { return links_.gpu != nullptr && links_.gpu->drains(); }),
                 client_port_.frontend,
                 metrics_),
        ledger_stack_(options(), service_, metrics_),
        endpoints_(texts, metrics_),
        events_(context_),
        loop_metrics_(metrics_) {}

  ~Impl() {
    // Snapshots read what the engine keeps, and it calls the services until its threads are joined.
    if (client_services_ != nullptr) {
      client_services_->end_snapshots();
    }
    space_.stop();  // Nothing waits for space any more, so the threads of the engine end.
    engine_.reset();
    ledger_stack_.stop_listening();
  }

  Status open() {
    for (const std::string& note : start_.notes) {
      log_warning(LogComponent::Peers, "{}", note);
    }
    if (start_.former) {
      log_info(LogComponent::Node,
               "cluster {} took the place of cluster {}, which is retired",
               options().cluster.value,
               start_.former->cluster.value);
    }
    GCOORD_TRY_STATUS(client_port_.tls.open(options().tls));
    ReplicaOptions engine = engine_options(start_);
    std::shared_ptr<TraceFile> trace;
    GCOORD_TRY(links_.trust, NodeTrust::open(options(), client_port_.tls.own()));
    engine.proof = links_.trust->peer_proof();
    engine.peer_tls = links_.trust->peer_tls();
    if (!options().trace_file.empty()) {
      GCOORD_TRY(trace, TraceFile::open(options().trace_file));
      engine.trace = [trace](const ShardTransition& transition) { trace->write(transition); };
    }
    links_.votes = make_votes(options(), metrics_);
    engine.votes = links_.votes.get();
    set_time();
    GCOORD_TRY_STATUS(ledger_stack_.open(space_));
    engine.repaired_shards = ledger_stack_.ledger().repaired_shards();
    GCOORD_TRY_STATUS(open_log(std::move(engine), std::move(trace)));
    GCOORD_TRY_STATUS(ledger_stack_.recovered());
    GCOORD_TRY_STATUS(ledger_stack_.start(*engine_, waker()));
    links_.device = std::make_unique<DeviceLinks>(engine_->view().stepper.name);
    links_.gpu = open_gpu_guard(options(), engine_->view().stepper.name, metrics_);
    open_reports();
    service_.start(*engine_, engine_->incarnation(), *reports_);
    start_votes(*links_.votes, {*engine_, ledger_stack_, service_});
    GCOORD_TRY_STATUS(start_sweeps(options(), *engine_, service_));
    open_client_services();
    GCOORD_TRY_STATUS(client_port_.frontend.listen());
    welcome_ = make_welcome(options(), client_port_.frontend.port());
    client_port_.frontend.set_welcome(welcome_);
    membership_->start();
    client_services_->members().set_on_members(
        [this](const ClusterMembers& members) { membership_->hear(members); });
    client_services_->members().set_kept_epoch(membership_->kept_epoch());
    client_services_->members().set_seal_secret(
        [this](const protocol::JoinToken& token, NodeId node) {
          return links_.trust->seal_secret(token, {options().cluster, node});
        });
    client_services_->members().start(own_address(options(), client_port_.frontend.port()));
    GCOORD_TRY_STATUS(client_services_->members().failure());
    tell_settings(options(), metrics_);
    publish_roles();
    GCOORD_TRY_STATUS(endpoints_.open(options(),
                                      {.health = health_,
                                       .ledger = ledger_stack_.ledger(),
                                       .metrics = metrics_,
                                       .gpus = links_.gpu ? links_.gpu->sampler() : nullptr,
                                       .incarnation = engine_->incarnation(),
                                       .tls = &client_port_.tls.http()}));
    std::vector<int> fds = engine_->event_fds();
    if (const int fd = client_services_->detection().detector().event_fd(); fd >= 0) {
      fds.push_back(fd);
    }
    events_.watch_engine(fds);
    log_.on_serving(options(), ports(), engine_->view(), time_.elapsed_ms());
    log_openness(options(), ledger_stack_.access().table().enabled);
    return events_.watch_signals();
  }

  const TlsChoices& change_tls(const TlsChoices& choices) {
    const TlsChoices& in_use = client_port_.tls.change(choices);
    reports_->set_tls(in_use);
    return in_use;
  }

  NodePorts ports() const {
    return {client_port_.frontend.port(),
            engine_->listen_port(),
            endpoints_.metrics_port(),
            endpoints_.ledger_port()};
  }

  std::optional<std::uint32_t> gpu() const { return gpu_index(engine_->view().stepper.name); }

  Status reload(const NodeOptions& changed) {
    // A file of TLS that cannot be used keeps nothing else from changing.
    const Status trusted = links_.trust->reload(changed);
    links_.identities->requests().set_mode(changed.session_keys);
    client_services_->audit().set_mode(changed.session_notes);
    set_identity_secret();
    return trusted;
  }

  Status run(const Events& events) {
    bool ready = false;
    const std::uint64_t began_us = time_.read();
    while (!events_.stopping() && gpu_end().ok()) {
      if (!ready && has_roles(began_us) && is_ready(engine_->view(), membership_->members())) {
        ready = true;
        look_at_health();
        health_.on_ready();
        events.on_ready();
      }
      if (events_.take_hangup()) {
        events.on_hangup();
      }
      GCOORD_TRY_STATUS(pass());
    }
    const std::string why = gpu_end().ok() ? events_.stop_reason() : "a fault of the GPU";
    log_info(LogComponent::Node, "stopping: {}", why);
    if (is_context_restart(gpu_end()) && !events_.stopping()) {
      health_.on_reopening(why);
    } else {
      health_.on_stopping(why);
    }
    GCOORD_TRY_STATUS(hand_over());
    client_port_.frontend.stop();
    // Who was told to stop is not opened anew, whatever its GPU did meanwhile.
    return is_context_restart(gpu_end()) && events_.stopping() ? Status{} : gpu_end();
  }

 private:
  const NodeOptions& options() const { return start_.options(); }

  Status gpu_end() const { return links_.gpu == nullptr ? Status{} : links_.gpu->end(); }

  Status open_log(ReplicaOptions engine, std::shared_ptr<TraceFile> trace) {
    engine.space = &space_;
    engine.on_directory = [this] {
      log_.on_space(space_.report());  // What is opened from here on may wait for space.
      return ledger_stack_.open_history(space_);
    };
    engine.before_checkpoint = [this] { return ledger_stack_.settle(); };
    GCOORD_TRY(engine_,
               open_engine(options(),
                           {std::move(engine),
                            ledger_stack_.audit(),
                            metrics_,
                            [this](auto feature) { return service_.all_have(feature); },
                            service_,
                            sights_of(std::move(trace))}));
    NodeMembership::Environment environment{
        .room = space_, .metrics = metrics_, .go_by = [this](const ClusterMembers& members) {
          go_by(members);
        }};
    GCOORD_TRY(membership_, NodeMembership::open(start_, std::move(environment)));
    return Status{};
  }

  // Who is in the cluster from now on.
  void go_by(const ClusterMembers& members) {
    engine_->set_members(members);
    service_.set_members(members);
    ledger_stack_.ledger().set_members(members);
    health_.set_members(members);
    log_.set_members(members);
    const std::string own = own_address(options(), client_port_.frontend.port());
    if (set_members(welcome_, members, own)) {
      client_port_.frontend.set_welcome(welcome_);
    }
  }

  void open_reports() {
    reports_ = std::make_unique<StatusReports>(StatusSources{
        &options(),
        engine_.get(),
        &service_,
        &ledger_stack_.limits(),
        &ledger_stack_.history().worker(),
        &ledger_stack_.ledger(),
        &health_.board(),
        &space_,
        [this] { return client_port_.frontend.connection_count(); },
        [this] { return time_.elapsed_ms(); },
        [this] { return metrics_.find_histogram("gcoord_ledger_wal_sync_seconds"); },
        [this](NodeId peer) { return link_text(*engine_, *links_.device, peer); },
        [this] { return endpoints_.metrics_address(); },
        [this] {
          return client_services_ == nullptr ? Json(nullptr)
                                             : client_services_->detection().report();
        },
        [this] { return &client_port_.frontend.sockets().counters(); },
        [this] { return ledger_stack_.access().table().enabled; },
        [this] { return &links_.votes->list(); },
        [this] { return links_.gpu == nullptr ? Json(nullptr) : links_.gpu->report(); },
        [this](NodeId peer) {
          return client_services_ == nullptr ? std::nullopt
                                             : client_services_->detection().phi_milli(peer);
        }});
  }

  void set_identity_secret() {
    const auto secret = links_.trust->secret();
    links_.identities->set_secret(secret.get());
    client_services_->detection().detector().set_keys(
        datagram_keys(options().cluster, secret.get(), links_.trust->requires_proofs()));
    endpoints_.gate().set_tokens(links_.identities->tokens());
  }

  void open_client_services() {
    links_.users = std::make_unique<TableUsers>(
        [this]() -> const security::AccessTable& { return ledger_stack_.access().table(); });
    links_.identities = std::make_unique<NodeIdentities>(
        NodeIdentities::Environment{.replies = client_port_.frontend,
                                    .connections = client_port_.frontend,
                                    .users = *links_.users,
                                    .metrics = metrics_,
                                    .now_ms = [this] { return time_.elapsed_ms(); },
                                    .wake = waker(),
                                    .token_life_s = options().token_life_ms / 1000},
        options().session_keys);
    client_services_ = std::make_unique<ClientServices>(
        ClientServices::Environment{.options = options(),
                                    .replies = client_port_.frontend,
                                    .metrics = metrics_,
                                    .engine = *engine_,
                                    .service = service_,
                                    .ledger = ledger_stack_,
                                    .wake = waker(),
                                    .identities = links_.identities->requests()},
        space_);
    set_identity_secret();
    links_.identities->requests().set_on_attached(
        [this](protocol::ConnectionId connection, SessionId session) {
          client_services_->audit().on_attached(connection, session);
        });
    auto disk_upkeep = std::make_unique<DiskUpkeep>(DiskUpkeep::Environment{.options = options(),
                                                                            .metrics = metrics_,
                                                                            .engine = *engine_,
                                                                            .ledger = ledger_stack_,
                                                                            .service = service_,
                                                                            .space = space_,
                                                                            .log = log_});
    disk_upkeep->start(time_.read() / 1000);
    upkeep_ = std::make_unique<Upkeep>(Upkeep::Environment{.options = options(),
                                                           .engine = *engine_,
                                                           .frontend = client_port_.frontend,
                                                           .watches = client_services_->watches(),
                                                           .ledger = ledger_stack_.ledger(),
                                                           .device_links = *links_.device,
                                                           .gpu = links_.gpu.get(),
                                                           .log = log_},
                                       std::move(disk_upkeep),
                                       loop_metrics_.leader_transfers);
    open_sinks();
    client_port_.frontend.set_filter(client_services_->gate().replies);
    client_port_.frontend.set_judge(client_services_->limits().judge());
    client_services_->limits().judge().set_cut(
        [this](auto connection) { client_port_.frontend.cut(connection, CloseReason::Denied); });
    links_.identities->requests().set_cut([this](protocol::ConnectionId connection, ProofEnd end) {
      client_port_.frontend.cut(
          connection, end == ProofEnd::Revoked ? CloseReason::Revoked : CloseReason::Expired);
    });
    client_port_.frontend.set_on_opened(
        [this](protocol::ConnectionId connection, const protocol::ReplySlot& reply) {
          const auto key = links_.identities->requests().on_opened(connection, reply);
          client_services_->audit().on_opened(connection, reply);
          return key;
        });
    client_port_.frontend.set_on_room(
        [this](protocol::ConnectionId connection) { client_services_->on_room(connection); });
    client_port_.frontend.set_handler(
        [router = client_services_->router([this] { return time_.read() / 1000; })](
            auto connection, const auto& request, auto payload, const auto* prepared) {
          router.on_request({connection, request, payload, prepared});
        },
        [this] { set_time(); });
  }

  // The others hear of it before this process is gone.
  Status report_device_fault(const Status& failure) {
    if (is_device_fault(failure.detail())) {
      client_services_->detection().detector().on_device_failed();
    }
    return failure;
  }

  void open_sinks() {
    service_.set_sinks(
        {.address =
             [this](NodeId from, std::string_view address) {
               if (learn_client_address(welcome_, from, address)) {
                 client_port_.frontend.set_welcome(welcome_);
               }
             },
         .device_facts =
             [this](NodeId from, std::span<const std::byte> message) {
               links_.device->learn(from, message);
             },
         .coordinator =
             [this](NodeId coordinator) {
               log_.on_coordinator(options().node, options().coordinator, coordinator);
             },
         .past =
             [this](std::uint64_t number, const Status& status, NodeId leader_hint) {
               client_services_->past().on_confirmed(number, status, leader_hint);
             },
         .words = {.say = [this] { return client_services_->members().announcement(); },
                   .hear =
                       [this](NodeId from, Incarnation life, auto said) {
                         client_services_->members().hear(from, life, said);
                       }}});
  }

  // Wakes the loop; to be called by any thread while the context lives.
  std::function<void()> waker() {
    return [this] { asio::post(context_, [] {}); };
  }

  // One pass of the loop; sleeps at its end if there was nothing to do.
  Status pass() {
    context_.poll();
    const std::uint64_t before_us = set_time();
    GCOORD_TRY_STATUS(time_.failure());
    const std::uint64_t before_ms = before_us / 1000;
    if (health_.on_turn(before_us)) {
      look_at_health();
    }
    std::size_t done = client_port_.frontend.serve_input() ? 1 : 0;
    done += serve_dear() ? 1 : 0;
    service_.on_tick();
    GCOORD_TRY_STATUS(service_.sweeps().failure());
    client_port_.tls.look(before_ms);
    links_.trust->look(before_ms);
    GCOORD_TRY_STATUS(upkeep_->advance(before_ms, events_.stopping()));
    GCOORD_TRY_STATUS(ledger_stack_.pass(*engine_));
    const std::size_t turned = engine_->turn();
    done += turned;
    if (Status failure = engine_->failure(); !failure.ok()) {
      return report_device_fault(membership_->ended(std::move(failure)));
    }
    GCOORD_TRY_STATUS(ledger_stack_.end_turn(turned == 0));
    done += client_services_->advance(before_ms) ? 1 : 0;
    done += links_.identities->requests().advance() ? 1 : 0;
    GCOORD_TRY_STATUS(client_services_->members().failure());
    GCOORD_TRY_STATUS(membership_->advance(before_ms));
    client_services_->members().set_kept_epoch(membership_->kept_epoch());
    publish_roles();
    loop_metrics_.turns.add();
    time_.read();
    GCOORD_TRY_STATUS(time_.failure());  // Leases were read in this turn: no reply leaves.
    const bool replied = client_port_.frontend.flush();
    if (done > 0 || replied) {
      upkeep_->on_work();
      loop_metrics_.turn_us.observe_us(time_.read() - before_us);
    } else if (client_port_.frontend.arm() && engine_->arm()) {
      sleep();
    }
    return Status{};
  }

  // Or may never have them, together with all others that have forgotten: then the leaders that an
  // ordinary start brings have not come.
  bool has_roles(std::uint64_t began_us) {
    return client_services_->roles_stand() == RolesStand::Known ||
           (engine_->view().forgotten_count != 0 &&
            time_.read() >= began_us + std::uint64_t{options().election_ms} * 4000);
  }

  void publish_roles() {
    endpoints_.gate().publish(client_services_->access().table(), client_services_->roles_stand());
  }

  bool serve_dear() {
    return client_services_->serve_dear(
        [this](protocol::ConnectionId than) { return client_port_.frontend.serves_others(than); });
  }

  void look_at_health() {
    health_.set_alarms(client_services_->detection().armed_alarms());
    if (links_.gpu != nullptr && links_.gpu->sampler() != nullptr) {
      health_.set_gpu(links_.gpu->trouble());
    }
    health_.on_look(engine_->view(), ledger_stack_.ledger(), time_.read() / 1000);
  }

  // Leaders that are still here after an election timeout are missed after all.
  Status hand_over() {
    if (!hand_over_leaders(*engine_, membership_->members(), options().shards)) {
      return Status{};
    }
    const std::uint64_t latest_us = time_.read() + options().election_ms * std::uint64_t{1000};
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

  void sleep() {
    events_.rearm();
    const auto engine_ms = static_cast<std::uint64_t>(engine_->until_next_deadline().count());
    const std::uint64_t wait_ms = std::min({engine_ms,
                                            service_.until_next_deadline_ms(),
                                            client_services_->until_next_deadline_ms(),
                                            client_port_.frontend.until_next_input_ms(),
                                            health_.until_next_ms(time_.read(), kSweepMs)});
    if (wait_ms > 0) {
      context_.run_one_for(std::chrono::milliseconds(wait_ms));
    }
  }

  NodeStart start_;
  SteadyTime time_;
  MetricsRegistry metrics_;
  asio::io_context context_{1};
  protocol::Welcome welcome_;
  ClientPort client_port_;
  ledger::SpaceGuard space_;  // Of the data directory; what writes there ends before.
  LockService service_;
  LedgerStack ledger_stack_;
  NodeHealth health_;
  std::unique_ptr<NodeMembership> membership_;
  Links links_;
  std::unique_ptr<ReplicatedLog> engine_;
  std::unique_ptr<StatusReports> reports_;
  std::unique_ptr<ClientServices> client_services_;
  HttpEndpoints endpoints_;  // Reads the ledger and the health until it is gone.
  LoopEvents events_;
  NodeLog log_;
  std::unique_ptr<Upkeep> upkeep_;
  LoopMetrics loop_metrics_;
};

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Node::~Node() = default;

Result<std::unique_ptr<Node>> Node::open(NodeStart start, const ProcessTexts& texts) {
  auto impl = std::make_unique<Impl>(std::move(start), texts);
  GCOORD_TRY_STATUS(impl->open());
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

NodePorts Node::ports() const {
  return impl_->ports();
}

const TlsChoices& Node::change_tls(const TlsChoices& choices) {
  return impl_->change_tls(choices);
}

std::optional<std::uint32_t> Node::gpu() const {
  return impl_->gpu();
}

Status Node::run(const Events& events) {
  return impl_->run(events);
}

Status Node::reload(const NodeOptions& options) {
  return impl_->reload(options);
}

}  // namespace gcoord::server
