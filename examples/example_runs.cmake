# What the scripts that run the examples share: FOLDER is emptied, smemtune keeps to it, and a command
# that fails ends the script.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
set(ENV{SMEMTUNE_DB} "${FOLDER}/results.sqlite")
set(ENV{XDG_CACHE_HOME} "${FOLDER}/cache")
set(ENV{SMEMTUNE_SHARE} "${SHARE}")
# The Python module of this checkout, with the program and the library of this build.
set(ENV{PYTHONPATH} "${SHARE}/python")
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{SMEMTUNE_PROGRAM} "${SMEMTUNE}")
set(ENV{SMEMTUNE_LIBRARY} "${LIBRARY}")

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " words)
    message(FATAL_ERROR "${words}\nended with ${status}\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "'${text}' is not in\n${output}")
  endif()
endfunction()
