"""Checks that this machine is one that plumbline was compiled for."""
import platform

# The names of x86-64-v3's features in /proc/cpuinfo.
_NEEDED = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")


def _lacking(cpuinfo: str) -> list:
    """Returns the features that the first CPU of `cpuinfo` lacks; none if the text has no flags."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return sorted(set(_NEEDED) - set(value.split()))
    return []


def require() -> None:
    """Raises ImportError if the library would die of an illegal instruction."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise ImportError(f"plumbline runs on x86-64 Linux only, and this is {platform.machine()} "
                          f"{platform.system()}")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lacking = _lacking(file.read(65536))
    except OSError:
        return
    if lacking:
        raise ImportError("plumbline needs a CPU with AVX2 and FMA (x86-64-v3), and this one lacks "
                          + ", ".join(lacking) + "\n  remedy: use a machine with a CPU of 2015 or "
                          "newer; give an emulator such as QEMU the option -cpu max")
