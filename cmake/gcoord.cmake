# The one way to declare a library, a program or a test, so that flags, floors and header checks are the same everywhere.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Clones share what one of them has compiled: the cache sees paths from the root of the clone on, and objects name sources
# that way too.
find_program(GCOORD_CCACHE ccache)
if(NOT GCOORD_CCACHE OR DEFINED ENV{GCOORD_NO_CCACHE})
  set(GCOORD_CCACHE "")
else()
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${GCOORD_CCACHE})
endif()
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)

# Either links in a fraction of GNU ld's time. Not where nvcc links, which does not know the option.
option(GCOORD_FAST_LINKER "Link with mold, or else lld, where the compiler has one" ON)
if(GCOORD_FAST_LINKER)
  include(CheckLinkerFlag)
  foreach(linker lld mold)
    check_linker_flag(CXX -fuse-ld=${linker} GCOORD_HAS_${linker})
    if(GCOORD_HAS_${linker})
      set(fast_linker ${linker})
    endif()
  endforeach()
  if(fast_linker)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=${fast_linker}>)
  endif()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/unity.cmake)

# Warnings are errors for our own code only; every target links this privately.
add_library(gcoord_warnings INTERFACE)
target_compile_options(gcoord_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror;-Wno-missing-field-initializers>
  # clang 14 takes the branchless "&" and "|" of the step, which device code needs, for mistakes, and warns by -Wall of
  # what GCC's -Wall leaves alone.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-bitwise-instead-of-logical;-Wno-bitwise-conditional-parentheses;-Wno-overloaded-virtual>)
add_library(gcoord_sanitize INTERFACE)
if(GCOORD_SANITIZE)
  target_compile_options(gcoord_sanitize INTERFACE -fsanitize=${GCOORD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gcoord_sanitize INTERFACE -fsanitize=${GCOORD_SANITIZE})
  if(GCOORD_SANITIZE STREQUAL thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ warns that ThreadSanitizer does not model the fences of asio's headers.
    target_compile_options(gcoord_sanitize INTERFACE -Wno-tsan)
  endif()
endif()
# Every library counts what a fuzz target reaches; only targets themselves have libFuzzer's main (tests/fuzz).
option(GCOORD_LIBFUZZER "Build the fuzz targets with libFuzzer (clang only)" OFF)
if(GCOORD_LIBFUZZER)
  target_compile_options(gcoord_sanitize INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
  target_link_options(gcoord_sanitize INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Rooms are named by their folders, `server/peers`; targets cannot have a slash: gcoord_server_peers.
function(gcoord_targets_of folders out)
  list(TRANSFORM folders REPLACE "/" "_")
  list(TRANSFORM folders PREPEND gcoord_)
  set(${out} ${folders} PARENT_SCOPE)
endfunction()

# gcoord_library(SOURCES ... HEADERS ... DEPS <lower folders> LINK <third-party targets> PRIVATE_LINK ... NO_UNITY <sources>)
# makes the target of the folder it is called in, or of NAME. HEADERS are verified to be self-contained: those of a source by
# that source, which includes its own header first (tests/tidy holds it to that), the others by target
# all_verify_interface_header_sets. NO_UNITY names sources that do not share a unit with others (cmake/unity.cmake).
function(gcoord_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;HEADERS;DEPS;LINK;PRIVATE_LINK;NO_UNITY" ${ARGN})
  if(NOT ARG_NAME)
    file(RELATIVE_PATH ARG_NAME ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  gcoord_targets_of("${ARG_NAME}" target)
  gcoord_targets_of("${ARG_DEPS}" deps)
  if(ARG_SOURCES)
    gcoord_unity(${target} "${ARG_SOURCES}" "${ARG_NO_UNITY}" units)
    add_library(${target} STATIC ${units})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE gcoord_warnings)
    gcoord_use_precompiled(${target} gcoord_precompiled)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  set(alone ${ARG_HEADERS})
  set(with_source ${ARG_SOURCES})
  list(FILTER with_source INCLUDE REGEX "\\.cc$")
  list(TRANSFORM with_source REPLACE "\\.cc$" ".h")
  list(REMOVE_ITEM alone ${with_source})
  list(FILTER alone EXCLUDE REGEX "\\.cuh$")  # Kernels: nvcc alone compiles them (tests/tidy/nvcc_headers.sh).
  set(with_source ${ARG_HEADERS})
  list(REMOVE_ITEM with_source ${alone})
  target_sources(${target} ${scope}
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone}
    FILE_SET with_source TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${with_source})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  target_link_libraries(${target} ${scope} gcoord_sanitize ${deps} ${ARG_LINK})
  if(ARG_PRIVATE_LINK)
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE_LINK})
  endif()
endfunction()

# gcoord_packaged(<folders>): their objects also go into the shared library that others install (client/package.cmake).
# It shows its interface only; hidden symbols also spare every other program the price of code that may lie anywhere.
function(gcoord_packaged)
  gcoord_targets_of("${ARGN}" targets)
  set_target_properties(${targets} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  foreach(target IN LISTS targets)
    gcoord_use_precompiled(${target} gcoord_precompiled_packaged)
  endforeach()
endfunction()

# gcoord_program(NAME <binary> SOURCES ... DEPS <folders> LINK ... NO_UNITY <sources>)
function(gcoord_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS;LINK;NO_UNITY" ${ARGN})
  gcoord_targets_of("${ARG_DEPS}" deps)
  gcoord_unity(${ARG_NAME} "${ARG_SOURCES}" "${ARG_NO_UNITY}" units)
  add_executable(${ARG_NAME} ${units})
  target_link_libraries(${ARG_NAME} PRIVATE gcoord_warnings gcoord_sanitize ${deps} ${ARG_LINK})
  gcoord_use_precompiled(${ARG_NAME} gcoord_precompiled)
endfunction()

# gcoord_bundled(<program>): part of the install component `bundle` (deploy/bundle.sh). It finds its libraries in ../lib;
# the old kind of run path also serves what those libraries need in turn.
function(gcoord_bundled program)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
  install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT bundle)
endfunction()

# gcoord_test(NAME <name> SOURCES ... DEPS <folders> LINK ... LABELS ... NO_UNITY ...): a gtest binary; each case is one ctest test.
# Labels: fuzz, sanitize (both also run under ASan and UBSan in ./gcoord test), threads (also run under TSan there), gpu
# (also run in the build with CUDA, where there is a GPU), nic, slow.
# JUDGED: cases, as --gtest_filter names them, that take too long for ctest; ./gcoord judge turns alone runs them.
add_custom_target(gcoord_sanitize_tests)
add_custom_target(gcoord_threads_tests)
add_custom_target(gcoord_gpu_tests)
# Without OPTIMISED what a case itself does is compiled as it is written: it runs once, optimising what it expects takes
# longer than it saves, and is half of what a test takes to compile. With it a test that computes for long stays quick.
function(gcoord_test)
  cmake_parse_arguments(ARG "OPTIMISED" "NAME" "SOURCES;DEPS;LINK;LABELS;NO_UNITY;JUDGED" ${ARGN})
  if(NOT GCOORD_TESTS)
    return()
  endif()
  gcoord_targets_of("${ARG_DEPS}" deps)
  set(units ${ARG_SOURCES})
  if(GCOORD_UNITY_TESTS)
    gcoord_unity(${ARG_NAME} "${ARG_SOURCES}" "${ARG_NO_UNITY}" units)
  endif()
  add_executable(${ARG_NAME} ${units})
  target_link_libraries(${ARG_NAME}
    PRIVATE gcoord_warnings gcoord_sanitize ${deps} ${ARG_LINK} source_dir GTest::gmock GTest::gtest_main)
  if(ARG_OPTIMISED)
    gcoord_use_precompiled(${ARG_NAME} gcoord_precompiled)
  else()
    target_compile_options(${ARG_NAME} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
    gcoord_use_precompiled(${ARG_NAME} gcoord_precompiled_tests)
  endif()
  set(filter "")
  if(ARG_JUDGED)
    list(JOIN ARG_JUDGED ":" filter)
    set(filter TEST_FILTER "-${filter}")
  endif()
  gtest_discover_tests(${ARG_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 ${filter} PROPERTIES TIMEOUT 600)
  if(ARG_LABELS)
    gcoord_label_tests(${ARG_NAME} "${ARG_LABELS}")
  endif()
endfunction()

# gcoord_hd_test(NAME <name> SOURCES ... DEPS <folders>): tests whose bodies also run in a kernel (tests/hd_test.h). The
# same sources, compiled by nvcc where the build has it; label gpu beside the host's.
function(gcoord_hd_test)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  if(GCOORD_CUDA)
    set_source_files_properties(${ARG_SOURCES} PROPERTIES LANGUAGE CUDA)
  endif()
  gcoord_test(NAME ${ARG_NAME} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} LABELS gpu sanitize NO_UNITY ${ARG_SOURCES})
endfunction()

# gtest_discover_tests flattens a list given as a property, so labels are set by a file that ctest reads after discovery.
function(gcoord_label_tests target labels)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
    "foreach(case IN LISTS @target@_TESTS)\n  set_tests_properties(\"\${case}\" PROPERTIES LABELS \"@labels@\")\nendforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
  if("fuzz" IN_LIST labels OR "sanitize" IN_LIST labels)
    add_dependencies(gcoord_sanitize_tests ${target})
  endif()
  if("threads" IN_LIST labels)
    add_dependencies(gcoord_threads_tests ${target})
  endif()
  if("gpu" IN_LIST labels)
    add_dependencies(gcoord_gpu_tests ${target})
  endif()
endfunction()
