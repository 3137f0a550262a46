# What is looked for on the machine. Nothing is downloaded.

find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(SQLite3 3.37 REQUIRED)  # 3.37: STRICT tables
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(simdjson REQUIRED)  # No version in the call: its package accepts only its own minor version.
if(simdjson_VERSION VERSION_LESS 3.0)
  message(FATAL_ERROR "simdjson ${simdjson_VERSION} in ${simdjson_DIR} is too old: 3.0 or newer is needed")
endif()
find_package(Threads REQUIRED)

# init reads CUDA through libclang's C interface: headers only, the library is opened at run time.
file(GLOB llvm_roots /usr/lib/llvm-*)
list(SORT llvm_roots COMPARE NATURAL ORDER DESCENDING)
find_path(CLANG_C_INCLUDE_DIR clang-c/Index.h HINTS ${llvm_roots} PATH_SUFFIXES include)
if(NOT CLANG_C_INCLUDE_DIR)
  message(FATAL_ERROR "No clang-c/Index.h found: install libclang-dev")
endif()
add_library(smemtune_clang INTERFACE)
target_include_directories(smemtune_clang SYSTEM INTERFACE "${CLANG_C_INCLUDE_DIR}")
target_link_libraries(smemtune_clang INTERFACE ${CMAKE_DL_LIBS})

if(SMEMTUNE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The CUDA back end needs headers and cudart_static only: no nvcc, no libcuda. NVRTC is opened at run
# time. CMake's own FindCUDAToolkit finds no toolkit without nvcc, such as that of nvidia-cuda-dev.
set(CUDAToolkit_ROOT "" CACHE PATH "CUDA toolkit, where it is none of CUDA_PATH, CUDA_HOME, /usr/local/cuda, /usr")
set(SMEMTUNE_HAVE_CUDA OFF)
if(SMEMTUNE_CUDA)
  set(roots "${CUDAToolkit_ROOT}")
  if(NOT roots)
    set(roots "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}" /usr/local/cuda /usr)
  endif()
  set(SMEMTUNE_CUDA_ROOT "")
  set(SMEMTUNE_CUDA_VERSION "none in ${roots}")
  foreach(root IN LISTS roots)
    if(root AND EXISTS "${root}/include/cuda.h")
      set(SMEMTUNE_CUDA_ROOT "${root}")
      file(STRINGS "${root}/include/cuda.h" version_line REGEX "^#define CUDA_VERSION [0-9]+")
      string(REGEX MATCH "[0-9]+$" version "${version_line}")
      math(EXPR major "${version} / 1000")
      math(EXPR minor "${version} % 1000 / 10")
      set(SMEMTUNE_CUDA_VERSION "${major}.${minor}")
      break()
    endif()
  endforeach()
  if(NOT SMEMTUNE_CUDA_ROOT OR SMEMTUNE_CUDA_VERSION VERSION_LESS 11.8)
    message(FATAL_ERROR "No CUDA toolkit 11.8 or newer found (${SMEMTUNE_CUDA_VERSION}). Name one with "
                        "-DCUDAToolkit_ROOT=/path, or build without the CUDA back end: -DSMEMTUNE_CUDA=OFF")
  endif()
  find_library(cudart_static cudart_static REQUIRED NO_CACHE NO_DEFAULT_PATH
    PATHS "${SMEMTUNE_CUDA_ROOT}"
    PATH_SUFFIXES lib64 lib lib/${CMAKE_LIBRARY_ARCHITECTURE} targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib)
  add_library(smemtune_cudart INTERFACE)
  target_include_directories(smemtune_cudart SYSTEM INTERFACE "${SMEMTUNE_CUDA_ROOT}/include")
  target_link_libraries(smemtune_cudart INTERFACE "${cudart_static}" Threads::Threads ${CMAKE_DL_LIBS} rt)
  set(SMEMTUNE_HAVE_CUDA ON)
endif()
message(STATUS "smemtune: CUDA back end ${SMEMTUNE_HAVE_CUDA} ${SMEMTUNE_CUDA_VERSION}")
