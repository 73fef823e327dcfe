gcoord_fuzz_test(NAME wal_fuzz
  SOURCES wal_fuzz.cc
  DEPS common ledger/disk ledger/wal)
gcoord_fuzz_test(NAME proof_fuzz
  SOURCES proof_fuzz.cc
  DEPS cli/ledger common ledger/merkle protocol)
gcoord_fuzz_test(NAME note_fuzz
  SOURCES note_fuzz.cc
  DEPS common ledger/notes)
gcoord_fuzz_test(NAME checkpoint_fuzz
  SOURCES checkpoint_fuzz.cc
  DEPS common ledger/notes)
gcoord_fuzz_test(NAME tile_path_fuzz
  SOURCES tile_path_fuzz.cc
  DEPS common ledger/merkle ledger/tiles)
gcoord_fuzz_test(NAME bundle_fuzz
  SOURCES bundle_fuzz.cc
  DEPS common ledger/tiles)
gcoord_fuzz_test(NAME tile_fuzz
  SOURCES tile_fuzz.cc
  DEPS common ledger/base ledger/merkle ledger/tiles)
gcoord_fuzz_test(NAME proof_file_fuzz
  SOURCES proof_file_fuzz.cc
  DEPS cli/ledger common ledger/notes protocol)
gcoord_fuzz_test(NAME snapshot_fuzz
  SOURCES snapshot_fuzz.cc
  DEPS common ledger/base ledger/snapshot)
