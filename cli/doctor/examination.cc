#include "cli/doctor/examination.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

namespace gcoord::cli {
namespace {

using Findings = std::vector<Finding>;

struct Words {
  std::string what;
  std::string advice;
};

struct Inspection {
  const ClusterFacts& facts;
  const ExaminationLimits& limits;
  std::string_view check;
  Findings& findings;

  void add(Severity severity, std::uint32_t node, Words words) const {
    findings.push_back({severity, check, node, std::move(words.what), std::move(words.advice)});
  }

  // Runs for each node that has a report.
  template <typename Body>
  void each_report(const Body& body) const {
    for (const NodeFacts& node : facts.nodes) {
      if (node.reachable()) {
        body(node);
      }
    }
  }
};

std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}

void check_reachable(const Inspection& inspected) {
  std::size_t reachable = 0;
  for (const NodeFacts& node : inspected.facts.nodes) {
    reachable += node.reachable() || node.refused ? 1 : 0;
  }
  const bool majority = reachable > inspected.facts.nodes.size() / 2;
  for (const NodeFacts& node : inspected.facts.nodes) {
    if (node.refused) {
      inspected.add(
          Severity::Error,
          node.node,
          {node.endpoint + " answers and shows nothing: " + node.error,
           "Nothing is known of it: ask as somebody with cluster.read (gcoordctl whoami)."});
    } else if (!node.reachable()) {
      inspected.add(majority ? Severity::Warning : Severity::Error,
                    node.node,
                    {node.endpoint + " does not answer: " + node.error,
                     majority ? "One more such node may stop the cluster: start it again."
                              : "The cluster has no majority and grants nothing: start it again."});
    }
  }
}

void check_endpoints(const Inspection& inspected) {
  for (const std::string& endpoint : inspected.facts.unknown_endpoints) {
    inspected.add(Severity::Warning,
                  0,
                  {"endpoint " + endpoint + " is of no known node",
                   "Correct --endpoints, or the client address that its node tells."});
  }
}

void check_size(const Inspection& inspected) {
  const std::size_t count = inspected.facts.nodes.size();
  if (count == 1) {
    inspected.add(Severity::Note, 0, {"the cluster has one node", "It tolerates no failure."});
  } else if (count % 2 == 0) {
    inspected.add(Severity::Note,
                  0,
                  {"the cluster has " + text_of(count) + " nodes",
                   "It tolerates no more failures than with one node less."});
  }
}

void check_versions(const Inspection& inspected) {
  std::map<std::string, std::string> nodes_by_version;
  inspected.each_report([&](const NodeFacts& node) {
    std::string& nodes = nodes_by_version[node.text("version")];
    nodes += (nodes.empty() ? "" : ", ") + text_of(node.node);
  });
  if (nodes_by_version.size() > 1) {
    std::string what;
    for (const auto& [version, nodes] : nodes_by_version) {
      what += (what.empty() ? "" : "; ") + std::string{"release "} + version + " on node " + nodes;
    }
    inspected.add(
        Severity::Warning, 0, {what, "Finish the upgrade: new features wait for all nodes."});
  }
}

// No lease and no lock stands on wall clocks; the times in the ledger and in logs do.
void check_clocks(const Inspection& inspected) {
  struct Known {
    std::uint32_t node;
    ClockOffset offset;
  };

  std::vector<Known> known;
  inspected.each_report([&](const NodeFacts& node) {
    if (const auto offset = clock_offset(node); offset.has_value()) {
      known.push_back({node.node, *offset});
    }
  });
  for (std::size_t a = 0; a < known.size(); ++a) {
    for (std::size_t b = a + 1; b < known.size(); ++b) {
      const auto apart = static_cast<std::uint64_t>(
          std::llabs(known[a].offset.ahead_ms - known[b].offset.ahead_ms));
      const std::uint64_t sure = known[a].offset.error_ms + known[b].offset.error_ms;
      if (apart > inspected.limits.clock_skew_ms + sure) {
        inspected.add(
            Severity::Warning,
            0,
            {"the wall clocks of node " + text_of(known[a].node) + " and node " +
                 text_of(known[b].node) + " are " + text_of(apart) + " ms apart",
             "Locks do not depend on them, times in the ledger and in logs do: run NTP."});
      }
    }
  }
}

void check_disks(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    const auto sync_us = node.number("wal", "sync_p99_us");
    if (sync_us.has_value() && *sync_us > inspected.limits.sync_p99_us) {
      inspected.add(
          Severity::Warning,
          node.node,
          {"one write in a hundred takes its disk " + text_of(*sync_us / 1000) + " ms or longer",
           "Every lock waits for the disks of a majority: give the log a faster disk."});
    }
  });
}

void check_space(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    const Json* disk = node.report.find("disk");
    if (disk == nullptr) {
      return;
    }
    const auto free_bytes = node.number("disk", "free_bytes");
    const auto total_bytes = node.number("disk", "total_bytes");
    if (disk->value("low", false)) {
      inspected.add(Severity::Error,
                    node.node,
                    {"its disk is full: as a leader it refuses new locks and sessions",
                     "Free space on it; the refusals end by themselves. --ledger-bytes-max bounds "
                     "the ledger."});
    } else if (free_bytes.has_value() && *free_bytes < total_bytes.value_or(0) / 10) {
      inspected.add(Severity::Warning,
                    node.node,
                    {"less than a tenth of its disk is free",
                     "Free space on it, or bound the ledger by --ledger-bytes-max."});
    }
  });
}

void check_health(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    for (const Json& check : node.report["health"].value("checks", Json::array())) {
      if (!check.value("ok", true) && check.value("required", true)) {
        inspected.add(Severity::Error,
                      node.node,
                      {"it is not ready: " + check.value("name", std::string{}) + ": " +
                           check.value("detail", std::string{}),
                       "See docs/how-to/health_checks.md."});
      }
    }
  });
}

void check_answers(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    const std::uint64_t ms = node.answered_ms - std::min(node.asked_ms, node.answered_ms);
    if (ms > inspected.limits.answer_ms) {
      inspected.add(Severity::Warning,
                    node.node,
                    {"it took " + text_of(ms) + " ms to answer",
                     "Look at its load and at the network between here and there."});
    }
  });
}

void check_peers(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    for (const Json& peer : node.report["peers"]) {
      if (!peer.value("live", true)) {
        const std::string reason = peer.value("reason", std::string{});
        inspected.add(
            Severity::Warning,
            node.node,
            {"it does not hear node " + peer["node"].dump() + (reason.empty() ? "" : ": " + reason),
             "Look at the network between them, and at --peer and --listen-peer."});
      }
    }
  });
}

void check_leaders(const Inspection& inspected) {
  std::uint64_t led = 0;
  std::size_t reports = 0;
  std::size_t witnesses = 0;
  inspected.each_report([&](const NodeFacts& node) {
    led += node.number("leaders").value_or(0);
    ++reports;
    if (node.report.value("witness", false)) {
      ++witnesses;
      inspected.add(Severity::Note,
                    node.node,
                    {"it is a witness: it votes and has the log, has no state and never leads",
                     "See docs/reference/cluster_view.md, witnesses, before you stop others."});
    }
  });
  if (reports == inspected.facts.nodes.size() && led < inspected.facts.shard_count) {
    inspected.add(Severity::Error,
                  0,
                  {text_of(inspected.facts.shard_count - led) + " of " +
                       text_of(inspected.facts.shard_count) + " shards have no leader",
                   "An election may be under way: look again, then at `gcoordctl shard show`."});
  }
  if (inspected.facts.shard_count < inspected.limits.leaders_shards_min || reports < 2) {
    return;
  }
  const std::size_t leaders = inspected.facts.nodes.size() - witnesses;
  const std::uint64_t share = inspected.facts.shard_count / std::max<std::size_t>(leaders, 1);
  inspected.each_report([&](const NodeFacts& node) {
    const std::uint64_t leads = node.number("leaders").value_or(0);
    if (leads > share * inspected.limits.leaders_times) {
      inspected.add(
          Severity::Note,
          node.node,
          {"it leads " + text_of(leads) + " of " + text_of(inspected.facts.shard_count) + " shards",
           "Leaders spread by themselves once all nodes have been up for a while."});
    }
  });
}

void check_rejoining(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    const Json* memory = node.report.find("memory");
    if (memory != nullptr && memory->value("rejoining", false)) {
      inspected.add(
          Severity::Warning,
          node.node,
          {"it rejoins without its old data directory: " +
               text_of(node.number("memory", "forgotten").value_or(0)) + " shards are left",
           "Until then the cluster tolerates one failure less."});
    }
  });
}

void check_ledger(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    const Json& publication = node.report["publication"];
    for (const Json& alarm : publication.value("alarms", Json::array())) {
      inspected.add(Severity::Error,
                    node.node,
                    {"the history of shard " + alarm["shard"].dump() + " differs between nodes",
                     "Keep all disks as they are, and see docs/reference/ledger.md, alarms."});
    }
    if (const std::string refusal = publication.value("refusal", std::string{}); !refusal.empty()) {
      inspected.add(Severity::Error, node.node, {"it does not sign: " + refusal, "See its log."});
    }
    if (const auto lag = node.number("ledger", "lag"); lag > inspected.limits.ledger_lag) {
      inspected.add(Severity::Warning,
                    node.node,
                    {text_of(*lag) + " entries are not hashed yet",
                     "Proofs of them wait: its processor or its disk is too slow for the load."});
    }
    const auto age_ms = node.number("publication", "age_ms");
    if (age_ms > inspected.limits.publication_age_ms) {
      inspected.add(Severity::Warning,
                    node.node,
                    {"its newest published head is " + text_of(*age_ms / 1000) + " s old",
                     "Auditors see nothing newer: a majority must be able to sign."});
    }
  });
}

void check_deadlocks(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    if (const auto count = node.number("deadlocks", "oversized"); count > 0u) {
      inspected.add(Severity::Warning,
                    node.node,
                    {text_of(*count) + " deadlocks were too large to be ended",
                     "They end by their timeouts only: take locks in one order."});
    }
  });
}

// A node of an earlier release does not say.
void check_access(const Inspection& inspected) {
  inspected.each_report([&](const NodeFacts& node) {
    const Json* access = node.report.find("access");
    const std::string open_to =
        access == nullptr ? std::string{} : access->value("open_to", std::string{});
    if (open_to == "network") {
      inspected.add(Severity::Warning,
                    node.node,
                    {"everybody who reaches it may do everything: rights are off, and clients need "
                     "no certificate",
                     "Set client_certificates = \"required\" with TLS, or switch rights on: "
                     "docs/how-to/roles.md."});
    } else if (open_to == "loopback") {
      inspected.add(Severity::Note,
                    node.node,
                    {"every program of its host may do everything: rights are off",
                     "Switch them on before it listens beyond loopback: docs/how-to/roles.md."});
    }
  });
}

using Check = void (*)(const Inspection&);

constexpr std::array<std::pair<std::string_view, Check>, 15> kChecks{{
    {"reachable", check_reachable},
    {"endpoints", check_endpoints},
    {"size", check_size},
    {"versions", check_versions},
    {"clocks", check_clocks},
    {"disks", check_disks},
    {"space", check_space},
    {"health", check_health},
    {"answers", check_answers},
    {"peers", check_peers},
    {"leaders", check_leaders},
    {"rejoining", check_rejoining},
    {"ledger", check_ledger},
    {"deadlocks", check_deadlocks},
    {"access", check_access},
}};

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return "note";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return "unknown";
}

std::vector<std::string> lines_of(const std::vector<Finding>& findings) {
  constexpr std::size_t kSeverityColumns = 9;  // "warning" and two blanks.
  std::vector<std::string> lines;
  for (const Finding& each : findings) {
    std::string line{severity_name(each.severity)};
    line.resize(kSeverityColumns, ' ');
    line += std::string{each.check} + (each.node == 0 ? "" : ", node " + text_of(each.node));
    lines.push_back(line + ": " + each.what);
    lines.push_back(std::string(kSeverityColumns, ' ') + each.advice);
  }
  return lines;
}

std::vector<Finding> examine(const ClusterFacts& facts, const ExaminationLimits& limits) {
  Findings findings;
  for (const auto& [name, check] : kChecks) {
    check(Inspection{facts, limits, name, findings});
  }
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
  return findings;
}

std::vector<std::string_view> check_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, check] : kChecks) {
    names.push_back(name);
  }
  return names;
}

}  // namespace gcoord::cli
