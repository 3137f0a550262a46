# What is looked for on the machine. Nothing is downloaded.

find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(SQLite3 3.37 REQUIRED)  # 3.37: STRICT tables
find_package(Threads REQUIRED)

if(SMEMTUNE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The CUDA back end needs headers and cudart_static only: no nvcc, no libcuda. NVRTC is opened at run
# time. FindCUDAToolkit may pair one toolkit's root with another's headers when the root has no nvcc,
# so the version is read from the header that is compiled against.
set(SMEMTUNE_HAVE_CUDA OFF)
if(SMEMTUNE_CUDA)
  # CMake 3.25's FindCUDAToolkit sets a property of this target, which CUDA 13 has no library for.
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  find_package(CUDAToolkit 11.8 QUIET)
  if(NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR "No CUDA toolkit 11.8 or newer found. Name one with -DCUDAToolkit_ROOT=/path, "
                        "or build without the CUDA back end: -DSMEMTUNE_CUDA=OFF")
  endif()
  find_file(SMEMTUNE_CUDA_H cuda.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH REQUIRED)
  file(STRINGS "${SMEMTUNE_CUDA_H}" version_line REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" cuda_h_version "${version_line}")
  math(EXPR cuda_h_major "${cuda_h_version} / 1000")
  math(EXPR cuda_h_minor "${cuda_h_version} % 1000 / 10")
  if(NOT "${cuda_h_major}.${cuda_h_minor}" STREQUAL "${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR}")
    message(FATAL_ERROR "The CUDA toolkit says ${CUDAToolkit_VERSION} but ${SMEMTUNE_CUDA_H} is "
                        "${cuda_h_major}.${cuda_h_minor}: set CUDAToolkit_ROOT to one whole toolkit")
  endif()
  set(SMEMTUNE_HAVE_CUDA ON)
endif()
message(STATUS "smemtune: CUDA back end ${SMEMTUNE_HAVE_CUDA} ${CUDAToolkit_VERSION}")
