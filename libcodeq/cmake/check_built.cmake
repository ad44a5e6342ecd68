# SPDX-License-Identifier: Apache-2.0
# The first step of `cmake --install`: ends it, with nothing installed, when a file of the wanted
# components is not built. `files_of_programs` and `files_of_development` are lists of files.
set(wanted ${CMAKE_INSTALL_COMPONENT})
if(NOT wanted)
  set(wanted programs development)
endif()

set(missing)
foreach(component ${wanted})
  foreach(file ${files_of_${component}})
    if(NOT EXISTS "${file}")
      list(APPEND missing "${file}")
    endif()
  endforeach()
endforeach()

if(missing)
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing "\n  " missing)
  message(FATAL_ERROR
    "Nothing is installed, because these files are not built:\n  ${missing}\n"
    "Build what is installed: cmake --build BUILD --target codeq-coordinator codeq-worker codeqctl "
    "codeq_testkit. To install the programs alone (--component programs), leave out codeq_testkit.")
endif()
