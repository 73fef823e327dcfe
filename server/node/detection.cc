#include "server/node/detection.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// null: never.
Json age_json(std::uint64_t at_ms, std::uint64_t now_ms) {
  return at_ms == 0 ? Json(nullptr) : Json(std::to_string(now_ms - std::min(now_ms, at_ms)));
}

// None: never.
std::optional<std::uint32_t> age_ms(std::uint64_t at_ms, std::uint64_t now_ms) {
  const std::uint64_t age = std::min<std::uint64_t>(now_ms - std::min(now_ms, at_ms), 0xffff'ffff);
  return at_ms == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(age));
}

Json sight_json(const membership::NodeSight& sight, std::uint64_t now_ms) {
  return {{"node", sight.node.value},
          {"verdict", membership::verdict_name(sight.verdict)},
          {"cause", membership::cause_name(sight.cause)},
          {"level", membership::level_name(sight.level)},
          {"device", membership::device_health_name(sight.device)},
          {"phi_milli", membership::phi_milli(sight.phi)},
          {"since_ms", age_json(sight.since_ms, now_ms)},
          {"direct_ms", age_json(sight.direct_ms, now_ms)},
          {"indirect_ms", age_json(sight.indirect_ms, now_ms)}};
}

NodeDetectorOptions detector_options(const NodeOptions& options) {
  NodeDetectorOptions result;
  result.self = options.node;
  result.cluster = options.cluster;
  result.listen_host = options.listen_peer.host;
  for (const PeerOption& peer : options.peers) {
    result.peers.emplace(peer.id, to_string(peer.peer));
  }
  result.evidence = {.suspicion = static_cast<double>(options.suspicion),
                     .heartbeat_ms = options.heartbeat_ms,
                     .silence_ms_min = options.silence_ms};
  result.probe_interval_ms = options.probe_interval_ms;
  result.speaks_for_turn = options.turn == TurnOption::Resident;
  result.alarms = {.converge_after_ms = options.converge_after_ms,
                   .replace_after_ms = options.replace_after_ms};
  return result;
}

}  // namespace

Detection::Detection(const NodeOptions& options,
                     NodeDetector::Environment environment,
                     protocol::ReplySink& replies)
    : environment_(std::move(environment)),
      detector_(detector_options(options), environment_),
      alarm_requests_({.replies = replies,
                       .alarms = detector_.alarms(),
                       .view = environment_.view,
                       .wall_ms = environment_.wall_ms}) {}

std::string Detection::armed_alarms() const {
  std::string texts;
  for (const protocol::AlarmRow& alarm : rows()) {
    if (alarm.armed) {
      texts += (texts.empty() ? "" : "; ") + alarm.text;
    }
  }
  return texts;
}

std::vector<protocol::AlarmRow> Detection::rows() const {
  return alarm_rows(detector_.alarms(), environment_.view(), environment_.wall_ms());
}

std::vector<protocol::MemberVerdict> Detection::verdicts() const {
  std::vector<protocol::MemberVerdict> held;
  const std::uint64_t now_ms = detector_.now_ms();
  for (const membership::NodeSight& sight : detector_.sights()) {
    held.push_back({.node = sight.node,
                    .verdict = static_cast<std::uint8_t>(sight.verdict),
                    .cause = static_cast<std::uint8_t>(sight.cause),
                    .level = static_cast<std::uint8_t>(sight.level),
                    .phi_milli = membership::phi_milli(sight.phi),
                    .since_ms = age_ms(sight.since_ms, now_ms).value_or(0),
                    .direct_ms = age_ms(sight.direct_ms, now_ms),
                    .indirect_ms = age_ms(sight.indirect_ms, now_ms)});
  }
  return held;
}

std::optional<std::uint32_t> Detection::phi_milli(NodeId node) const {
  for (const membership::NodeSight& sight : detector_.sights()) {
    if (sight.node == node) {
      return membership::phi_milli(sight.phi);
    }
  }
  return std::nullopt;
}

Json Detection::report() const {
  Json nodes = Json::array();
  for (const membership::NodeSight& sight : detector_.sights()) {
    nodes.push_back(sight_json(sight, detector_.now_ms()));
  }
  Json alarms = Json::array();
  for (const protocol::AlarmRow& alarm : rows()) {
    alarms.push_back({{"kind", protocol::alarm_kind_name(alarm.kind)},
                      {"node", alarm.node.value},
                      {"since", std::to_string(alarm.since_ms)},
                      {"armed", alarm.armed},
                      {"text", alarm.text}});
  }
  return {{"udp_port", detector_.port()}, {"nodes", nodes}, {"alarms", alarms}};
}

}  // namespace gcoord::server
