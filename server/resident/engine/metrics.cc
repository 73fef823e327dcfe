#include "server/resident/engine/metrics.h"

#include <algorithm>

namespace gcoord::server {
namespace {

MetricName reads_name(const char* way) {
  return {
      "gcoord_server_resident_reads_total",
      "Times that the device proved a state linearizable for reads that wait, by what proved it: "
      "the leader's lease, or a round of the quorum.",
      "way",
      way};
}

}  // namespace

ResidentMetrics::ResidentMetrics(MetricsRegistry& registry)
    : entries_(registry.counter({"gcoord_server_resident_entries_total",
                                 "Decided entries that the device told its host.",
                                 "",
                                 ""})),
      compared_(registry.counter({"gcoord_server_resident_compared_total",
                                  "Commands after which device and host had the same state.",
                                  "",
                                  ""})),
      absent_(registry.gauge({"gcoord_server_resident_rows_absent",
                              "Shards whose locks the host applies alone, after a snapshot.",
                              "",
                              ""})),
      leased_reads_(registry.counter(reads_name("lease"))),
      round_reads_(registry.counter(reads_name("round"))),
      doubted_leases_(registry.counter(
          {"gcoord_server_resident_leases_doubted_total",
           "Times that the clocks of device and host were found to drift apart by more than leases "
           "bear, so that reads went by rounds.",
           "",
           ""})),
      under_way_(registry.gauge({"gcoord_server_resident_requests",
                                 "Requests with the device or on their way to it.",
                                 "",
                                 ""})),
      memory_bytes_(registry.gauge({"gcoord_server_device_memory_bytes",
                                    "Memory of the device that this node holds.",
                                    "",
                                    ""})),
      growths_(registry.counter(
          {"gcoord_server_resident_growths_total",
           "Times that the turn rested for a larger pool of wide rows or log pages.",
           "",
           ""})),
      pages_(registry.gauge({"gcoord_server_resident_log_pages",
                             "Log pages that the pools of the device have.",
                             "",
                             ""})),
      pages_taken_(registry.gauge(
          {"gcoord_server_resident_log_pages_taken", "Log pages that rows hold now.", "", ""})),
      pages_refused_(registry.counter({"gcoord_server_resident_log_pages_refused_total",
                                       "Steps that found no log page for what they would append.",
                                       "",
                                       ""})),
      voting_(registry.gauge({"gcoord_server_voting_shards",
                              "Shards in which this node votes, where some have forgotten",
                              "",
                              ""})),
      forgotten_(registry.gauge({"gcoord_server_forgotten_shards",
                                 "Shards whose promises this node has forgotten",
                                 "",
                                 ""})),
      ahead_(registry.gauge({"gcoord_server_resident_ahead_events",
                             "Events that threads have taken from the device and the loop has not.",
                             "",
                             ""})),
      ahead_most_(registry.gauge({"gcoord_server_resident_ahead_events_most",
                                  "The most of them that one lane ever had.",
                                  "",
                                  ""})),
      full_(registry.counter({"gcoord_server_resident_ahead_full_total",
                              "Times that a thread waited because the loop was too far behind.",
                              "",
                              ""})),
      followed_(registry.counter({"gcoord_server_resident_ahead_applied_total",
                                  "Commands that threads applied to the host's tables.",
                                  "",
                                  ""})),
      channels_(registry) {
  for (std::uint32_t k = 1; k < kIngressFaults; ++k) {
    unsound_[k] = &registry.counter(
        {"gcoord_server_resident_requests_unsound_total",
         "Requests that the device refused when it judged them again, by what was wrong with them.",
         "fault",
         ingress_fault_name(static_cast<IngressFault>(k))});
  }
}

void ResidentMetrics::show_copy(const Follower::Counts& counts) {
  ahead_.set(static_cast<std::int64_t>(counts.ahead));
  ahead_most_.set(static_cast<std::int64_t>(counts.ahead_most));
  full_.add(counts.full - copy_shown_.full);
  followed_.add(counts.applied - copy_shown_.applied);
  copy_shown_ = counts;
}

void ResidentMetrics::show(const ResidentRows& rows, const ResidentRequests& requests) {
  const ResidentRowCounts now = rows.counts();
  entries_.add(now.entries - shown_.entries);
  compared_.add(now.compared - shown_.compared);
  absent_.set(static_cast<std::int64_t>(now.absent));
  leased_reads_.add(now.leased_reads - shown_.leased_reads);
  round_reads_.add(now.round_reads - shown_.round_reads);
  voting_.set(rows.leaders().voting_count());
  forgotten_.set(rows.leaders().forgotten_count());
  under_way_.set(static_cast<std::int64_t>(requests.under_way()));
  for (std::uint32_t k = 1; k < kIngressFaults; ++k) {
    unsound_[k]->add(now.unsound[k] - shown_.unsound[k]);
  }
  shown_ = now;
}

void ResidentMetrics::show_pages(const PageCounts& now) {
  pages_.set(static_cast<std::int64_t>(now.pages));
  pages_taken_.set(static_cast<std::int64_t>(now.taken));
  pages_refused_.add(now.refused - std::min(now.refused, refused_shown_));
  refused_shown_ = now.refused;
}

void ResidentMetrics::show_channels(const ResidentNode& node, std::uint64_t now_ms) {
  if (channels_.due(now_ms)) {
    channels_.tell(node.channel_counts());
  }
}

}  // namespace gcoord::server
