# Exports what programs read (vLLM's JSON, a policy for CUB, a bundle of cubins) from the results that come with
# smemtune, and builds and runs the program of each in examples/export. Without a GPU they say what they would
# launch; without the driver they are linked with the toolkit's stub of it.
include("${CMAKE_CURRENT_LIST_DIR}/example_runs.cmake")
set(programs "${EXAMPLES}/export")
set(export "${SMEMTUNE}" export --source shared)
# An export needs a database to be there.
run("${SMEMTUNE}" --space "${EXAMPLES}/scale.json" --device cpu --max-evaluations 1 --quiet)

run(${export} --space gemm_tc --kernel wgmma --device H200 --problem K=4096,N=4096,OUT=__nv_bfloat16,T=__nv_bfloat16,TRANSPOSED=1
    --format vllm -o "${FOLDER}/vllm.json")
if(PYTHON)
  run("${PYTHON}" "${programs}/vllm.py" "${FOLDER}/vllm.json" 100)
  expect("100: that of 64: {'CLUSTER_P': ")
endif()

# The program takes the toolkit's stub where there is no driver.
function(run_on_device program)
  execute_process(COMMAND "${program}" OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(status EQUAL 127)
    file(CREATE_LINK "${CUDA_ROOT}/lib64/stubs/libcuda.so" "${FOLDER}/libcuda.so.1" SYMBOLIC)
    run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${FOLDER}" "${program}")
  elseif(NOT status EQUAL 0)
    message(FATAL_ERROR "${program}\nended with ${status}\n${out}${err}")
  else()
    set(output "${out}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${export} --space transpose --format cubins -o "${FOLDER}/transpose.h")
run("${CC}" -std=c99 -Wall -Wextra -Wpedantic -Werror "-I${FOLDER}" -isystem "${CUDA_ROOT}/include"
    "${programs}/launch.c" -o "${FOLDER}/launch" "-L${CUDA_ROOT}/lib64/stubs" -lcuda)
run_on_device("${FOLDER}/launch")
expect("vectors BYTES=16,COLUMNS=32,GROUP=1,ROWS=128,THREADS=128: 4096 x 1 blocks of 128 threads")
if(NOT output MATCHES "no GPU")
  expect("right\n")
endif()

if(NVCC)
  run(${export} --space transpose --kernel vectors --problem M=4096,N=4096,T=float --device H100
      --format cub
      -o "${FOLDER}/transpose_policies.h")
  run("${NVCC}" -arch=sm_90 "-I${FOLDER}" "${programs}/policy.cu" -o "${FOLDER}/policy")
  run("${FOLDER}/policy")
  expect("128 threads, tiles of 128 x 32")
  if(NOT output MATCHES "no GPU")
    expect("launched with 128 threads")
  endif()
else()
  message(STATUS "no nvcc: the program with CUB's policies was not built")
endif()
