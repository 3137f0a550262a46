# Tunes scale.json on the first GPU, exports what was found, and runs the example in Python on it: CuPy
# compiles and launches the kernel. Skipped where CuPy cannot be imported or sees no GPU.
execute_process(
  COMMAND "${PYTHON}" -c "import cupy; print('GPUs:', cupy.cuda.runtime.getDeviceCount())"
  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT out MATCHES "GPUs: [1-9]")
  message(STATUS "skipped: ${PYTHON} has no CuPy with a GPU: ${out}${err}")
  return()
endif()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
set(ENV{SMEMTUNE_DB} "${FOLDER}/results.sqlite")
set(ENV{XDG_CACHE_HOME} "${FOLDER}/cache")
set(ENV{SMEMTUNE_SHARE} "${SHARE}")

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " words)
    message(FATAL_ERROR "${words}\nended with ${status}\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

run("${SMEMTUNE}" --space "${EXAMPLES}/scale.json" --device 0 --quiet)
run("${SMEMTUNE}" export --space scale -o "${FOLDER}/best.json")
file(READ "${FOLDER}/best.json" json)
string(JSON threads GET "${json}" best 0 parameters THREADS)
string(JSON items GET "${json}" best 0 parameters ITEMS)
run("${PYTHON}" "${EXAMPLES}/python/scale.py" "${FOLDER}/best.json")
foreach(text "scale<float, ${threads}, ${items}>" "(exact, size ratio 1)" "right\n")
  string(FIND "${output}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "'${text}' is not in\n${output}")
  endif()
endforeach()
