# Tunes scale.json on the first GPU, exports what was found, and runs the example in Python on it: CuPy
# compiles and launches the kernel. Skipped where CuPy cannot be imported or sees no GPU.
execute_process(
  COMMAND "${PYTHON}" -c "import cupy; print('GPUs:', cupy.cuda.runtime.getDeviceCount())"
  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT out MATCHES "GPUs: [1-9]")
  message(STATUS "skipped: ${PYTHON} has no CuPy with a GPU: ${out}${err}")
  return()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/example_runs.cmake")

run("${SMEMTUNE}" --space "${EXAMPLES}/scale.json" --device 0 --quiet)
run("${SMEMTUNE}" export --space scale -o "${FOLDER}/best.json")
file(READ "${FOLDER}/best.json" json)
string(JSON threads GET "${json}" best 0 parameters THREADS)
string(JSON items GET "${json}" best 0 parameters ITEMS)
run("${PYTHON}" "${EXAMPLES}/python/scale.py" "${FOLDER}/best.json")
expect("scale<float, ${threads}, ${items}>")
expect("(exact, size ratio 1)")
expect("right\n")
