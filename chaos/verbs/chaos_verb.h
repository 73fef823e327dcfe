// One verb of `./gcoord chaos`: its name, what it is for, and the function that runs it.
//
// A verb reads its own arguments: argv[0] is its name. It returns the exit code: 0 nothing is
// wrong, 1 something is, or is undecided, 2 wrong usage. stdout is for results; with --json the
// last line is one object. To add one, declare its function here and list it in gcoord_chaos.cc.
#pragma once

namespace gcoord::chaos {

struct ChaosVerb {
  const char* name;
  const char* purpose;
  int (*run)(int argc, char** argv);
};

int run_sim_verb(int argc, char** argv);
int run_replay_verb(int argc, char** argv);
int run_disks_verb(int argc, char** argv);
int run_live_verb(int argc, char** argv);
int run_mutants_verb(int argc, char** argv);
int run_fencing_verb(int argc, char** argv);
int run_upgrade_verb(int argc, char** argv);

}  // namespace gcoord::chaos
