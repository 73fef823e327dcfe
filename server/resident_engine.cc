#include "server/resident_engine.h"

#include "server/device_choice.h"
#include "server/engine_errors.h"
#include "server/log_record.h"
#include "server/node_view.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// What one turn takes from lanes where nobody waits: more is left for the next, so that clients are
// read, and who leads is looked at, every few milliseconds however much there is to hear.
constexpr std::uint32_t kToldPerTurn = 4096;
// Of that, from one lane.
constexpr std::uint32_t kToldPerLane = 256;

// After the last work the loop looks again and again for so long before it sleeps: longer than a
// command takes from node to node, shorter than anybody would notice on a core.
constexpr std::uint64_t kEagerUs = 300;
// How long it may sleep then: what peers' devices do wakes nobody.
constexpr std::chrono::milliseconds kNapMs{1};

// Between two looks at the sockets of peers, while they carry no shard's messages: a look costs
// some calls of the system, and a client may be waiting for the device.
constexpr std::uint64_t kNetworkUs = 200;

constexpr std::uint64_t kHeardMs = 1000;

}  // namespace

ResidentEngine::Metrics::Metrics(MetricsRegistry& registry)
    : entries(registry.counter({"gcoord_server_resident_entries_total",
                                "Decided entries that the device told its host.",
                                "",
                                ""})),
      compared(registry.counter({"gcoord_server_resident_compared_total",
                                 "Commands after which device and host had the same state.",
                                 "",
                                 ""})),
      absent(registry.gauge({"gcoord_server_resident_rows_absent",
                             "Shards whose locks the host applies alone, after a snapshot.",
                             "",
                             ""})),
      under_way(registry.gauge({"gcoord_server_resident_requests",
                                "Requests with the device or on their way to it.",
                                "",
                                ""})),
      memory_bytes(registry.gauge({"gcoord_server_device_memory_bytes",
                                   "Memory of the device that this node holds.",
                                   "",
                                   ""})),
      growths(registry.counter({"gcoord_server_resident_growths_total",
                                "Times that the turn rested for a larger pool of wide rows.",
                                "",
                                ""})),
      voting(registry.gauge({"gcoord_server_voting_shards",
                             "Shards in which this node votes, where some have forgotten",
                             "",
                             ""})),
      forgotten(registry.gauge({"gcoord_server_forgotten_shards",
                                "Shards whose promises this node has forgotten",
                                "",
                                ""})) {}

ResidentEngine::ResidentEngine(ResidentEngineOptions options,
                               Service& service,
                               MetricsRegistry& metrics)
    : options_(std::move(options)),
      service_(service),
      registry_(metrics),
      metrics_(metrics),
      joins_(metrics),
      channel_metrics_(metrics) {}

// A kernel that does not leave keeps the memory that it works in: the driver would wait for it.
ResidentEngine::~ResidentEngine() {
  constexpr std::uint32_t kPatienceMs = 2000;
  join_.reset();
  if (turn_ != nullptr && !turn_->stop(kPatienceMs).ok()) {
    static_cast<void>(turn_.release());
    static_cast<void>(node_.release());
  }
}

void ResidentEngine::fail(const Status& status) {
  if (failure_.ok()) {
    failure_ = explain_device(status);
  }
}

// --- Requests

void ResidentEngine::refuse(
    std::uint64_t cookie, bool read, StatusCode code, std::uint32_t detail, NodeId leader) {
  refusals_.push_back({cookie, read, Status{code, "refused", detail}, leader});
}

void ResidentEngine::propose(ShardId shard,
                             std::span<const std::byte> command,
                             std::uint64_t cookie) {
  const ShardView row = rows_->view(shard);
  const auto decoded = locks::decode(record_body(command));
  GCOORD_ASSERT(decoded.ok());  // The service encoded it.
  if (row.role != consensus::Role::Leader) {
    refuse(cookie, false, StatusCode::FailedPrecondition, kNotLeader, row.leader);
  } else if (!requests_->may_take(shard, decoded.value())) {
    refuse(cookie, false, StatusCode::ResourceExhausted, kOverloaded, row.leader);
  } else {
    requests_->command(shard, decoded.value(), cookie);
  }
}

void ResidentEngine::read(ShardId shard, std::uint64_t cookie) {
  const ShardView row = rows_->view(shard);
  if (row.role != consensus::Role::Leader) {
    refuse(cookie, true, StatusCode::FailedPrecondition, kNotLeader, row.leader);
  } else {
    requests_->barrier(shard, cookie);
  }
}

std::size_t ResidentEngine::give_refusals() {
  const std::vector<Refusal> refusals = std::exchange(refusals_, {});
  for (const Refusal& each : refusals) {
    if (each.read) {
      service_.on_read(each.cookie, each.status, each.leader);
    } else {
      service_.on_proposal_failed(each.cookie, each.status, each.leader);
    }
  }
  return refusals.size();
}

// --- The turn

std::size_t ResidentEngine::turn() {
  if (!failure_.ok()) {
    return 0;
  }
  const std::uint64_t now_us = options_.engine.clock_us();
  note_gap(now_us);
  if (!running_ || proxies_->live() || now_us >= next_network_us_) {
    next_network_us_ = now_us + kNetworkUs;
    network_->progress(now_us / 1000, *this);
    if (!failure_.ok()) {
      return 0;  // The directory may be another life's already.
    }
    talk(now_us / 1000);
  }
  std::size_t done = give_refusals();
  const auto worked = running_ ? run(now_us) : prepared_ ? meet(now_us / 1000) : prepare();
  if (!worked.ok()) {
    fail(worked.status());
    return 0;
  }
  done += worked.value() + proxies_->pump(now_us / 1000);
  busy_until_us_ = done != 0 ? now_us + kEagerUs : busy_until_us_;
  return done;
}

// As HostReplicas's: a loop that stood still for a quarter of the election timeout has not heard
// what clients said meanwhile.
void ResidentEngine::note_gap(std::uint64_t now_us) {
  const EngineOptions& options = options_.engine;
  const std::uint64_t tick_us = std::uint64_t{options.tick_ms} * 1000;
  const std::uint64_t gap_ticks = turned_us_ == 0 ? 0 : (now_us - turned_us_) / tick_us;
  turned_us_ = now_us;
  if (gap_ticks > options.timing.election_ticks / 4) {
    service_.on_loop_gap(gap_ticks);
  }
}

Result<std::size_t> ResidentEngine::run(std::uint64_t now_us) {
  states_->refresh(now_us / 1000);
  say_ready_when_due(now_us / 1000);
  GCOORD_TRY(std::size_t done, connect_found());
  GCOORD_TRY(const std::size_t proxied, connect_proxies());
  done += proxied;
  GCOORD_TRY_STATUS(tell_alive(now_us / 1000));
  if (is_durable()) {
    GCOORD_TRY(const std::size_t acks, storage_->take_acks());
    done += acks;
  }
  done += requests_->push();
  GCOORD_TRY(const bool turned, turn_->turn(now_us * 1000));
  if (turn_->rests()) {
    metrics_.growths.add(1);
    GCOORD_TRY_STATUS(rest());
    GCOORD_TRY_STATUS(go_on());
  }
  GCOORD_TRY(const std::size_t told, listen());
  GCOORD_TRY_STATUS(claim_->rejoin_when_due(rows_->leaders().forgotten_count()));
  if (!turns_here()) {
    GCOORD_TRY_STATUS(probe_->refresh(now_ms()));  // Who spoke while this host slept, lives.
  }
  if (is_durable()) {
    GCOORD_TRY(const std::size_t stored, store(now_us / 1000));
    done += stored;
  }
  tell_metrics();
  return done + told + (turned ? 1 : 0);
}

bool ResidentEngine::disk_stands_still(std::uint64_t now_ms) const {
  const EngineOptions& options = options_.engine;
  const Tick now{now_ms / options.tick_ms};
  return is_durable() && storage_->waits_since(now) >= options.timing.election_ticks / 2;
}

// While the disk stands still, the device is not told: silence lets others lead (fault 8 of
// docs/internals/faults.md).
Status ResidentEngine::tell_alive(std::uint64_t now_ms) {
  const EngineOptions& options = options_.engine;
  if (disk_stands_still(now_ms) || now_ms < next_alive_ms_) {
    return {};
  }
  next_alive_ms_ = now_ms + host_patience_ms(options) / 8;
  return node_->tell_alive();
}

// One record for all that was told in this pass. A checkpoint store that fails is as bad as a log
// that fails, but for a full disk, which the log of record meets as well.
Result<std::size_t> ResidentEngine::store(std::uint64_t now_ms) {
  storage_->submit();
  network_->tell_durable(storage_->durable_lsn());
  const std::size_t done = storage_->checkpoint(now_ms);
  if (const auto end = storage_->take_checkpoint_end()) {
    if (!end->ok() && end->code() != StatusCode::ResourceExhausted) {
      return *end;
    }
    GCOORD_TRY_STATUS(admission_->remember());
  }
  return done;
}

// Lanes where somebody waits first; and where a term is over all that is in the lane, so that what
// was decided for a client before is answered before follow() ends the rest.
Result<std::size_t> ResidentEngine::listen() {
  if (is_durable()) {
    storage_->set_time(Tick{now_ms() / options_.engine.tick_ms});
  }
  rows_->look();
  const std::uint32_t lanes = node_->options().shape.stripe_count;
  const std::uint32_t whole = node_->options().client_slots * kNoopsPerSlot;
  std::size_t told = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (requests_->awaits(lane)) {
      const std::uint32_t most = rows_->is_ending(lane) ? whole : kToldPerLane;
      GCOORD_TRY(const std::uint32_t heard, hear(lane, most));
      told += heard;
    }
  }
  std::uint32_t left = kToldPerTurn;
  for (std::uint32_t k = 0; k < lanes && left != 0; ++k) {
    GCOORD_TRY(const std::uint32_t heard, hear(next_lane_, std::min(left, kToldPerLane)));
    told += heard;
    left -= heard;
    next_lane_ = (next_lane_ + 1) % lanes;
  }
  return told + (rows_->follow() ? 1 : 0);
}

// Takes what a lane brought; how much that was.
Result<std::uint32_t> ResidentEngine::hear(std::uint32_t lane, std::uint32_t most) {
  std::uint32_t told = 0;
  for (; told < most; ++told) {
    const auto slot = node_->pull(lane);
    if (!slot.has_value()) {
      break;
    }
    const TurnVerdict verdict = slot->reply.verdict;
    if (is_durable() && verdict == TurnVerdict::Store) {
      GCOORD_TRY_STATUS(storage_->take(*slot));
      continue;
    }
    probe_->take(lane, slot->reply);
    GCOORD_TRY_STATUS(rows_->take(lane, *slot));
    if (is_durable() && (verdict == TurnVerdict::Committed || verdict == TurnVerdict::Told)) {
      GCOORD_TRY_STATUS(storage_->on_told(*slot));
    }
  }
  if (told != 0) {
    probe_->heard(lane, now_ms());
  }
  return told;
}

void ResidentEngine::tell_metrics() {
  const ResidentRowCounts now = rows_->counts();
  metrics_.entries.add(now.entries - told_.entries);
  metrics_.compared.add(now.compared - told_.compared);
  metrics_.absent.set(static_cast<std::int64_t>(now.absent));
  metrics_.voting.set(rows_->leaders().voting_count());
  metrics_.forgotten.set(rows_->leaders().forgotten_count());
  metrics_.under_way.set(static_cast<std::int64_t>(requests_->under_way()));
  told_ = now;
  proxies_->tell_metrics();
  if (channel_metrics_.due(now_ms())) {
    channel_metrics_.tell(node_->channel_counts());
  }
}

// One for each way that was ever chosen, of which there are few; 1 for the one in force.
void ResidentEngine::tell_link(NodeId peer, const ResidentLink& link, bool in_use) {
  const std::string way = "node " + std::to_string(peer.value) + ": " +
                          std::string{resident_link_kind_name(link.kind)} + ", " + link.why;
  registry_
      .gauge({"gcoord_server_resident_link",
              "By what way the turn reaches a peer, and why: 1 for the one in force.",
              "way",
              way})
      .set(in_use ? 1 : 0);
}

bool ResidentEngine::arm() {
  const bool eager = running_ && (requests_->under_way() != 0 || !refusals_.empty() ||
                                  options_.engine.clock_us() < busy_until_us_);
  const bool stored = is_durable() && storage_->rearm();
  return failure_.ok() && !eager && !stored && network_->arm();
}

std::vector<int> ResidentEngine::event_fds() const {
  std::vector<int> fds = is_durable() ? storage_->event_fds() : std::vector<int>{};
  if (network_->event_fd() >= 0) {
    fds.push_back(network_->event_fd());
  }
  return fds;
}

std::chrono::milliseconds ResidentEngine::until_next_deadline() const {
  return kNapMs;
}

// --- Peers

void ResidentEngine::talk(std::uint64_t now_ms) {
  heartbeats_->send(*network_, Tick{now_ms}, durable_word());
  network_->flush();
}

bool ResidentEngine::send_peer_message(NodeId to, std::span<const std::byte> message) {
  const netcore::Slot slot{};
  const netcore::PayloadExtent extent{.slot_index = 0, .bytes = message};
  return network_->send(to, netcore::Band::Rpc, {&slot, 1}, {&extent, 1});
}

void ResidentEngine::on_frame(NodeId from,
                              netcore::Band band,
                              std::span<const netcore::Slot> slots,
                              const netcore::PayloadView& payloads) {
  if (is_of_device(band)) {
    proxies_->deliver(from, band, slots, payloads, now_ms());
    return;
  }
  auto payload = payloads.begin();
  for (std::uint32_t k = 0; band == netcore::Band::Rpc && k < payloads.size(); ++k, ++payload) {
    const std::span<const std::byte> message = (*payload).bytes;
    if (is_resident_ready(message)) {
      on_ready_bytes(from, message);
    } else if (!ResidentStates::is_message(message)) {
      service_.on_peer_message(from, message);
    } else if (const Status taken = states_->on_message(from, message); !taken.ok()) {
      fail(taken);
    }
  }
}

void ResidentEngine::on_heartbeat(NodeId from, const netcore::Heartbeat& heartbeat) {
  admission_->on_durable(from, heartbeat.incarnation, heartbeat.durable);
  if (!is_durable()) {
    // A word that changes once; in durable mode it is kept with every checkpoint.
    if (const Status kept = admission_->remember(); !kept.ok()) {
      fail(kept);
    }
  }
  if (Peer* const peer = find_peer(from)) {
    peer->heard_ms = now_ms();
    peer->heard_last = Tick{peer->heard_ms / options_.engine.tick_ms};
  }
}

// A new channel between the hosts: what a proxy had under way in the last one is lost, and what the
// peer says from here on is new.
void ResidentEngine::on_peer_up(NodeId from, Incarnation incarnation, std::uint32_t) {
  proxies_->end(from);
  begin_life(from, incarnation);
  if (Peer* const peer = find_peer(from)) {
    peer->joined_ms = 0;
    peer->proxy_epoch = 0;
  }
}

void ResidentEngine::on_peer_down(NodeId from, std::string_view) {
  proxies_->end(from);
  if (Peer* const peer = find_peer(from)) {
    peer->heard_ms = 0;
    peer->proxy_epoch = 0;
  }
}

void ResidentEngine::on_refused(NodeId, const netcore::Refusal& refusal) {
  if (!failure_.ok()) {
    return;
  }
  if (const Status status = claim_->on_refused(refusal); !status.ok()) {
    fail(status);
  }
}

const ResidentEngine::Peer* ResidentEngine::find_peer(NodeId id) const {
  const auto peer =
      std::find_if(peers_.begin(), peers_.end(), [id](const Peer& each) { return each.id == id; });
  return peer != peers_.end() ? &*peer : nullptr;
}

ResidentEngine::Peer* ResidentEngine::find_peer(NodeId id) {
  return const_cast<Peer*>(std::as_const(*this).find_peer(id));
}

// --- Views

NodeView ResidentEngine::view() const {
  NodeView node =
      make_node_view(options_.engine, *identity_, Tick{now_ms() / options_.engine.tick_ms});
  node.leader_count = rows_->leaders().leader_count();
  node.readmits = !is_durable() || claim_->any_replaced(identity_->peers());
  add_counts(node, rows_->leaders());
  node.voting_count = running_ ? node.voting_count : 0;
  node.turn = NodeTurn::Resident;
  const std::uint64_t bytes = node_->device_bytes();
  node.stepper = {"cpu", "", 0, 0};
  if (device_.on_gpu()) {
    node.stepper = {
        "cuda:" + std::to_string(device_.index), device_.product, bytes, calls_->launches()};
  }
  node.stepper_why = device_.why;
  metrics_.memory_bytes.set(static_cast<std::int64_t>(device_.on_gpu() ? bytes : 0));
  std::vector<netcore::PeerStatus> links = network_->status();
  for (netcore::PeerStatus& link : links) {
    const Peer* const peer = find_peer(link.id);
    const bool live =
        peer != nullptr && peer->heard_ms != 0 && now_ms() - peer->heard_ms < kHeardMs;
    node.peers.push_back({std::move(link), live, peer != nullptr ? peer->heard_last : Tick{}});
  }
  return node;
}

std::string ResidentEngine::shard_channel(NodeId peer) const {
  const Peer* const known = find_peer(peer);
  if (known == nullptr) {
    return {};
  }
  const ResidentLink& link = known->link;
  if (link.kind == ResidentLinkKind::Refused) {
    return "refused: " + link.why;
  }
  if (!running_) {
    return "none yet: waits until all three nodes have met";
  }
  const netcore::DropReason fault = node_->fault(peer);
  if (fault != netcore::DropReason::None) {
    return "given up: " + std::string(netcore::drop_reason_name(fault));
  }
  switch (way_to(peer)) {
    case ResidentLinkKind::Proxy:
      return "proxy: the hosts move messages over the peer transport; " + link.why +
             (known->unmapped.empty() ? "" : ": " + known->unmapped);
    case ResidentLinkKind::Mapped:
      return (device_.on_gpu() ? "nvlink: mapped device memory, in use by the turn; "
                               : "shared memory of this host, in use by the twin; ") +
             link.why;
    default:
      return "none: waits for the node to start" + reason_of_none(*known);
  }
}

}  // namespace gcoord::server
