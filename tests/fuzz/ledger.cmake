gcoord_fuzz_test(NAME wal_fuzz SOURCES wal_fuzz.cc DEPS ledger)
