# SPDX-License-Identifier: Apache-2.0
# Run by ctest before its tests (CLEAR) and behind them: shows the files that tests left in FOLDER.
if(CLEAR)
  file(REMOVE_RECURSE ${FOLDER})
  file(MAKE_DIRECTORY ${FOLDER})
  return()
endif()
file(GLOB files ${FOLDER}/*.txt)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${name}: ${text}")
endforeach()
