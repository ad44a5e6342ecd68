# SPDX-License-Identifier: Apache-2.0
# Debian's libcaf-dev has no CMake package. Defines CAF::core and CAF::io; the version is read from
# the header, since everything here is written for 0.17.
find_path(CAF_INCLUDE_DIR caf/all.hpp)
find_library(CAF_CORE_LIBRARY caf_core)
find_library(CAF_IO_LIBRARY caf_io)
if(CAF_INCLUDE_DIR)
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_version_line REGEX "#define CAF_VERSION ")
  string(REGEX MATCH "[0-9]+" CAF_VERSION_NUMBER "${caf_version_line}")
endif()
set(CAF_VERSION_FITS FALSE)
if(CAF_VERSION_NUMBER MATCHES "^17")
  set(CAF_VERSION_FITS TRUE)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_CORE_LIBRARY CAF_IO_LIBRARY CAF_INCLUDE_DIR CAF_VERSION_FITS
  REASON_FAILURE_MESSAGE "codeq needs CAF 0.17, found CAF_VERSION ${CAF_VERSION_NUMBER}")
foreach(part core io)
  string(TOUPPER ${part} upper)
  if(CAF_FOUND AND NOT TARGET CAF::${part})
    add_library(CAF::${part} UNKNOWN IMPORTED)
    set_target_properties(CAF::${part} PROPERTIES
      IMPORTED_LOCATION "${CAF_${upper}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
      INTERFACE_COMPILE_DEFINITIONS CAF_ENABLE_TYPE_ID_CHECKS)
  endif()
endforeach()
if(TARGET CAF::io)
  set_property(TARGET CAF::io PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
endif()
if(TARGET CAF::core)
  set_property(TARGET CAF::core PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
