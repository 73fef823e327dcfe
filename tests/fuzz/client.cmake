# Replies as a node gone wrong, or somebody who only claims to be one, may send them to a client.
gcoord_fuzz_test(NAME node_reply_fuzz
  SOURCES node_reply_fuzz.cc
  DEPS client/net common protocol protocol/ledger)
# Messages of name servers.
gcoord_fuzz_test(NAME dns_answer_fuzz
  SOURCES dns_answer_fuzz.cc
  DEPS client/discovery)
