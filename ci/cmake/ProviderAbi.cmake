# Defines plumbline::provider_abi, the include directory of plumbline_provider.h, which is all that
# a provider needs. find_package(plumbline) finds it in an installation and in a build directory.
set(provider_headers ${CMAKE_CURRENT_LIST_DIR}/../../harness/provider)
foreach(header plumbline_provider.h plumbline_provider.hpp)
  configure_file(${provider_headers}/${header} ${PROJECT_BINARY_DIR}/include/plumbline/${header}
    COPYONLY)
  list(APPEND header_files ${provider_headers}/${header})
endforeach()
add_library(plumbline_provider_abi INTERFACE)
set_target_properties(plumbline_provider_abi PROPERTIES EXPORT_NAME provider_abi)
target_include_directories(plumbline_provider_abi INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/plumbline>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/plumbline>)
add_library(plumbline::provider_abi ALIAS plumbline_provider_abi)

# A project that adds plumbline as a subdirectory does not install these headers.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/plumbline)
install(FILES ${header_files} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plumbline
  COMPONENT provider_abi)
install(TARGETS plumbline_provider_abi EXPORT plumblineTargets COMPONENT provider_abi)
install(EXPORT plumblineTargets NAMESPACE plumbline::
  DESTINATION ${package_dir} COMPONENT provider_abi)
export(EXPORT plumblineTargets NAMESPACE plumbline::
  FILE ${PROJECT_BINARY_DIR}/cmake/plumblineTargets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/plumblineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/plumblineConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/plumblineConfigVersion.cmake
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/cmake/plumblineConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/plumblineConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT provider_abi)
