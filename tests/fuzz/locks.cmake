# Commands as a damaged or foreign log may hold them.
gcoord_fuzz_test(NAME lock_command_fuzz
  SOURCES lock_command_fuzz.cc
  DEPS common locks/commands locks/cpu locks/snapshot)
