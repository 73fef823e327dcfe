# Cluster views as a damaged log or a foreign peer may hold them.
gcoord_fuzz_test(NAME cluster_view_fuzz
  SOURCES cluster_view_fuzz.cc
  DEPS common membership/view protocol/members)
