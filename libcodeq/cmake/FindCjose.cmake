# SPDX-License-Identifier: Apache-2.0
# Finds cjose, which ships no CMake package, and defines the target Cjose::cjose.
find_path(Cjose_INCLUDE_DIR cjose/cjose.h)
find_library(Cjose_LIBRARY cjose)
mark_as_advanced(Cjose_INCLUDE_DIR Cjose_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cjose REQUIRED_VARS Cjose_LIBRARY Cjose_INCLUDE_DIR)
if(Cjose_FOUND AND NOT TARGET Cjose::cjose)
  add_library(Cjose::cjose UNKNOWN IMPORTED)
  set_target_properties(Cjose::cjose PROPERTIES
    IMPORTED_LOCATION "${Cjose_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Cjose_INCLUDE_DIR}")
endif()
