# Tunes scale.json on the CPU device, exports what was found, and runs every example on it without a
# GPU. Fails where one fails, or where they do not select the same.
include("${CMAKE_CURRENT_LIST_DIR}/example_runs.cmake")

run("${SMEMTUNE}" --space "${EXAMPLES}/scale.json" --device cpu --quiet)
run("${SMEMTUNE}" export --space scale -o "${FOLDER}/best.json")
run("${SMEMTUNE}" export --space scale --format header -o "${FOLDER}/best.h")
run("${SMEMTUNE}" export --space scale --format csv)
expect("space,kernel,problem")
run("${SMEMTUNE}" export --space scale --format defines)
expect("#define THREADS ")

file(READ "${FOLDER}/best.json" json)
string(JSON device GET "${json}" best 0 device name)
string(JSON threads GET "${json}" best 0 parameters THREADS)
string(JSON items GET "${json}" best 0 parameters ITEMS)

# The examples in Python, C and with the library ask for a size that takes the CPU device too long to
# tune: this is as if it had been tuned for that.
string(REGEX REPLACE "\"N\": *65536" "\"N\": 16777216" large "${json}")
file(WRITE "${FOLDER}/large.json" "${large}")

# For a size that is far from all that was tuned, and on a GPU that nobody tuned: the defaults.
run("${CXX}" -std=c++17 -Wall -Wextra -Werror -pedantic "-I${FOLDER}" "${EXAMPLES}/header/main.cpp"
    -o "${FOLDER}/header")
run("${FOLDER}/header" "${device}" 0 65536)
expect("THREADS=${threads} ITEMS=${items} (exact, size ratio 1)")
run("${FOLDER}/header" "${device}" 0 16777216)
expect("THREADS=256 ITEMS=1 (defaults, size ratio 1)")
run("${FOLDER}/header" "NVIDIA A100" 80 65536)
expect("THREADS=256 ITEMS=1 (defaults, size ratio 1)")

if(PYTHON)
  run("${PYTHON}" "${EXAMPLES}/python/scale.py" "${FOLDER}/large.json" --print "${device}" 0.0)
  expect("scale<float, ${threads}, ${items}>")
  expect("(exact, size ratio 1)")
  run("${PYTHON}" "${EXAMPLES}/python/scale.py" "${FOLDER}/best.json" --print "NVIDIA A100" 8.0)
  expect("scale<float, 256, 1> grid 65536 block 256 (defaults, size ratio 1)")
else()
  message(STATUS "no python3, or a build with sanitizers: the example in Python was not run")
endif()

run("${CMAKE_COMMAND}" --install "${BUILD}" --component library --prefix "${FOLDER}/installed")
run("${CMAKE_COMMAND}" -S "${EXAMPLES}/library" -B "${FOLDER}/library" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" "-DCMAKE_PREFIX_PATH=${FOLDER}/installed"
    "-DCUDAToolkit_ROOT=${CUDA_ROOT}")
run("${CMAKE_COMMAND}" --build "${FOLDER}/library")
run("${FOLDER}/library/scale" "${FOLDER}/large.json" "${EXAMPLES}/scale.json" --print "${device}" 0)
expect("scale ITEMS=${items},THREADS=${threads} (exact)")
expect("scale<float, ${threads}, ${items}><<<")
foreach(results best.json results.sqlite)
  run("${FOLDER}/library/scale" "${FOLDER}/${results}" "${EXAMPLES}/scale.json" --print "${device}" 0)
  expect("scale ITEMS=1,THREADS=256 (defaults)")
  run("${FOLDER}/library/scale" "${FOLDER}/${results}" "${EXAMPLES}/scale.json" --print "NVIDIA A100" 80)
  expect("scale ITEMS=1,THREADS=256 (defaults)")
  expect("scale<float, 256, 1><<<65536, 256>>>")
endforeach()

# A library with sanitizers needs a program that its own compiler has linked.
if(CXX_FLAGS)
  message(STATUS "a build with sanitizers: the example in C was not run")
  return()
endif()
run("${CMAKE_COMMAND}" -S "${EXAMPLES}/c" -B "${FOLDER}/c" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${FOLDER}/installed" "-DCUDAToolkit_ROOT=${CUDA_ROOT}"
    "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror")
run("${CMAKE_COMMAND}" --build "${FOLDER}/c")
run("${FOLDER}/c/scale" "${FOLDER}/large.json" "${EXAMPLES}/scale.json" --print "${device}" 0)
expect("scale ITEMS=${items},THREADS=${threads} (exact)")
expect("scale<float, ${threads}, ${items}><<<")
run("${FOLDER}/c/scale" "${FOLDER}/best.json" "${EXAMPLES}/scale.json" --print "NVIDIA A100" 80)
expect("scale<float, 256, 1><<<65536, 256>>>")
expect("  in: 67108864 bytes of float")
