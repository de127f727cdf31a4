"""Recipe for Spack. Not built yet, and Spack has no py-segyio: docs/release.md says what a person does about both."""

from spack.package import depends_on, license, variant, version, when
from spack_repo.builtin.build_systems.python import PythonPackage


class PySubsaltImaging(PythonPackage):
    """Seismic imaging: reverse time migration to a depth image, Kirchhoff prestack time migration to gathers."""

    # the source distribution of the release, once there is one: its sha256 makes it a version of its own
    pypi = "subsalt-imaging/subsalt_imaging-0.9.0.tar.gz"

    license("Apache-2.0", checked_by="subsalt")

    version("0.9.0")

    variant("mpi", default=True, description="Runs of many ranks, with the MPI of the site")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@1.1:", type="build")
    depends_on("py-nanobind@3.1:", type="build")

    with when("+mpi"):
        depends_on("py-mpi4py@4.1:", type=("build", "run"))

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-numpy@2.0:", type=("build", "run"))
    depends_on("py-scipy@1.13:", type=("build", "run"))
    depends_on("py-matplotlib@3.9:", type=("build", "run"))
    depends_on("py-segyio@1.9.12:1", type=("build", "run"))
    depends_on("py-pydantic@2.8:", type=("build", "run"))
    depends_on("py-typer@0.12:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-tomlkit@0.13:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
