#ifndef SMEMTUNE_C_H
#define SMEMTUNE_C_H

#include <stddef.h>
#include <stdint.h>

/* The C interface of libsmemtune, in the shared library libsmemtune_c: the stored best
 * configurations in a program, or in the bindings of another language.
 *
 *   const char* files[] = {"best.json"};
 *   smemtune_results* results = NULL;
 *   smemtune_space* space = NULL;
 *   smemtune_target target;
 *   const smemtune_selection* best = NULL;
 *   const smemtune_plan* plan = NULL;
 *   smemtune_kernel* kernel = NULL;
 *   if (smemtune_open_results(files, 1, &results) ||
 *       smemtune_open_space("scale.json", NULL, &space) || smemtune_find_gpu(0, &target) ||
 *       smemtune_select(results, space, "N=16777216,T=float", NULL, &target, &best) ||
 *       smemtune_plan_selection(space, best, &target, &plan) ||
 *       smemtune_load(plan, NULL, &kernel)) {
 *     fprintf(stderr, "%s\n", smemtune_error());
 *   }
 *   const void* values[] = {&in, &out, NULL, NULL};     // as plan->arguments lists them
 *   smemtune_launch(kernel, values, 4, stream);
 *
 * Ownership: every object that a function hands out through its last parameter belongs to the
 * caller and is released by the function that its comment names. Each keeps what it needs: the
 * objects that it was made from may be released before it. Strings and arrays in an object live as
 * long as the object. Structs are only ever made by the library, and new members are only added at
 * their end. Releasing NULL does nothing.
 *
 * Threads: every function may be called from any thread at any time. Objects never change once they
 * are made, so that threads may share them, but an object must not be released while another thread
 * uses it. smemtune_error() belongs to the calling thread.
 *
 * Text is UTF-8. A problem or configuration is written as NAME=VALUE,NAME=VALUE, in any order. */

/* Names are as C has them. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SMEMTUNE_API __attribute__((visibility("default")))
#else
#define SMEMTUNE_API
#endif

/* The version of this interface. It is raised when something is added; what works with one version
 * works with all later ones that the same soname has. */
#define SMEMTUNE_C_VERSION 1

/* What became of a call. Each failure leaves its message in smemtune_error(), and the last
 * parameter as it was. */
typedef enum smemtune_status {
  SMEMTUNE_OK = 0,
  SMEMTUNE_FAILED = 1,     /* Anything else: out of memory, an error of CUDA. */
  SMEMTUNE_INPUT = 2,      /* A file or a parameter is wrong. */
  SMEMTUNE_STORE = 4,      /* A results database cannot be used. */
  SMEMTUNE_UNAVAILABLE = 5 /* No GPU, driver or NVRTC, or the library was built without CUDA. */
} smemtune_status;

/* How closely a selection matches the target and the problem, the closest match first. */
typedef enum smemtune_match {
  SMEMTUNE_EXACT = 0,             /* Measured on this device, for this problem. */
  SMEMTUNE_NEAREST_PROBLEM = 1,   /* Measured on this device, for other sizes. */
  SMEMTUNE_SAME_ARCHITECTURE = 2, /* Measured on another device of this compute capability. */
  SMEMTUNE_DEFAULTS = 3,          /* Default values: nothing measured should be faster. */
  SMEMTUNE_GIVEN = 4              /* The caller named the configuration. */
} smemtune_match;

typedef enum smemtune_role {
  SMEMTUNE_INPUT_BUFFER = 0, /* Only read. */
  SMEMTUNE_OUTPUT = 1,       /* Only written. */
  SMEMTUNE_INOUT = 2,        /* Read and written. */
  SMEMTUNE_SCRATCH = 3,      /* Its contents matter neither before nor after. */
  SMEMTUNE_SCALAR = 4
} smemtune_role;

typedef enum smemtune_memory {
  SMEMTUNE_GLOBAL = 0,    /* The kernel takes the buffer's address. */
  SMEMTUNE_CONSTANT = 1,  /* The kernel takes nothing: it reads a __constant__ symbol. */
  SMEMTUNE_TEXTURE = 2,   /* The kernel takes a texture object over the buffer. */
  SMEMTUNE_TENSOR_MAP = 3 /* The kernel takes a CUtensorMap of the buffer. */
} smemtune_memory;

typedef struct smemtune_results smemtune_results;
typedef struct smemtune_space smemtune_space;
typedef struct smemtune_kernel smemtune_kernel;

/* The device that something is selected or planned for. */
typedef struct smemtune_target {
  const char* device;     /* Its name as the driver spells it, "NVIDIA H200". */
  int compute_capability; /* 90 for 9.0; 0 if it is no GPU. */
  int gpu;                /* Its index among this machine's GPUs; -1 if it is not here. A plan then
                             assumes the published limits of a GPU of this name; of others those
                             of the largest GPU, and one multiprocessor. */
} smemtune_target;

/* A selected configuration and where it comes from. */
typedef struct smemtune_selection {
  smemtune_match match;
  double size_ratio; /* Distance of the measured problem from the requested one: the product over
                                all sizes of the larger divided by the smaller, and more where
                                alignment or element types differ; 1 for an exact match. */
  const char* space;
  const char* kernel;
  const char* configuration; /* "ITEMS=2,THREADS=128" */
  const char* problem;       /* The requested problem. */
  /* Empty, 0 for default and given values, as long as `measured_problem` is empty: */
  const char* measured_problem;
  const char* measured_device;
  double time_ms;            /* Median time of the measured problem, in milliseconds. */
  const char* kernel_hash;   /* SHA-256 of the measured kernel. */
  const char* shared_from;   /* The file it is from; empty for the first file of the results. */
  const char* compared_with; /* What its output was compared with: "definition", "expected file",
                                "another kernel", "only itself" or "unknown". */
  int stale;                 /* 1 if the kernel had been edited since it was measured, as far as the
                                results say; smemtune_plan.edited holds for the present files. */
  const char* text;          /* "scale ITEMS=2,THREADS=128 (exact)" */
} smemtune_selection;

/* A buffer or scalar that a kernel takes. */
typedef struct smemtune_argument {
  const char* name;
  const char* type; /* As CUDA C++ spells it: "float", "unsigned char", "__half". */
  smemtune_role role;
  smemtune_memory memory; /* SMEMTUNE_GLOBAL for a scalar. */
  size_t dimensions;      /* 0 for a scalar. */
  const int64_t* shape;   /* Extents in elements, outermost first. */
  int64_t bytes;          /* All elements of a buffer, or the size of a scalar. */
  const void* value;      /* A scalar's value by the space file; NULL for a buffer. */
} smemtune_argument;

/* An argument of one launch. */
typedef struct smemtune_launch_argument {
  size_t index; /* Which of smemtune_plan.arguments. */
  const void*
      value; /* A scalar's value if repeated launches take different ones, otherwise NULL. */
} smemtune_launch_argument;

typedef struct smemtune_launch_shape {
  const char* entry;  /* The C++ name expression, "scale<float, 128, 2>". */
  int64_t grid[3];    /* In blocks. */
  int64_t block[3];   /* In threads. */
  int64_t cluster[3]; /* In blocks; no clusters if all are 1. */
  int64_t dynamic_shared_bytes;
  int cooperative; /* 1 if it is launched with cuLaunchCooperativeKernel. */
  /* CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT in percent; -1: the driver's own. */
  int64_t shared_carveout;
  int programmatic; /* 1 if it is launched with programmatic stream serialization. */
  size_t argument_count;
  const smemtune_launch_argument* arguments; /* In the entry's order. */
} smemtune_launch_shape;

/* The launches and arguments of a selection for its problem. */
typedef struct smemtune_plan {
  size_t launch_count;
  const smemtune_launch_shape* launches; /* In the order in which they are made. */
  size_t argument_count;
  const smemtune_argument* arguments; /* In the space file's order. */
  int edited; /* 1 if the kernel's source, launches or verification were edited since. */
} smemtune_plan;

/* A compiled kernel. */
typedef struct smemtune_module {
  const void* image; /* A cubin, or PTX that ends with a NUL character. */
  size_t image_bytes;
  size_t entry_count;
  const char* const* entries; /* The name in the module of each of the plan's launches. */
  size_t symbol_count;
  const char* const* symbols; /* The name in the module of each of the plan's arguments: empty if
                                 it is not in constant memory. */
  const char* log;            /* Warnings and what ptxas reports. */
} smemtune_module;

/* Returns SMEMTUNE_C_VERSION of the library. */
SMEMTUNE_API int smemtune_c_version(void);

/* Returns the version of smemtune, "0.2.0". */
SMEMTUNE_API const char* smemtune_version(void);

/* Returns the message of the last call that failed in this thread; empty if none has. It is valid
 * until the next call that fails in this thread. */
SMEMTUNE_API const char* smemtune_error(void);

/* Opens results: databases, files of `smemtune export`, and folders of such files. Of a
 * problem on a device the first file that has it counts. All but the first are shared ones, which
 * selections name; an empty path is left out. Release with smemtune_close_results(). */
SMEMTUNE_API smemtune_status smemtune_open_results(const char* const* files, size_t count,
                                                   smemtune_results** results);
SMEMTUNE_API void smemtune_close_results(smemtune_results* results);

/* Reads a space file and the kernels that it names. `share`: the folder that holds
 * kernel_templates, for spaces that use them; NULL: $SMEMTUNE_SHARE or where smemtune was
 * installed. Release with smemtune_close_space(). */
SMEMTUNE_API smemtune_status smemtune_open_space(const char* file, const char* share,
                                                 smemtune_space** space);
SMEMTUNE_API void smemtune_close_space(smemtune_space* space);

/* Finds a GPU of this machine by its index, as cudaSetDevice counts. The name in `target` is valid
 * until the process ends. CUDA is initialized as the environment has it, without a context. */
SMEMTUNE_API smemtune_status smemtune_find_gpu(int index, smemtune_target* target);

/* Selects the best for a device and a problem; among all kernels if `kernel` is NULL. Where nothing
 * is known of the space, these are the default values of the named kernel, or of the first one in
 * the file. Release with smemtune_free_selection(). */
SMEMTUNE_API smemtune_status smemtune_select(const smemtune_results* results,
                                             const smemtune_space* space, const char* problem,
                                             const char* kernel, const smemtune_target* target,
                                             const smemtune_selection** selection);

/* Takes a configuration that the caller names: parameters that are left out have their default
 * values, and `kernel` NULL means the first one in the file. Release with
 * smemtune_free_selection(). */
SMEMTUNE_API smemtune_status smemtune_select_given(const smemtune_space* space, const char* problem,
                                                   const char* kernel, const char* configuration,
                                                   const smemtune_selection** selection);
SMEMTUNE_API void smemtune_free_selection(const smemtune_selection* selection);

/* Plans a selection. Fails where the configuration does not satisfy its constraints for this
 * problem or exceeds a limit of the device. Release with smemtune_free_plan(). */
SMEMTUNE_API smemtune_status smemtune_plan_selection(const smemtune_space* space,
                                                     const smemtune_selection* selection,
                                                     const smemtune_target* target,
                                                     const smemtune_plan** plan);
SMEMTUNE_API void smemtune_free_plan(const smemtune_plan* plan);

/* Compiles a plan. `architecture`: "sm_90" for a cubin, "compute_90" for PTX; NULL: a cubin for the
 * target. `nvrtc`: a library, or the folder of a toolkit or of libraries; NULL: the newest that is
 * found. Compiled modules are kept in $SMEMTUNE_CACHE, or ~/.cache/smemtune. NVRTC works in this
 * process, and ends it when it runs out of memory; the environment's NVRTC_ variables are cleared.
 * Release with smemtune_free_module(). */
SMEMTUNE_API smemtune_status smemtune_compile(const smemtune_plan* plan, const char* architecture,
                                              const char* nvrtc, const smemtune_module** module);
SMEMTUNE_API void smemtune_free_module(const smemtune_module* module);

/* Compiles a plan for a GPU of this machine, with `nvrtc` as above, and loads it in the primary
 * context. Release with smemtune_unload(). */
SMEMTUNE_API smemtune_status smemtune_load(const smemtune_plan* plan, const char* nvrtc,
                                           smemtune_kernel** kernel);
SMEMTUNE_API void smemtune_unload(smemtune_kernel* kernel);

/* Enqueues all launches on `stream` (a CUstream or cudaStream_t; NULL: the default stream), also
 * while it is captured. values[i] points to the value of argument i of the plan:
 *   scalar: its value, `bytes` long; NULL: that of the space file
 *   buffer: its device address, a uint64_t; of a texture the object of smemtune_texture()
 *   buffer in constant memory: the device address that its contents are copied from; NULL: its
 *     contents stay
 * Fails if `count` is not the plan's argument_count, or a buffer is missing. */
SMEMTUNE_API smemtune_status smemtune_launch(const smemtune_kernel* kernel,
                                             const void* const* values, size_t count, void* stream);

/* Makes the texture object of a buffer at a device address, for argument `index` of the plan. It
 * lives as long as the kernel. */
SMEMTUNE_API smemtune_status smemtune_texture(smemtune_kernel* kernel, size_t index,
                                              uint64_t address, uint64_t* object);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
