# Cluster views as a damaged log or a foreign peer may hold them.
gcoord_fuzz_test(NAME cluster_view_fuzz
  SOURCES cluster_view_fuzz.cc
  DEPS common membership/view protocol/members)

# Datagrams of failure detection.
gcoord_fuzz_test(NAME detector_message_fuzz
  SOURCES detector_message_fuzz.cc
  DEPS common membership/detector)
