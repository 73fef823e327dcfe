// The command language of the golden scenarios: one command a line, its effects as lines of trace.
//
// tests/consensus/testdata/raft/README.md lists the commands. A script owns the cluster that its
// `cluster` command makes. A command that cannot be understood fails with a sentence; one that
// breaks an invariant leaves a line that begins with "VIOLATION". Host only; one thread.
#pragma once

#include "common/status.h"
#include "consensus/scenario/cluster.h"
#include "consensus/scenario/command_line.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::consensus::scenario {

class Script {
 public:
  Script() = default;

  // Steps with other steppers than the CPU's.
  explicit Script(StepperFactory make_stepper) : make_stepper_(std::move(make_stepper)) {}

  // Runs one command and lets the cluster settle.
  Status run(std::string_view line);

  // What the commands act on; null before `cluster`.
  Cluster* cluster() { return cluster_.get(); }

  // The lines since the last call: trace, answers, violations.
  std::vector<std::string> take_output();

 private:
  using Command = Status (Script::*)(const CommandLine&);

  // The two ends of a link, first two words of many commands.
  struct Ends {
    NodeId from;
    NodeId to;
  };

  struct TableRow {
    std::string_view name;
    Command run;
  };

  static const std::vector<TableRow>& table();

  // script.cc: the cluster, time and the lives of nodes.
  Status make_cluster(const CommandLine& line);
  Status tick(const CommandLine& line);
  Status stop(const CommandLine& line);
  Status start(const CommandLine& line);
  Status restart(const CommandLine& line);
  Status image(const CommandLine& line);
  Status replace(const CommandLine& line);
  Status pause(const CommandLine& line);
  Status resume(const CommandLine& line);
  Status rate(const CommandLine& line);
  Status topic(const CommandLine& line);

  // script_network.cc: links.
  Status partition(const CommandLine& line);
  Status isolate(const CommandLine& line);
  Status cut(const CommandLine& line);
  Status heal(const CommandLine& line);
  Status mute(const CommandLine& line);
  Status unmute(const CommandLine& line);
  Status hold(const CommandLine& line);
  Status release(const CommandLine& line);
  Status deliver(const CommandLine& line);
  Status drop(const CommandLine& line);
  Status duplicate(const CommandLine& line);
  Status reverse(const CommandLine& line);
  Status credit(const CommandLine& line);
  Status inject(const CommandLine& line);

  // script_replica.cc: what a replica's owner may ask for.
  Status campaign(const CommandLine& line);
  Status elect(const CommandLine& line);
  Status propose(const CommandLine& line);
  Status configure(const CommandLine& line);
  Status leave(const CommandLine& line);
  Status transfer(const CommandLine& line);
  Status read(const CommandLine& line);
  Status compact(const CommandLine& line);
  Status snapshot(const CommandLine& line);
  Status snapshot_failed(const CommandLine& line);
  Status storage(const CommandLine& line);
  Status acknowledge(const CommandLine& line);
  Status application(const CommandLine& line);
  Status apply(const CommandLine& line);

  // script_report.cc: questions.
  Status status(const CommandLine& line);
  Status entries(const CommandLine& line);
  Status progress(const CommandLine& line);
  Status applied(const CommandLine& line);
  Status lease(const CommandLine& line);
  Status held(const CommandLine& line);
  Status sent(const CommandLine& line);
  Status liveness(const CommandLine& line);

  // Common to all of them.
  Status repeat(std::string_view text);
  Result<NodeId> node_of(const CommandLine& line, std::size_t place);
  Result<Ends> ends_of(const CommandLine& line);
  Result<std::vector<NodeId>> nodes_of(const CommandLine& line, std::size_t place);
  Result<ShardId> shard_of_line(const CommandLine& line);
  Result<Replica*> replica_of(const CommandLine& line, std::size_t place);

  void say(std::string text) { output_.push_back(std::move(text)); }

  StepperFactory make_stepper_ = make_cpu_stepper;
  std::unique_ptr<Cluster> cluster_;
  std::vector<std::string> output_;
};

}  // namespace gcoord::consensus::scenario
