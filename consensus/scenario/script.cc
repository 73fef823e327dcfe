#include "consensus/scenario/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace gcoord::consensus::scenario {
namespace {

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

}  // namespace

const std::vector<Script::TableRow>& Script::table() {
  static const std::vector<TableRow> rows = {
      {"cluster", &Script::make_cluster},
      {"tick", &Script::tick},
      {"stop", &Script::stop},
      {"start", &Script::start},
      {"restart", &Script::restart},
      {"image", &Script::image},
      {"replace", &Script::replace},
      {"pause", &Script::pause},
      {"resume", &Script::resume},
      {"rate", &Script::rate},
      {"log", &Script::topic},
      {"partition", &Script::partition},
      {"isolate", &Script::isolate},
      {"cut", &Script::cut},
      {"heal", &Script::heal},
      {"mute", &Script::mute},
      {"unmute", &Script::unmute},
      {"hold", &Script::hold},
      {"release", &Script::release},
      {"deliver", &Script::deliver},
      {"drop", &Script::drop},
      {"duplicate", &Script::duplicate},
      {"reverse", &Script::reverse},
      {"credit", &Script::credit},
      {"inject", &Script::inject},
      {"campaign", &Script::campaign},
      {"elect", &Script::elect},
      {"propose", &Script::propose},
      {"configure", &Script::configure},
      {"leave", &Script::leave},
      {"transfer", &Script::transfer},
      {"read", &Script::read},
      {"compact", &Script::compact},
      {"snapshot", &Script::snapshot},
      {"snapshot_failed", &Script::snapshot_failed},
      {"storage", &Script::storage},
      {"ack", &Script::acknowledge},
      {"application", &Script::application},
      {"apply", &Script::apply},
      {"status", &Script::status},
      {"entries", &Script::entries},
      {"progress", &Script::progress},
      {"applied", &Script::applied},
      {"lease", &Script::lease},
      {"held", &Script::held},
      {"sent", &Script::sent},
      {"liveness", &Script::liveness},
  };
  return rows;
}

Status Script::run(std::string_view text) {
  constexpr std::string_view kQuiet = "quiet ";  // The command's trace is of no interest.
  if (text.substr(0, kQuiet.size()) == kQuiet) {
    GCOORD_TRY_STATUS(run(text.substr(kQuiet.size())));
    cluster_->trace().take();
    return {};
  }
  constexpr std::string_view kRepeat = "repeat ";
  if (text.substr(0, kRepeat.size()) == kRepeat) {
    return repeat(text.substr(kRepeat.size()));
  }
  GCOORD_TRY(const CommandLine line, parse_command(text));
  const auto found = std::find_if(
      table().begin(), table().end(), [&](const TableRow& row) { return row.name == line.name; });
  if (found == table().end()) {
    return invalid(fmt::format("there is no command '{}'", line.name));
  }
  if (cluster_ == nullptr && line.name != "cluster") {
    return invalid("the first command is `cluster`");
  }
  GCOORD_TRY_STATUS((this->*found->run)(line));
  cluster_->settle();
  return {};
}

// "12 stop 1; start 1": the commands behind the number, so many times.
Status Script::repeat(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::uint32_t times = 0;
  std::string commands;
  if (!(stream >> times) || !std::getline(stream, commands)) {
    return invalid("repeat wants a number and commands, with semicolons between them");
  }
  for (std::uint32_t k = 0; k < times; ++k) {
    std::istringstream list(commands);
    for (std::string command; std::getline(list, command, ';');) {
      const std::size_t start = command.find_first_not_of(' ');
      GCOORD_TRY_STATUS(run(start == std::string::npos ? command : command.substr(start)));
    }
  }
  return {};
}

std::vector<std::string> Script::take_output() {
  std::vector<std::string> lines = cluster_ == nullptr ? output_ : cluster_->trace().take();
  if (cluster_ != nullptr) {
    std::move(output_.begin(), output_.end(), std::back_inserter(lines));
    for (const std::string& sentence : cluster_->take_violations()) {
      lines.push_back("VIOLATION " + sentence);
    }
  }
  output_.clear();
  return lines;
}

Result<NodeId> Script::node_of(const CommandLine& line, std::size_t place) {
  GCOORD_TRY(const std::uint64_t number, line.number(place));
  if (number < 1 || number > cluster_->node_count()) {
    return invalid(fmt::format("there is no node {}", number));
  }
  return NodeId{static_cast<std::uint32_t>(number)};
}

// All nodes from `place` on; every node of the cluster if the line names none.
Result<std::vector<NodeId>> Script::nodes_of(const CommandLine& line, std::size_t place) {
  std::vector<NodeId> nodes;
  for (std::size_t k = place; k < line.words.size(); ++k) {
    GCOORD_TRY(const NodeId node, node_of(line, k));
    nodes.push_back(node);
  }
  const std::uint32_t all = nodes.empty() ? cluster_->node_count() : 0;
  for (std::uint32_t node = 1; node <= all; ++node) {
    nodes.emplace_back(node);
  }
  return nodes;
}

Result<ShardId> Script::shard_of_line(const CommandLine& line) {
  GCOORD_TRY(const std::uint64_t shard, line.option("shard", 0));
  if (shard >= cluster_->shard_count()) {
    return invalid(fmt::format("there is no shard {}", shard));
  }
  return ShardId{static_cast<std::uint32_t>(shard)};
}

Result<Replica*> Script::replica_of(const CommandLine& line, std::size_t place) {
  GCOORD_TRY(const NodeId node, node_of(line, place));
  GCOORD_TRY(const ShardId shard, shard_of_line(line));
  Replica* replica = cluster_->node(node).replica(shard);
  if (replica == nullptr) {
    return Status{StatusCode::FailedPrecondition, fmt::format("node {} is stopped", node.value)};
  }
  return replica;
}

namespace {

// Options of `cluster` that are plain numbers.
Status read_numbers(const CommandLine& line, ClusterOptions& options) {
  const std::vector<std::pair<const char*, std::uint32_t*>> numbers = {
      {"replicas", &options.nodes},
      {"shards", &options.shards},
      {"inbox", &options.inbox_messages},
      {"election", &options.timing.election_ticks},
      {"resend", &options.timing.resend_ticks},
      {"stagger", &options.timing.stagger_ticks},
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

}  // namespace

Status Script::make_cluster(const CommandLine& line) {
  ClusterOptions options;
  options.make_stepper = make_stepper_;
  GCOORD_TRY_STATUS(read_numbers(line, options));
  GCOORD_TRY(options.members, line.members());
  options.durability = line.has_word("memory") ? Durability::Memory : Durability::Durable;
  options.clocks_astray = line.has_word("clocks-astray");
  GCOORD_TRY(cluster_, Cluster::create(options));
  return {};
}

Status Script::tick(const CommandLine& line) {
  GCOORD_TRY(const std::uint64_t count, line.number(0));
  cluster_->tick(static_cast<std::uint32_t>(count));
  return {};
}

Status Script::stop(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  const bool durable = line.has_word("durable");
  cluster_->node(node).stop(durable ? Node::UnderWay::Durable : Node::UnderWay::Lost);
  return {};
}

Status Script::start(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  cluster_->node(node).start();
  return {};
}

Status Script::restart(const CommandLine& line) {
  GCOORD_TRY_STATUS(stop(line));
  cluster_->settle();  // What was on the way is lost with the process.
  return start(line);
}

Status Script::image(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  cluster_->node(node).keep_image();
  return {};
}

// "replace 3 [image]": node 3's disk is lost, or an old one; it starts as the next generation.
Status Script::replace(const CommandLine& line) {
  GCOORD_TRY_STATUS(stop(line));
  cluster_->settle();
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  const bool image = line.has_word("image");
  cluster_->node(node).replace_storage(image ? Node::Found::Image : Node::Found::Nothing);
  return start(line);
}

Status Script::pause(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  cluster_->node(node).pause();
  return {};
}

Status Script::resume(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  cluster_->node(node).resume();
  return {};
}

// "rate 2 1100": node 2's clock runs 10 % fast.
Status Script::rate(const CommandLine& line) {
  GCOORD_TRY(const NodeId node, node_of(line, 0));
  GCOORD_TRY(const std::uint64_t thousandths, line.number(1));
  cluster_->node(node).set_clock_rate(static_cast<std::uint32_t>(thousandths));
  return {};
}

Status Script::topic(const CommandLine& line) {
  GCOORD_TRY(const std::string name, line.word(0));
  const std::optional<Topic> chosen = topic_named(name);
  if (!chosen.has_value()) {
    return invalid(fmt::format("there is no topic '{}'", name));
  }
  cluster_->trace().set_topic(*chosen, !line.has_word("off"));
  return {};
}

}  // namespace gcoord::consensus::scenario
