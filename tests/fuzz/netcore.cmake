# Frames as a stranger or a peer may send them.
gcoord_fuzz_test(NAME peer_frame_fuzz
  SOURCES peer_frame_fuzz.cc
  DEPS common netcore/channel netcore/memory netcore/transport)
