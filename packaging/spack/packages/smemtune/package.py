import os

from spack.package import *

try:  # Since Spack 1.0; before, spack.package had them.
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:
    pass


class Smemtune(CMakePackage):
    """Autotuner for shared-memory CUDA kernels: the program and libsmemtune."""

    # The checkout that this recipe lies in.
    _checkout = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    git = "file://" + _checkout

    license("MIT")

    version("0.2.0", branch="main")

    variant("cuda", default=True, description="Tune and launch on NVIDIA GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("boost@1.74: +context")
    depends_on("sqlite@3.37:")
    depends_on("simdjson@3:")
    depends_on("openssl@3:")
    depends_on("llvm+clang", type=("build", "run"))  # libclang: headers, and the library for init.
    depends_on("zlib-api")
    depends_on("cuda@11.8:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        args = [self.define_from_variant("SMEMTUNE_CUDA", "cuda"), self.define("SMEMTUNE_TESTS", False)]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CUDAToolkit_ROOT", self.spec["cuda"].prefix))
        return args
