#include "server/node/reports.h"

#include "common/base64.h"
#include "common/json/value.h"
#include "server/health/pages.h"
#include "server/platform/boot_time.h"
#include "server/platform/version.h"
#include "server/start/openness.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

namespace gcoord::server {

namespace {

std::string hex64(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Json phi_json(std::optional<std::uint32_t> phi_milli) {
  return phi_milli.has_value() ? Json(*phi_milli) : Json(nullptr);
}

Json peer_json(const NodePeerView& peer, const StatusSources& sources) {
  const NodeId id = peer.link.id;
  return {{"node", id.value},
          {"address", peer.link.address},
          {"state", netcore::link_state_name(peer.link.state)},
          {"live", peer.live},
          {"phi_milli", phi_json(peer.phi_milli ? peer.phi_milli : sources.phi_milli(id))},
          {"incarnation", peer.link.incarnation.value},
          {"transport", peer.link.transport},
          {"device_link", sources.device_link(id)},
          {"reason", peer.link.last_error}};
}

Json sweeps_json(const DeviceSweeps::Report& sweeps) {
  return {{"on_device", sweeps.on_device},
          {"sessions", std::to_string(sweeps.sessions)},
          {"waits", std::to_string(sweeps.waits)},
          {"checked", std::to_string(sweeps.checked)}};
}

// null for a node on the CPU.
Json device_json(const consensus::StepperReport& stepper, const DeviceSweeps::Report& sweeps) {
  if (stepper.product.empty()) {
    return nullptr;
  }
  return {{"name", stepper.product},
          {"memory_bytes", std::to_string(stepper.device_memory_bytes)},
          {"launches", std::to_string(stepper.launches)},
          {"check_one_in", stepper.check_one_in},
          {"steps_checked", std::to_string(stepper.steps_checked)},
          {"rows_swept", std::to_string(stepper.rows_swept)},
          {"sweep_looks", stepper.sweep_looks},
          {"sweeps", sweeps_json(sweeps)}};
}

// Counts of this node's life, as the coordinator of circles that it was meanwhile.
Json deadlocks_json(const DeadlockWatch::Counts& counts) {
  return {{"found", std::to_string(counts.found)},
          {"ended", std::to_string(counts.ended)},
          {"unconfirmed", std::to_string(counts.unconfirmed)},
          {"oversized", std::to_string(counts.oversized)}};
}

// Counts of this node's life.
Json coordinator_json(const CoordinatorView& view) {
  Json others = Json::array();
  for (const auto& [node, method] : view.others) {
    others.push_back({{"node", node.value}, {"method", coordinator_method_name(method)}});
  }
  return {{"method", coordinator_method_name(view.method)},
          {"node", view.coordinator.value},
          {"elections", std::to_string(view.elections)},
          {"won", std::to_string(view.won)},
          {"changes", std::to_string(view.changes)},
          {"sent",
           {{"election", std::to_string(view.sent_election)},
            {"answer", std::to_string(view.sent_answer)},
            {"coordinator", std::to_string(view.sent_coordinator)},
            {"again", std::to_string(view.sent_again)}}},
          {"dropped", std::to_string(view.dropped)},
          {"other_method", std::to_string(view.other_method)},
          {"others", others}};
}

Json ledger_json(const ledger::HistoryWorker& worker) {
  const ledger::History& history = *worker.history();
  const ledger::HistoryCounts counts = history.counts();
  return {{"hashed", std::to_string(counts.hashed)},
          {"lag", std::to_string(worker.lag_entries())},
          {"pending_bytes", std::to_string(history.pending_bytes())},
          {"disk_bytes", std::to_string(history.disk_bytes())},
          {"pruned", std::to_string(counts.pruned)},
          {"keep", ledger::keep_policy_text(worker.policy())},
          {"bytes_max", ledger::bytes_max_text(worker.bytes_max())}};
}

// How much processor time this process has had.
std::uint64_t processor_us() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

// Counts of this node's life.
Json client_io_json(const IoCounters& counters) {
  Json calls = Json::object();
  for (std::size_t k = 0; k < counters.calls.size(); ++k) {
    const auto call = static_cast<IoCall>(k);
    calls[std::string(io_call_name(call))] = std::to_string(counters.of(call));
  }
  Json copied = Json::object();
  for (std::size_t k = 0; k < counters.copied.size(); ++k) {
    const auto stage = static_cast<IoCopy>(k);
    copied[std::string(io_copy_name(stage))] = std::to_string(counters.of(stage));
  }
  Json json = {
      {"calls", calls}, {"copied_bytes", copied}, {"processor_us", std::to_string(processor_us())}};
  for (std::size_t k = 0; k < counters.events.size(); ++k) {
    const auto event = static_cast<IoEvent>(k);
    json[std::string(io_event_name(event))] = std::to_string(counters.of(event));
  }
  return json;
}

Json disk_json(const ledger::SpaceReport& space) {
  return {{"free_bytes", std::to_string(space.free_bytes)},
          {"total_bytes", std::to_string(space.total_bytes)},
          {"reserve_bytes", std::to_string(space.reserve_bytes)},
          {"low_bytes", std::to_string(space.low_bytes)},
          {"low", space.low}};
}

Json index_json(std::uint64_t index) {
  return index == kIndexUnknown ? Json(nullptr) : Json(std::to_string(index));
}

Json round_json(const RoundDuration& round) {
  Json json = {{"heads", std::to_string(round.heads)},
               {"total_ms", std::to_string(round.total_ms)}};
  for (std::size_t k = 0; k < kRoundPhases; ++k) {
    json[std::string(text(static_cast<RoundPhase>(k))) + "_ms"] = std::to_string(round.phase_ms[k]);
  }
  return json;
}

Json publication_json(const NodeLedgerStatus& status) {
  Json alarms = Json::array();
  for (const HistoryAlarm& alarm : status.alarms) {
    alarms.push_back({{"node", alarm.node.value},
                      {"shard", alarm.shard.value},
                      {"index", index_json(alarm.index)},
                      {"unconfirmed", alarm.unconfirmed}});
  }
  Json repair = Json::array();
  for (const ledger::RepairedShard& each : status.repair) {
    repair.push_back({{"shard", each.shard.value}, {"index", index_json(each.index)}});
  }
  const PublicationView& view = status.publication;
  const std::string number =
      view.refusal.ok() ? "" : "GC" + std::to_string(view.refusal.detail()) + ": ";
  Json signers = Json::array();
  for (const NodeId node : view.signers) {
    signers.push_back(node.value);
  }
  const std::uint64_t now_ms = ledger_now_ms();
  const Json age = view.published_ms == 0
                       ? Json(nullptr)
                       : Json(std::to_string(now_ms - std::min(now_ms, view.published_ms)));
  return {{"publishes", true},
          {"publisher", view.publisher},
          {"round", std::to_string(view.round)},
          {"ordered", std::to_string(view.ordered_size)},
          {"size", std::to_string(view.size)},
          {"signed", std::to_string(view.signed_size)},
          {"published", std::to_string(view.published_size)},
          {"root", view.published_ms == 0 ? "" : to_base64(view.published_root)},
          {"age_ms", age},
          {"signers", signers},
          {"first", std::to_string(view.first)},
          {"slowest_round", round_json(view.slowest)},
          {"key", status.key},
          {"refusal", number + view.refusal.message()},
          {"alarms", alarms},
          {"repair", repair}};
}

Json evidence_json(const std::vector<DoubleVote>& list) {
  Json rows = Json::array();
  for (const DoubleVote& each : list) {
    rows.push_back({{"kind", "double_vote"},
                    {"voter", each.voter.value},
                    {"life", each.life.value},
                    {"shard", each.of.shard.value},
                    {"term", std::to_string(each.of.term.value)},
                    {"candidates", {each.candidates[0].value, each.candidates[1].value}},
                    {"file", "evidence/" + name_of(each)}});
  }
  return rows;
}

Json configuration_json(const consensus::Configuration& configuration) {
  Json members = Json::array();
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    if (!consensus::has_slot(configuration.members(), slot)) {
      continue;
    }
    members.push_back({{"node", configuration.node[slot].value},
                       {"weight", configuration.weight[slot]},
                       {"voter", consensus::has_slot(configuration.voters, slot)},
                       {"outgoing", consensus::has_slot(configuration.voters_outgoing, slot)},
                       {"learner", consensus::has_slot(configuration.learners, slot)}});
  }
  return {{"joint", configuration.joint()}, {"members", members}};
}

Json shard_json(const ShardView& view, const StatusSources& sources) {
  const locks::LockOccupancy occupied = sources.service->locks().occupancy(view.shard);
  return {{"shard", view.shard.value},
          {"role", role_name(view.role)},
          {"term", std::to_string(view.term.value)},
          {"leader", view.leader.value},
          {"commit", std::to_string(view.commit.value)},
          {"applied", std::to_string(view.applied.value)},
          {"last", std::to_string(view.last.value)},
          {"durable", std::to_string(view.durable.value)},
          {"locks", occupied.locks},
          {"sessions", occupied.sessions},
          {"state_hash", hex64(sources.state->state_hash(view.shard))}};
}

// The log of record; in memory mode it has no records and no times. Not where it ends: that is a
// part of how a node is known to its peers (server/peers/admission.h).
Json wal_json(const NodeView& view, const Histogram* sync) {
  return {
      {"unsynced", std::to_string(view.submitted_lsn.value - view.durable_lsn.value)},
      {"sync_p99_us", sync == nullptr ? Json() : Json(std::to_string(sync->percentile_us(99)))}};
}

// Whether clients have to show or to be anything, and who may do everything without.
Json access_json(const StatusSources& sources, const TlsChoices& tls) {
  const bool checked = sources.rights_checked();
  return {{"rights_checked", checked},
          {"client_certificates", client_certificates_name(client_certificates(tls))},
          {"open_to", openness_name(openness(*sources.options, tls, checked))}};
}

}  // namespace

std::string_view role_name(consensus::Role role) {
  switch (role) {
    case consensus::Role::Follower:
      return "follower";
    case consensus::Role::PreCandidate:
      return "pre-candidate";
    case consensus::Role::Candidate:
      return "candidate";
    case consensus::Role::Leader:
      return "leader";
  }
  return "unknown";
}

std::string StatusReports::node_status() const {
  const NodeView view = sources_.engine->view();
  const locks::LockUsage usage = sources_.service->locks().usage();
  const locks::LockOccupancy occupied = sources_.service->locks().occupancy();
  Json peers = Json::array();
  for (const NodePeerView& peer : view.peers) {
    peers.push_back(peer_json(peer, sources_));
  }
  Json json = {{"node", view.node.value},
               {"cluster_id", std::to_string(view.cluster.value)},
               {"cluster_name", sources_.options->cluster_name},
               {"version", kVersion},
               {"incarnation", view.incarnation.value},
               {"durability", durability_name(view.durability)},
               {"turn", view.turn == NodeTurn::Resident ? "resident" : "host"},
               {"witness", sources_.options->witness},
               {"stepper", view.stepper.name},
               {"stepper_reason", view.stepper_why},
               {"device", device_json(view.stepper, sources_.service->sweeps().report())},
               {"gpu", sources_.gpu()},
               {"shards", view.shard_count},
               {"leaders", view.leader_count},
               {"locks", occupied.locks},
               {"waiters", usage.waiters},
               {"sessions", occupied.sessions},
               {"deadlocks", deadlocks_json(sources_.service->deadlock_counts())},
               {"coordinator", coordinator_json(sources_.service->coordinator())},
               {"access", access_json(sources_, tls_)},
               {"connections", sources_.connection_count()},
               {"client_io", client_io_json(*sources_.client_io())},
               {"metrics", sources_.metrics_address()},
               {"health", health_json(sources_.health->report())},
               {"uptime_ms", std::to_string(sources_.uptime_ms())},
               {"wall_ms", std::to_string(wall_ms())},
               {"wal", wal_json(view, sources_.wal_sync())},
               {"checkpoint",
                {{"lsn", std::to_string(view.checkpoint_lsn.value)},
                 {"count", std::to_string(view.checkpoint_count)}}},
               {"ledger", ledger_json(*sources_.history)},
               {"disk", disk_json(sources_.space->report())},
               {"entry_bytes", std::to_string(view.entry_bytes)},
               {"peers", peers},
               {"detector", sources_.detector()},
               {"evidence", evidence_json(*sources_.double_votes())}};
  if (sources_.ledger->publishes()) {
    json["publication"] = publication_json(sources_.ledger->status());
  } else {
    json["publication"] = {{"publishes", false}, {"reason", sources_.ledger->silent_for()}};
  }
  if (view.readmits) {
    json["memory"] = {{"voting", view.voting_count},
                      {"forgotten", view.forgotten_count},
                      {"unled", view.unled_count},
                      {"rejoining", view.rejoining}};
  }
  return json.dump();
}

// As text, because the list is as long as a frame and is put together over several passes.
std::string StatusReports::shard_list_begin(ShardId first) const {
  std::string begin = Json{
      {"node", sources_.options->node.value},
      {"first", first.value},
      {"shards", sources_.options->shards},
      {"rows",
       Json::array()}}.dump();
  begin.resize(begin.size() - std::string_view{kShardListEnd}.size());
  return begin;
}

std::string StatusReports::shard_rows(const protocol::ShardRange& range) const {
  std::string rows;
  for (std::uint32_t offset = 0; offset < range.count; ++offset) {
    rows += offset == 0 ? "" : ",";
    rows += shard_json(sources_.engine->view(range.first + offset), sources_).dump();
  }
  return rows;
}

std::string StatusReports::shard_show(ShardId shard) const {
  const ShardView view = sources_.engine->view(shard);
  Json json = shard_json(view, sources_);
  json["node"] = sources_.options->node.value;
  json["vote"] = view.vote.value;
  json["floor"] = std::to_string(view.floor.value);
  json["lease"] = view.lease;
  json["configuration"] = configuration_json(view.configuration);
  return json.dump();
}

}  // namespace gcoord::server
