// gcoord-step: the pure consensus step as a conversation in JSON lines
// (docs/reference/machine_interfaces.md).
#include "cli/step/shell.h"
#include "consensus/device/stepper_cuda.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

constexpr int kExitUsage = 2;

constexpr const char* kFooter =
    "Reads one JSON object a line from stdin and answers each with one line on stdout:\n"
    "  {\"op\": \"create\", \"nodes\": 3}\n"
    "  {\"op\": \"campaign\", \"node\": 1}\n"
    "  {\"op\": \"propose\", \"node\": 1, \"commands\": [\"a\"]}\n"
    "docs/reference/machine_interfaces.md lists the operations. Exit code 0 at the end of the "
    "input, 2 on a wrong option.";

constexpr int kDevice = 0;

int refuse(const std::string& reason) {
  std::cerr << "gcoord-step: " << reason << " (GC1001)\n";
  return kExitUsage;
}

// The device answered when the program began; if it does not now, the program ends here.
std::unique_ptr<gcoord::consensus::Stepper> make_cuda_stepper(std::uint32_t row_count,
                                                              std::uint32_t slot_count) {
  auto stepper = gcoord::consensus::make_cuda_stepper(kDevice, row_count, slot_count);
  if (!stepper.ok()) {
    std::exit(refuse(stepper.status().message()));
  }
  return std::move(stepper).value();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Drives a cluster of Raft replicas by hand, with the step that gcoordd runs.");
  app.footer(kFooter);
  std::string stepper = "cpu";
  app.add_option("--stepper", stepper, "Stepper: cpu or cuda")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (stepper != "cpu" && stepper != "cuda") {
    return refuse("--stepper is cpu or cuda");
  }
  if (stepper == "cuda") {
    // Asked for by name: never replaced by the other one.
    const auto probe = gcoord::consensus::make_cuda_stepper(kDevice, 1, 1);
    if (!probe.ok()) {
      return refuse(probe.status().message());
    }
  }
  gcoord::cli::StepShell door(stepper == "cuda" ? make_cuda_stepper
                                                : gcoord::consensus::make_cpu_stepper);
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) {
      std::cout << door.answer(line) << std::endl;
    }
  }
  return 0;
}
