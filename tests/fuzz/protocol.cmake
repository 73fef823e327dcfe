# Frames as a stranger on the client port, or a node gone wrong, may send them.
gcoord_fuzz_test(NAME client_frame_fuzz
  SOURCES client_frame_fuzz.cc
  DEPS common locks/commands protocol protocol/ledger protocol/logs)
