# Configuration files as an operator, or somebody who may write to one, may leave them.
gcoord_fuzz_test(NAME configuration_fuzz
  SOURCES configuration_fuzz.cc
  DEPS common protocol server/options)
gcoord_fuzz_test(NAME publication_fuzz
  SOURCES publication_fuzz.cc
  DEPS common common/host ledger/merkle ledger/publication)
gcoord_fuzz_test(NAME coordinator_fuzz
  SOURCES coordinator_fuzz.cc
  DEPS common server/peers)
# Entries of a log on a device as another node, or a damaged disk, may hold them.
gcoord_fuzz_test(NAME lock_entry_fuzz
  SOURCES lock_entry_fuzz.cc
  DEPS common locks/commands locks/cpu server/history server/resident/node)
# Requests and replies where rights are checked.
gcoord_fuzz_test(NAME rights_fuzz
  SOURCES rights_fuzz.cc
  DEPS common protocol protocol/access protocol/groups protocol/logs protocol/members protocol/rendezvous security/roles server/rights)
# Requests on their way into a log on a device: in the lane, and in the frames before it.
gcoord_fuzz_test(NAME ingress_fuzz
  SOURCES ingress_fuzz.cc
  DEPS common locks/commands protocol server/ingress server/resident/node)
