// Command lines of benchmarks.
#pragma once

#include "bench/cluster/bench_options.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace gcoord::bench {

struct Benchmark {
  const char* name;
  const char* what;
  BenchResult (*run)(const BenchOptions&);
  std::uint32_t shards;  // Of its clusters, unless the user says another number.
  bool takes_durability = false;
};

struct Arguments {
  // With the gcoordd that lies beside this program; shards are 0 until somebody says a number.
  Arguments();

  BenchOptions options;
  bool json = false;
  bool keep_result = true;
  double seconds = 5;
  std::string results_directory = "bench/results";
};

// Lets `command` take what there is to say of this benchmark. Both arguments outlive the parse.
void add_options(CLI::App& command, const Benchmark& benchmark, Arguments& arguments);

}  // namespace gcoord::bench
