# One static library per folder, and which folder may include which.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(smemtune_options INTERFACE)
target_compile_options(smemtune_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wpedantic $<$<BOOL:${SMEMTUNE_WERROR}>:-Werror>)
# g++ 12 sees overlapping copies in std::string's operator+ that are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(smemtune_options INTERFACE -Wno-restrict)
endif()
# g++ 13 takes a reference that a function returns for one into its temporary arguments.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(smemtune_options INTERFACE -Wno-dangling-reference)
endif()
# g++ collects garbage whenever its heap has grown beyond 128 MB, which takes a tenth of its time. With 1 GB instead,
# tuner/config takes 954 MB to compile and not 666, so every unit that is compiled at a time should have 2 GB.
cmake_host_system_information(RESULT memory_mb QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR mb_for_each_unit "${memory_mb} / (${cores} + 2)")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND mb_for_each_unit GREATER 2000)
  target_compile_options(smemtune_options INTERFACE --param=ggc-min-heapsize=1000000)
endif()
# Several sources in one unit, as preset release has them, are no header with an anonymous namespace.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(smemtune_options INTERFACE -Wno-subobject-linkage)
endif()
if(SMEMTUNE_SANITIZE OR SMEMTUNE_FUZZ)
  # Without these four checks compiling takes two thirds of the time. AddressSanitizer finds most of what null,
  # object-size and vptr find; nothing else finds misaligned access, which x86 allows.
  target_compile_options(smemtune_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize=null,alignment,object-size,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(smemtune_options INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(smemtune_options INTERFACE SMEMTUNE_SANITIZED)  # g++ says so itself, clang does not.
endif()

# Where the time of a run is spent. Everything else waits for files, compilers or people, and -O1 compiles
# in two thirds of the time of -O2.
set(SMEMTUNE_HOT core source search backend cpu engine)
# libFuzzer follows the branches of these, which bench/fuzz calls.
set(SMEMTUNE_FUZZED core source backend config db engine init)

# smemtune_library(name SOURCES file... [USES library...] [LINKS target...])
#
# Headers are included from the project's root. So that the link graph decides who may include whom,
# a library is compiled not against the project's root but against shadow roots that hold links to
# the headers of its own folder and of the folders it USES (and theirs).
function(smemtune_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINKS" ${ARGN})
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(root "${PROJECT_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${root}/${folder}")
  file(GLOB headers RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.h")
  foreach(header IN LISTS headers)
    file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${header}" "${root}/${folder}/${header}" SYMBOLIC)
  endforeach()
  add_library(smemtune_${name} STATIC ${ARG_SOURCES})
  # Some of them are also parts of a shared library, which exports only its C interface. Units of 20 sources
  # build in four fifths of the time that units of eight, the default, take.
  set_target_properties(smemtune_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 20
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(smemtune_${name} PUBLIC "${root}")
  set(used ${ARG_USES})
  list(TRANSFORM used PREPEND smemtune_)
  target_link_libraries(smemtune_${name} PUBLIC ${used} PRIVATE smemtune_options ${ARG_LINKS})
  if(NOT name IN_LIST SMEMTUNE_HOT)
    target_compile_options(smemtune_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(SMEMTUNE_SANITIZE AND NOT name STREQUAL "engine")  # The engine mostly waits, and is long to compile.
    target_compile_options(smemtune_${name} PRIVATE -O1)  # Sanitizers at -O0 take ten times as long.
  endif()
  if(SMEMTUNE_FUZZ AND name IN_LIST SMEMTUNE_FUZZED)
    target_compile_options(smemtune_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# What `ctest -L sanitized` runs: the tests that CI builds with sanitizers.
add_custom_target(sanitized_tests)

# Headers that most tests include, compiled once: a quarter of the time that tests take to compile.
if(SMEMTUNE_TESTS)
  add_library(smemtune_test_headers OBJECT "${CMAKE_CURRENT_LIST_DIR}/test_headers.cpp")
  target_link_libraries(smemtune_test_headers PRIVATE smemtune_options GTest::gtest GTest::gmock)
  target_compile_options(smemtune_test_headers PRIVATE $<$<CONFIG:Release>:-O0>)
  target_precompile_headers(smemtune_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>
    <algorithm> <chrono> <filesystem> <fstream> <functional> <map> <optional> <set> <span> <sstream> <string> <thread>
    <variant> <vector>)
endif()

# smemtune_test(name SOURCES file... USES library... [LINKS target...] [MAIN] [WHOLE] [GPU] [UNSANITIZED])
# MAIN: the sources hold their own main(). WHOLE: the program is one test of CTest's instead of one for
# each TEST, because what its tests share takes long to make. GPU: it needs one. UNSANITIZED: only
# `.ci/run --all` builds it with sanitizers, as it starts programs, simulates much or takes much to build.
function(smemtune_test name)
  if(NOT SMEMTUNE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "MAIN;WHOLE;GPU;UNSANITIZED" "" "SOURCES;USES;LINKS" ${ARGN})
  set(used ${ARG_USES})
  list(TRANSFORM used PREPEND smemtune_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${used} ${ARG_LINKS} smemtune_options GTest::gtest GTest::gmock)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)  # Compiling them takes longer than running.
  target_precompile_headers(${name} REUSE_FROM smemtune_test_headers)
  if(NOT ARG_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  # Only what names the checkout's path is compiled with it: a compiler cache serves several checkouts.
  foreach(source IN LISTS ARG_SOURCES)
    file(STRINGS "${source}" uses REGEX SMEMTUNE_SOURCE_DIR LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS SMEMTUNE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endif()
  endforeach()
  set(properties PROPERTIES TIMEOUT 300)
  if(SMEMTUNE_SANITIZE)  # clang 14 guesses the TLS of libraries that are loaded later, and can crash looking for leaks.
    list(APPEND properties ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
  endif()
  if(ARG_GPU)
    list(APPEND properties LABELS gpu)
  elseif(NOT ARG_UNSANITIZED)
    list(APPEND properties LABELS sanitized)
    add_dependencies(sanitized_tests ${name})
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} ${properties})
  else()
    gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 ${properties})
  endif()
endfunction()
