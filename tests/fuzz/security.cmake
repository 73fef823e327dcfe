# Tokens, keys and verifiers, as a stranger may send them.
gcoord_fuzz_test(NAME token_fuzz
  SOURCES token_fuzz.cc
  DEPS common security/credentials)
