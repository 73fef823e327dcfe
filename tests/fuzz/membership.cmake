# Cluster views as a damaged log or a foreign peer may hold them.
gcoord_fuzz_test(NAME cluster_view_fuzz
  SOURCES cluster_view_fuzz.cc
  DEPS common membership/view protocol/members)

# Datagrams of failure detection.
gcoord_fuzz_test(NAME detector_message_fuzz
  SOURCES detector_message_fuzz.cc
  DEPS common membership/detector)
# Groups and rendezvous as a stranger, a damaged log or a damaged state may hold them.
gcoord_fuzz_test(NAME groups_fuzz
  SOURCES groups_fuzz.cc
  DEPS common membership/groups membership/rendezvous protocol/groups protocol/rendezvous)
