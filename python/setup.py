"""What pyproject.toml cannot say: the version is Solo's, and the wheel has C libraries but no extension module."""
import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WithLibraries(Distribution):
    """Belongs into the folder of packages for one platform."""

    def has_ext_modules(self):
        return True


class ForEveryPython(bdist_wheel):
    """For every Python 3, on this platform."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(version=os.environ["SOLO_VERSION"], distclass=WithLibraries, cmdclass={"bdist_wheel": ForEveryPython})
