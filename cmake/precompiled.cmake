# Precompiles headers of the standard library, and for tests those of gtest and gmock, once for all targets of the same flags,
# so that the compiler does not read them again for every source. A source includes what it uses all the same: the tsan and
# clang presets and all_verify_interface_header_sets build without these files. Only headers that most sources use are in
# a set, because g++ loads all of it for each source.
option(GCOORD_PCH "Precompile headers of the standard library and of others (g++ only)" ON)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(GCOORD_PCH OFF)
endif()

# ccache asks for the first option. The warnings are those that g++ 12 gives falsely of std::string once it comes from such a
# file; the other presets keep them.
function(gcoord_precompiled_flags target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# gcoord_precompile(<set> LINK ... HEADERS ...): the standard library and HEADERS, for gcoord_use_precompiled.
function(gcoord_precompile set)
  cmake_parse_arguments(ARG "" "" "LINK;HEADERS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${set}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Empty: what is wanted is the header.\n")
  add_library(${set} OBJECT ${source})
  target_link_libraries(${set} PRIVATE gcoord_warnings gcoord_sanitize ${ARG_LINK})
  target_precompile_headers(${set} PRIVATE
    <cstddef> <algorithm> <array> <atomic> <bit> <charconv> <chrono> <condition_variable> <cstdint> <cstdio> <cstring> <deque>
    <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
    <string_view> <thread> <tuple> <unordered_map> <utility> <vector> ${ARG_HEADERS})
  gcoord_precompiled_flags(${set})
endfunction()

# gcoord_use_precompiled(<target> <set>): instead of another, if it was to use one.
function(gcoord_use_precompiled target set)
  if(GCOORD_PCH)
    set_property(GLOBAL APPEND PROPERTY gcoord_precompiling ${target})
    set_target_properties(${target} PROPERTIES gcoord_precompiled ${set})
  endif()
endfunction()

# At the end of the root's CMakeLists.txt: what a target uses is set once, since CMake lets nobody change it.
function(gcoord_precompiled_decided)
  get_property(targets GLOBAL PROPERTY gcoord_precompiling)
  list(REMOVE_DUPLICATES targets)
  foreach(target IN LISTS targets)
    get_target_property(set ${target} gcoord_precompiled)
    target_precompile_headers(${target} REUSE_FROM ${set})
    gcoord_precompiled_flags(${target})
  endforeach()
endfunction()

if(GCOORD_PCH)
  gcoord_precompile(gcoord_precompiled)
  gcoord_precompile(gcoord_precompiled_packaged)
  set_target_properties(gcoord_precompiled_packaged PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(GCOORD_TESTS)
    gcoord_precompile(gcoord_precompiled_tests LINK GTest::gmock HEADERS <gtest/gtest.h> <gmock/gmock.h>)
    target_compile_options(gcoord_precompiled_tests PRIVATE -O0)
  endif()
endif()
