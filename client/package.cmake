# The client library as others install it: `cmake --install BUILD --component client --prefix DIR`.
#
# One shared and one static library, each with everything in it but the C and C++ runtimes, libssl and libcrypto; the public headers;
# a CMake configuration (find_package(gcoord), targets gcoord::client and gcoord::client_static) and gcoord.pc. What is
# installed does not know where: it may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Programs that were linked against one number run with any later library of that number.
set(client_abi 0)

set(client_rooms client/access client/api client/audit client/c client/core client/credentials client/discovery
  client/dispatch client/elections client/groups client/health client/ledger client/limits client/locks client/members
  client/net client/nodes client/notices client/reads client/records client/rendezvous client/sessions client/watches
  netcore/client_ring protocol protocol/access protocol/audit protocol/groups protocol/identities protocol/ledger
  protocol/limits protocol/logs
  protocol/members protocol/rendezvous common common/host common/text security/audit security/credentials
  security/limits security/roles security/secret security/tls)
list(TRANSFORM client_rooms REPLACE "/" "_")
gcoord_packaged(${client_rooms})
set(client_objects)
foreach(room IN LISTS client_rooms)
  list(APPEND client_objects $<TARGET_OBJECTS:gcoord_${room}>)
endforeach()
file(GLOB client_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/client/include/gcoord/*.h)

add_library(gcoord_client_shared SHARED ${client_objects})
target_link_libraries(gcoord_client_shared PRIVATE gcoord_sanitize Threads::Threads OpenSSL::SSL OpenSSL::Crypto resolv)
# Templates of the standard library would show otherwise, whatever the visibility of what they are made of.
set(client_symbols ${PROJECT_SOURCE_DIR}/client/package.map)
target_link_options(gcoord_client_shared PRIVATE -Wl,--version-script=${client_symbols} -Wl,-z,defs)
set_target_properties(gcoord_client_shared PROPERTIES LINK_DEPENDS ${client_symbols} VERSION ${PROJECT_VERSION}
  SOVERSION ${client_abi} EXPORT_NAME client)
if(GCOORD_SANITIZE)
  # The runtime of a sanitizer comes with the program.
  target_link_options(gcoord_client_shared PRIVATE -Wl,-z,undefs)
endif()

add_library(gcoord_client_static STATIC ${client_objects})
target_link_libraries(gcoord_client_static INTERFACE Threads::Threads OpenSSL::SSL OpenSSL::Crypto resolv)
set_target_properties(gcoord_client_static PROPERTIES EXPORT_NAME client_static)

foreach(library gcoord_client_shared gcoord_client_static)
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME gcoord_client
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_compile_features(${library} INTERFACE cxx_std_20)
  target_sources(${library} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/client/include FILES ${client_headers})
  # Verified where gcoord_library declares them.
  set_target_properties(${library} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
endforeach()

set(client_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gcoord)
install(TARGETS gcoord_client_shared gcoord_client_static EXPORT gcoord
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client NAMELINK_COMPONENT client
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client)
install(EXPORT gcoord NAMESPACE gcoord:: FILE gcoordTargets.cmake DESTINATION ${client_config_folder} COMPONENT client)
configure_package_config_file(${PROJECT_SOURCE_DIR}/client/gcoordConfig.cmake.in ${PROJECT_BINARY_DIR}/client/gcoordConfig.cmake
  INSTALL_DESTINATION ${client_config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/client/gcoordConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/client/gcoordConfig.cmake ${PROJECT_BINARY_DIR}/client/gcoordConfigVersion.cmake
  DESTINATION ${client_config_folder} COMPONENT client)

# From the folder of gcoord.pc up to the prefix.
file(RELATIVE_PATH client_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/client/gcoord.pc.in ${PROJECT_BINARY_DIR}/client/gcoord.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/client/gcoord.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT client)
