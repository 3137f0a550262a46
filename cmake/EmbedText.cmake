# cmake -DOUTPUT=file.cpp "-DTEXTS=name=path;name=path" -P EmbedText.cmake
#
# Writes a C++ source that defines each `const std::string_view name` in smemtune::embedded as the
# contents of the text files of that name, one after the other; empty where the path is.

set(source "// Made by cmake/EmbedText.cmake.\n#include <string_view>\n\n")
string(APPEND source "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\nnamespace smemtune::embedded {\n")
set(names "")
foreach(text IN LISTS TEXTS)
  string(REGEX MATCH "^([^=]+)=(.*)$" matched "${text}")
  set(name "${CMAKE_MATCH_1}")
  set(path "${CMAKE_MATCH_2}")
  list(APPEND names "${name}")
  if(path)
    file(READ "${path}" content)
    string(FIND "${content}" ")smemtune\"" ends_early)
    if(NOT ends_early EQUAL -1)
      message(FATAL_ERROR "${path}: holds the delimiter )smemtune\"")
    endif()
    string(APPEND text_of_${name} "${content}")
  endif()
endforeach()
list(REMOVE_DUPLICATES names)
foreach(name IN LISTS names)
  string(APPEND source "extern const std::string_view ${name} = R\"smemtune(${text_of_${name}})smemtune\";\n")
endforeach()
string(APPEND source "}  // namespace smemtune::embedded\n")
file(WRITE "${OUTPUT}" "${source}")
