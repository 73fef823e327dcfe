# Configuration files as an operator, or somebody who may write to one, may leave them.
gcoord_fuzz_test(NAME configuration_fuzz SOURCES configuration_fuzz.cc DEPS server)
gcoord_fuzz_test(NAME publication_fuzz SOURCES publication_fuzz.cc DEPS publication)
gcoord_fuzz_test(NAME coordinator_fuzz SOURCES coordinator_fuzz.cc DEPS coordinator_office)
