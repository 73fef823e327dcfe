# Tokens, keys and verifiers, as a stranger may send them.
gcoord_fuzz_test(NAME token_fuzz
  SOURCES token_fuzz.cc
  DEPS common protocol protocol/identities security/credentials)
# Bytes of a TLS connection as a stranger may send them, before and after the handshake.
gcoord_fuzz_test(NAME tls_session_fuzz
  SOURCES tls_session_fuzz.cc
  DEPS common security/tls)
if(TARGET tls_session_fuzz)
  target_link_libraries(tls_session_fuzz PRIVATE test_certificates)
endif()
# Limits, and requests about them, as a damaged log or a stranger may hold them.
gcoord_fuzz_test(NAME limits_fuzz
  SOURCES limits_fuzz.cc
  DEPS protocol protocol/ledger protocol/limits security/limits)
# Users and roles as a damaged log or a damaged state may hold them.
gcoord_fuzz_test(NAME access_fuzz
  SOURCES access_fuzz.cc
  DEPS common security/roles)
# Certificates, revocation lists and identities from outside.
gcoord_fuzz_test(NAME certificate_fuzz
  SOURCES certificate_fuzz.cc
  DEPS common security/certificates)
# Notes of the ledger and tables of them, as a damaged log or a stranger may hold them.
gcoord_fuzz_test(NAME audit_note_fuzz
  SOURCES audit_note_fuzz.cc
  DEPS common protocol protocol/audit security/audit)
# Sealed records between nodes, as anybody may send them.
gcoord_fuzz_test(NAME record_fuzz
  SOURCES record_fuzz.cc
  DEPS common security/records)
# Signed votes as a node may send them, and evidence of double votes.
gcoord_fuzz_test(NAME evidence_fuzz
  SOURCES evidence_fuzz.cc
  DEPS common ledger/notes server/evidence)
