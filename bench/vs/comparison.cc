#include "bench/vs/comparison.h"

#include "bench/load/load_report.h"
#include "bench/report/results_file.h"
#include "chaos/process/scratch_directory.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {

namespace {

constexpr const char* kFigures[] = {
    "pairs_per_s", "pair_p50_ms", "pair_p99_ms", "lock_p50_ms", "lock_p99_ms"};

// The place of Shape::Many in kShapes.
constexpr std::size_t kMany = 1;
static_assert(kShapes[kMany] == Shape::Many);

// A way that was tried is judged by what its shape is about: one client's latency, else the rate.
bool better(Shape shape, const Json& one, const Json& other) {
  const char* figure = shape == Shape::One ? "pair_p50_ms" : "pairs_per_s";
  const double left = number_of(one[figure]).value_or(0);
  const double right = number_of(other[figure]).value_or(0);
  return shape == Shape::One ? left < right : left > right;
}

Json failed(const Status& status) {
  return {{"failed", status.message()}};
}

// A peer that is there, and the way that serves it best for each shape.
struct Entrant {
  Peer* peer = nullptr;
  Json facts;
  std::size_t ways[kShapes.size()] = {};
};

struct Attempt {
  Shape shape;
  std::size_t way;
};

class AlternatingRuns {
 public:
  explicit AlternatingRuns(const ComparisonOptions& options) : options_(options) {}

  Result<Json> run(const std::vector<std::unique_ptr<Peer>>& peers) {
    for (const auto& peer : peers) {
      GCOORD_TRY_STATUS(admit(*peer));
    }
    Json runs = Json::array();
    for (std::uint32_t round = 1; round <= options_.rounds; ++round) {
      for (const Entrant& entrant : entrants_) {
        std::fprintf(
            stderr, "round %u of %u: %s\n", round, options_.rounds, entrant.peer->name().c_str());
        runs.push_back(run_once(entrant, round));
      }
    }
    return report(std::move(runs));
  }

 private:
  Status admit(Peer& peer) {
    const auto facts = peer.describe();
    if (!facts.ok()) {
      std::fprintf(
          stderr, "%s is not run: %s\n", peer.name().c_str(), facts.status().message().c_str());
      not_run_.push_back({{"name", peer.name()}, {"reason", facts.status().message()}});
      return Status{};
    }
    Entrant entrant{.peer = &peer, .facts = facts_json(facts.value())};
    print_facts(facts.value());
    GCOORD_TRY(entrant.facts["ways"], choose_ways(entrant));
    entrants_.push_back(std::move(entrant));
    return Status{};
  }

  static void print_facts(const PeerFacts& facts) {
    std::fprintf(
        stderr, "%s %s, nodes: %u\n", facts.name.c_str(), facts.version.c_str(), facts.nodes);
    for (const std::string& setting : facts.settings) {
      std::fprintf(stderr, "  setting: %s\n", setting.c_str());
    }
  }

  // The cluster of one run; the peer is stopped before its data goes.
  template <typename Use>
  Result<Json> with_cluster(Peer& peer, Use use) {
    GCOORD_TRY(const auto scratch, chaos::ScratchDirectory::make(options_.directory, peer.name()));
    Status started = peer.start(scratch.path());
    Result<Json> result = started.ok() ? use() : Result<Json>{std::move(started)};
    peer.stop();
    return result;
  }

  Result<Json> measure(Peer& peer, const Attempt& attempt, std::chrono::milliseconds length) {
    const Shape shape = attempt.shape;
    PeerLoad load;
    load.shape = shape;
    load.length.clients = shape == Shape::One    ? 1
                          : shape == Shape::Many ? options_.clients
                                                 : options_.pipelined;
    load.length.warm_up = std::min(options_.warm_up, length);
    load.length.measured = length;
    load.name_prefix = "bench-" + std::to_string(++prefix_count_);
    GCOORD_TRY(const LoadResult result, peer.run(attempt.way, load));
    return report_load(result, peer.name(), load.length.clients);
  }

  // A failure shows in what is measured after it.
  void settle(Peer& peer, std::size_t way) {
    PeerLoad load{.shape = Shape::Many, .name_prefix = "settle-" + std::to_string(++prefix_count_)};
    load.length = {.clients = options_.clients,
                   .warm_up = std::chrono::milliseconds{0},
                   .measured = options_.settled};
    static_cast<void>(peer.run(way, load));
  }

  Result<Json> choose_ways(Entrant& entrant) {
    return with_cluster(*entrant.peer, [&]() -> Result<Json> {
      settle(*entrant.peer, 0);
      Json all = Json::object();
      for (std::size_t at = 0; at < kShapes.size(); ++at) {
        GCOORD_TRY(all[shape_name(kShapes[at])], choose_way(entrant, at));
      }
      return all;
    });
  }

  Result<Json> choose_way(Entrant& entrant, std::size_t at) {
    const Shape shape = kShapes[at];
    const std::size_t ways = entrant.peer->way_count(shape);
    Json tried = Json::array();
    std::optional<Json> best;
    for (std::size_t way = 0; way < ways; ++way) {
      const std::string text = entrant.peer->way_text(shape, way);
      std::fprintf(stderr, "  try: %s\n", text.c_str());
      const auto measured = measure(*entrant.peer, {shape, way}, options_.tried);
      Json figures = measured.ok() ? measured.value() : failed(measured.status());
      if (measured.ok() && (!best || better(shape, measured.value(), *best))) {
        best = measured.value();
        entrant.ways[at] = way;
      }
      figures["way"] = text;
      tried.push_back(std::move(figures));
    }
    if (!best) {
      return Status{StatusCode::Aborted,
                    entrant.peer->name() + " could be driven in no way: " + tried.dump()};
    }
    return Json{{"best", entrant.peer->way_text(shape, entrant.ways[at])},
                {"tried", std::move(tried)}};
  }

  Json run_once(const Entrant& entrant, std::uint32_t round) {
    auto shapes = with_cluster(*entrant.peer, [&]() -> Result<Json> {
      settle(*entrant.peer, entrant.ways[kMany]);
      Json all = Json::object();
      for (std::size_t at = 0; at < kShapes.size(); ++at) {
        const auto figures =
            measure(*entrant.peer, {kShapes[at], entrant.ways[at]}, options_.measured);
        all[shape_name(kShapes[at])] = figures.ok() ? figures.value() : failed(figures.status());
      }
      return all;
    });
    Json run{{"round", round}, {"peer", entrant.peer->name()}};
    if (shapes.ok()) {
      merge_members(run, shapes.value());
    } else {
      for (const Shape shape : kShapes) {
        run[shape_name(shape)] = failed(shapes.status());
      }
    }
    return run;
  }

  // Of the runs of this peer that did not fail.
  static Json summary_of(const Json& runs, const std::string& peer, std::string_view shape) {
    Json summary = Json::object();
    std::vector<const Json*> measured;
    std::uint32_t failures = 0;
    for (const Json& run : runs) {
      if (run["peer"].text() == peer) {
        const Json& figures = run[shape];
        if (figures.contains("failed")) {
          ++failures;
        } else {
          measured.push_back(&figures);
        }
      }
    }
    for (const char* figure : kFigures) {
      std::vector<double> values;
      for (const Json* figures : measured) {
        if (const auto value = number_of((*figures)[figure])) {
          values.push_back(*value);
        }
      }
      if (!values.empty()) {
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        summary[figure] =
            Json{{"median", rounded(median(values))}, {"least", *least}, {"most", *most}};
      }
    }
    summary["failed_runs"] = failures;
    return summary;
  }

  Json report(Json runs) const {
    Json peers = Json::array();
    Json summary = Json::object();
    for (const Entrant& entrant : entrants_) {
      peers.push_back(entrant.facts);
      Json shapes = Json::object();
      for (const Shape shape : kShapes) {
        shapes[shape_name(shape)] = summary_of(runs, entrant.peer->name(), shape_name(shape));
      }
      summary[entrant.peer->name()] = std::move(shapes);
    }
    return {{"rounds", options_.rounds},
            {"clients", options_.clients},
            {"pipelined_names", options_.pipelined},
            {"settled_ms", options_.settled.count()},
            {"warm_up_ms", options_.warm_up.count()},
            {"measured_ms", options_.measured.count()},
            {"tried_ms", options_.tried.count()},
            {"peers", std::move(peers)},
            {"not_run", not_run_},
            {"summary", std::move(summary)},
            {"runs", std::move(runs)}};
  }

  const ComparisonOptions& options_;
  std::vector<Entrant> entrants_;
  Json not_run_ = Json::array();
  std::uint32_t prefix_count_ = 0;  // Every load takes names that none took before.
};

}  // namespace

Result<Json> compare(const std::vector<std::unique_ptr<Peer>>& peers,
                     const ComparisonOptions& options) {
  return AlternatingRuns{options}.run(peers);
}

}  // namespace gcoord::bench
