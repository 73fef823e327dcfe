// Commands of the cluster itself, of time and of the lives of its nodes.
#include "consensus/scenario/commands.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::consensus::scenario {
namespace {

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

// Options of `cluster` that are plain numbers.
Status read_numbers(const CommandLine& line, ClusterOptions& options) {
  const std::vector<std::pair<const char*, std::uint32_t*>> numbers = {
      {"replicas", &options.nodes},
      {"shards", &options.shards},
      {"inbox", &options.inbox_messages},
      {"election", &options.timing.election_ticks},
      {"resend", &options.timing.resend_ticks},
      {"stagger", &options.timing.stagger_ticks},
      {"retry", &options.timing.retry_ticks},
      {"margin", &options.timing.lease_margin_ticks},
      {"window", &options.limits.window_entries},
      {"uncommitted", &options.limits.uncommitted_entries},
      {"entries", &options.limits.message_entries}};
  for (const auto& [name, value] : numbers) {
    GCOORD_TRY(const std::uint64_t number, line.option(name, *value));
    *value = static_cast<std::uint32_t>(number);
  }
  GCOORD_TRY(options.seed, line.option("seed", options.seed));
  return {};
}

Status make_cluster(Scene& scene, const CommandLine& line) {
  ClusterOptions options;
  options.make_stepper = scene.make_stepper();
  GCOORD_TRY_STATUS(read_numbers(line, options));
  GCOORD_TRY(options.members, line.members());
  options.durability = line.has_word("memory") ? Durability::Memory : Durability::Durable;
  options.clocks_astray = line.has_word("clocks-astray");
  return scene.build(options);
}

Status tick(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::uint64_t count, line.number(0));
  scene.cluster().tick(static_cast<std::uint32_t>(count));
  return {};
}

Status stop(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  const bool durable = line.has_word("durable");
  scene.cluster().node(node).stop(durable ? Node::UnderWay::Durable : Node::UnderWay::Lost);
  return {};
}

Status start(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  scene.cluster().node(node).start();
  return {};
}

Status restart(Scene& scene, const CommandLine& line) {
  GCOORD_TRY_STATUS(stop(scene, line));
  scene.cluster().settle();  // What was on the way is lost with the process.
  return start(scene, line);
}

Status image(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  scene.cluster().node(node).keep_image();
  return {};
}

// "replace 3 [image]": node 3's disk is lost, or an old one; it starts as the next generation.
Status replace(Scene& scene, const CommandLine& line) {
  GCOORD_TRY_STATUS(stop(scene, line));
  scene.cluster().settle();
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  const bool image = line.has_word("image");
  scene.cluster().node(node).replace_storage(image ? Node::Found::Image : Node::Found::Nothing);
  return start(scene, line);
}

Status pause(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  scene.cluster().node(node).pause();
  return {};
}

Status resume(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  scene.cluster().node(node).resume();
  return {};
}

// "rate 2 1100": node 2's clock runs 10 % fast.
Status rate(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const NodeId node, scene.node_of(line, 0));
  GCOORD_TRY(const std::uint64_t thousandths, line.number(1));
  scene.cluster().node(node).set_clock_rate(static_cast<std::uint32_t>(thousandths));
  return {};
}

Status topic(Scene& scene, const CommandLine& line) {
  GCOORD_TRY(const std::string name, line.word(0));
  const std::optional<Topic> chosen = topic_named(name);
  if (!chosen.has_value()) {
    return invalid(fmt::format("there is no topic '{}'", name));
  }
  scene.cluster().trace().set_topic(*chosen, !line.has_word("off"));
  return {};
}

}  // namespace

std::span<const CommandRow> life_commands() {
  static constexpr CommandRow kRows[] = {
      {"cluster", make_cluster},
      {"tick", tick},
      {"stop", stop},
      {"start", start},
      {"restart", restart},
      {"image", image},
      {"replace", replace},
      {"pause", pause},
      {"resume", resume},
      {"rate", rate},
      {"log", topic},
  };
  return kRows;
}

}  // namespace gcoord::consensus::scenario
