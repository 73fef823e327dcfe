#include "server/evidence/metrics.h"

#include <string>
#include <string_view>

namespace gcoord::server {
namespace {

constexpr std::array<std::string_view, kEvidenceDropCount> kReasons = {
    "malformed", "foreign", "crowded", "flood", "key_unknown", "unproven", "full", "unsent"};

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_vote_" + std::string(name), .help = std::string(help)};
}

}  // namespace

EvidenceMetrics::EvidenceMetrics(MetricsRegistry& registry)
    : signatures(registry.counter(
          plain("signatures_total", "Signatures under votes of this node, one for each send"))),
      shown(registry.counter(
          plain("statements_shown_total",
                "Signed votes for this node that it showed to rivals of the same term"))),
      double_votes(registry.counter(
          plain("double_votes_total",
                "Double votes of other nodes that are proven by their signatures"))),
      files(registry.gauge(plain("evidence_files", "Files with evidence of double votes"))),
      statement_bytes(registry.gauge(
          plain("statement_bytes", "Memory of signed votes that other nodes gave to this one"))) {
  for (std::size_t k = 0; k < kEvidenceDropCount; ++k) {
    drops[k] = &registry.counter({.name = "gcoord_server_vote_statements_dropped_total",
                                  .help = "Signed votes that were dropped, by reason",
                                  .label_key = "reason",
                                  .label_value = std::string(kReasons[k])});
  }
}

}  // namespace gcoord::server
