# Users and roles as a damaged log or a damaged state may hold them.
gcoord_fuzz_test(NAME access_fuzz
  SOURCES access_fuzz.cc
  DEPS common security/roles)
# Tokens, keys and verifiers, as a stranger may send them.
gcoord_fuzz_test(NAME token_fuzz
  SOURCES token_fuzz.cc
  DEPS common security/credentials)
