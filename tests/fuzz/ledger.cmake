gcoord_fuzz_test(NAME wal_fuzz SOURCES wal_fuzz.cc DEPS ledger)
gcoord_fuzz_test(NAME proof_fuzz SOURCES proof_fuzz.cc DEPS cli)
gcoord_fuzz_test(NAME snapshot_fuzz SOURCES snapshot_fuzz.cc DEPS ledger_snapshot)
