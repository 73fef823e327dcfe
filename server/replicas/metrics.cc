#include "server/replicas/metrics.h"

#include <string>

namespace gcoord::server {
namespace {

constexpr std::array<std::string_view, consensus::kMessageKindLast + 1> kKindNames = {
    "none",
    "pre_vote",
    "pre_vote_reply",
    "vote",
    "vote_reply",
    "append",
    "append_reply",
    "snapshot",
    "timeout_now",
    "step_down",
    "leader_query",
    "leader_answer",
    "readmit"};

constexpr std::array<std::string_view, kEngineDropCount> kDropNames = {"bad_message",
                                                                       "bad_entries",
                                                                       "bad_chunk",
                                                                       "stray_chunk",
                                                                       "band_unknown",
                                                                       "implausible",
                                                                       "no_credit",
                                                                       "snapshot_busy",
                                                                       "entry_gone",
                                                                       "overrun"};

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_" + std::string(name), .help = std::string(help)};
}

template <std::size_t count>
void register_labelled(MetricsRegistry& registry,
                       const MetricName& base,
                       const std::array<std::string_view, count>& labels,
                       std::array<Counter*, count>& counters) {
  for (std::size_t k = 0; k < count; ++k) {
    MetricName name = base;
    name.label_value = std::string(labels[k]);
    counters[k] = &registry.counter(name);
  }
}

}  // namespace

ReplicaMetrics::ReplicaMetrics(MetricsRegistry& registry)
    : turns(registry.counter(plain("engine_turns_total", "Turns of the replicated log"))),
      steps(registry.counter(plain("steps_total", "Steps of shard rows"))),
      settled(registry.counter(
          plain("rows_settled_total",
                "Messages and storage acknowledgements that rows took without a step"))),
      stepped_us(registry.counter(
          in(MetricUnit::Microseconds, plain("step_seconds_total", "Time spent in stepping")))),
      active_rows(registry.gauge(plain("active_rows", "Rows stepped in the last turn"))),
      entries_applied(registry.counter(plain("entries_applied_total", "Entries applied"))),
      proposals(registry.counter(plain("proposals_total", "Proposals taken from services"))),
      proposals_failed(registry.counter(plain("proposals_failed_total", "Proposals rejected"))),
      reads_leased(registry.counter(plain("reads_leased_total", "Reads served under a lease"))),
      reads_confirmed(registry.counter(
          plain("reads_confirmed_total", "Reads served after a quorum's confirmation"))),
      reads_failed(registry.counter(plain("reads_failed_total", "Reads rejected"))),
      elections(registry.counter(plain("elections_won_total", "Elections won by this node"))),
      leaderships_lost(
          registry.counter(plain("leaderships_lost_total", "Leaderships that ended here"))),
      leaders(registry.gauge(plain("leaders", "Shards led by this node"))),
      entry_bytes(registry.gauge(plain("entry_bytes", "Memory held by log entries"))),
      checkpoints(registry.counter(plain("checkpoints_total", "Checkpoints completed"))),
      checkpoints_failed(
          registry.counter(plain("checkpoints_failed_total", "Checkpoints that failed"))),
      checkpoint_shards(
          registry.counter(plain("checkpoint_shards_total", "Shards written to checkpoints"))),
      snapshots_sent(registry.counter(plain("snapshots_sent_total", "Snapshots sent"))),
      snapshots_installed(
          registry.counter(plain("snapshots_installed_total", "Snapshots installed"))),
      loop_gaps(registry.counter(plain("loop_gaps_total", "Stalls of the loop"))),
      removed_refusals(registry.counter(
          plain("removed_refusals_total", "Greetings that peers refused as a removed node's"))),
      turn_time(registry.histogram(
          plain("engine_turn_seconds", "Time of a turn of the replicated log"))) {
  MetricName name = plain("messages_in_total", "Messages from peers");
  name.label_key = "kind";
  register_labelled(registry, name, kKindNames, messages_in);
  name = plain("messages_out_total", "Messages to peers");
  name.label_key = "kind";
  register_labelled(registry, name, kKindNames, messages_out);
  name = plain("dropped_total", "Messages dropped before they were applied or sent");
  name.label_key = "reason";
  register_labelled(registry, name, kDropNames, drops);
}

}  // namespace gcoord::server
