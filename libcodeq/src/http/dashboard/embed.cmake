# SPDX-License-Identifier: Apache-2.0
# Writes the files of the dashboard as C++, each plain and compressed.
# cmake -DFOLDER=assets -DNAMES="a.js b.css" -DGZIP=gzip -DOUT=pages.cpp -P embed.cmake
separate_arguments(names UNIX_COMMAND "${NAMES}")
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")

# Appends an array with the bytes of a file.
function(add_bytes path array)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(.....,.....,.....,.....,.....,.....,.....,.....,.....,.....,)" "\\1\n"
    bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char ${array}[] = {${bytes}};\n")
  set(arrays "${arrays}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(rows "")
set(number 0)
foreach(name ${names})
  set(file ${FOLDER}/${name})
  set(zipped ${OUT}.${name}.gz)
  execute_process(COMMAND ${GZIP} -9 -n -c ${file} OUTPUT_FILE ${zipped} COMMAND_ERROR_IS_FATAL ANY)
  add_bytes(${file} plain_${number})
  add_bytes(${zipped} zipped_${number})
  file(REMOVE ${zipped})
  file(SHA256 ${file} digest)
  string(SUBSTRING ${digest} 0 20 digest)
  string(REGEX MATCH "[a-z]+$" ending ${name})
  string(APPEND rows
    "  {\"${name}\", \"${types_${ending}}\", \"\\\"${digest}\\\"\",\n"
    "   text_of(plain_${number}), text_of(zipped_${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "#include \"http/dashboard/pages.hpp\"

#include <cstddef>

namespace codeq::http {

namespace {

${arrays}
template <std::size_t Size>
std::string_view text_of(const unsigned char (&bytes)[Size]) {
  return {reinterpret_cast<const char*>(bytes), Size};
}

const page_file files[] = {
${rows}};

} // namespace

std::span<const page_file> page_files() {
  return files;
}

} // namespace codeq::http
")
