gcoord_fuzz_test(NAME wal_fuzz SOURCES wal_fuzz.cc DEPS ledger)
gcoord_fuzz_test(NAME proof_fuzz SOURCES proof_fuzz.cc DEPS cli)
gcoord_fuzz_test(NAME note_fuzz SOURCES note_fuzz.cc DEPS ledger_proof)
gcoord_fuzz_test(NAME checkpoint_fuzz SOURCES checkpoint_fuzz.cc DEPS ledger_proof)
