// gcoord-chaos: faults by the thousand, and judges for what comes of them. `./gcoord chaos VERB`.
#include "chaos/verbs/chaos_verb.h"

#include <cstdio>
#include <cstring>

namespace {

constexpr gcoord::chaos::ChaosVerb kVerbs[] = {
    {"sim", "run seeds of a simulated cluster under faults", gcoord::chaos::run_sim_verb},
    {"replay", "run one seed again and print its faults", gcoord::chaos::run_replay_verb},
    {"disks",
     "lose power between any two disk operations, and flip bits",
     gcoord::chaos::run_disks_verb},
    {"live", "run real nodes under load and faults of every class", gcoord::chaos::run_live_verb},
    {"mutants", "plant classic mistakes and search for each", gcoord::chaos::run_mutants_verb},
    {"fencing",
     "stop lock holders beyond their TTL, with gcoord and with etcd",
     gcoord::chaos::run_fencing_verb},
    {"upgrade",
     "roll nodes to this release, back and up again, under load",
     gcoord::chaos::run_upgrade_verb},
};

void print_usage(std::FILE* to) {
  std::fputs("usage: gcoord chaos VERB [arguments]; each VERB has --help\n\n", to);
  for (const auto& verb : kVerbs) {
    std::fprintf(to, "  %-10s %s\n", verb.name, verb.purpose);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  for (const auto& verb : kVerbs) {
    if (std::strcmp(name, verb.name) == 0) {
      return verb.run(argc - 1, argv + 1);
    }
  }
  const bool asked = std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0;
  print_usage(asked ? stdout : stderr);
  return asked ? 0 : 2;
}
