// gcoord-step: the pure consensus step as a conversation in JSON lines (docs/doors.md).
#include "cli/step_door.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <string>

namespace {

constexpr int kExitUsage = 2;

constexpr const char* kFooter =
    "Reads one JSON object a line from stdin and answers each with one line on stdout:\n"
    "  {\"op\": \"create\", \"nodes\": 3}\n"
    "  {\"op\": \"campaign\", \"node\": 1}\n"
    "  {\"op\": \"propose\", \"node\": 1, \"commands\": [\"a\"]}\n"
    "docs/doors.md lists the operations. Exit code 0 at the end of the input, 2 on a wrong option.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Drives a cluster of Raft replicas by hand, over the step that gcoordd runs.");
  app.footer(kFooter);
  std::string stepper = "cpu";
  app.add_option("--stepper", stepper, "What runs the step: cpu or cuda")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (stepper != "cpu") {
    const char* reason = stepper == "cuda" ? "this build has no CUDA stepper; use --stepper cpu"
                                           : "--stepper is cpu or cuda";
    std::cerr << "gcoord-step: " << reason << " (GC1001)\n";
    return kExitUsage;
  }
  gcoord::cli::StepDoor door(gcoord::consensus::make_cpu_stepper);
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) {
      std::cout << door.answer(line) << std::endl;
    }
  }
  return 0;
}
