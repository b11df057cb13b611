"""Properties of the machine that strategies use: vector size, number of registers, cache sizes.

The results of a program never depend on them.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path

from riselang.support import config
from riselang.support.cores import CPU_FOLDER

CACHE_FOLDER = CPU_FOLDER / "cpu0" / "cache"
MEMINFO = Path("/proc/meminfo")
MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""The memory limit of a container in bytes."""
FALLBACK_MEMORY = 1 << 46
"""Bytes of memory to assume if the system does not report it: 64 TiB."""
CPUINFO = Path("/proc/cpuinfo")
DOT_INSTRUCTIONS = {
    "tdpbssd": "amx_int8", "tdpbf16ps": "amx_bf16", "vpdpbusd": "avx512_vnni",
    "sdot": "asimddp", "bfdot": "bf16",
    "vpmaddwd": "avx2",
}  # fmt: skip
"""The CPU flag, as Linux reports it, of each instruction for dot products."""
REQUEST_AMX = (158, 0x1023, 18)
"""The system call arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux on x86-64."""
CPU_FLAG_KEYS = ("flags", "Features")
"""The key of the flags in `/proc/cpuinfo`, on x86-64 and on AArch64."""
CPU_MODEL_KEYS = ("model name", "CPU implementer", "CPU part", "CPU variant")
CPU_KEYS = (
    *CPU_FLAG_KEYS, *CPU_MODEL_KEYS, "vendor_id", "cpu family", "model", "stepping", "microcode",
    "CPU architecture", "CPU revision",
)  # fmt: skip
"""The keys of everything that tells CPUs apart."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
DEFAULT_CACHE_SIZES = {1: 32 << 10, 2: 1 << 20, 3: 8 << 20}
"""Cache sizes in bytes by level, to assume if the system does not report them."""


@dataclass(frozen=True)
class Machine:
    """The properties of a CPU that determine how to schedule loops."""

    vector_bytes: int = 16
    registers: int = 16
    """The number of vector registers."""
    multiplies_by_lanes: bool = False
    """Whether multiplying a vector by one lane of another needs no extra instruction."""
    caches: tuple[tuple[int, int], ...] = field(default=tuple(DEFAULT_CACHE_SIZES.items()))
    """Cache levels, with the bytes per core of each."""
    reads_stored_lines: bool = False
    """Whether a store reads its cache line first even if all of it is stored, unless the store is
    nontemporal, as on x86-64."""
    nontemporal_speedup: float = 1.0
    """How many times faster windows of a large grid are computed with nontemporal stores."""
    gather_speedup: float = 1.0
    """How many times faster one instruction gathers a vector than loads of its elements do."""
    cores: int = 1
    """The number of threads of a parallel loop, each of which has a core."""
    permutes_lanes: bool = False
    """Whether an instruction of AVX2 moves the lanes of a vector to positions in another."""
    dot_instructions: tuple[str, ...] = ()
    """The instructions for dot products of bytes and 16-bit floats: see `DOT_UNITS`."""
    vector_fmas_per_cycle: float = 2.0
    """Vector multiply-adds per cycle of a core."""
    bytes_per_cycle: float = 8.0
    """The bytes of memory that a core reads and writes per cycle."""

    def lanes(self, bytes: int) -> int:
        """Return the number of lanes of a vector, for elements of `bytes` bytes."""
        return max(1, self.vector_bytes // bytes)

    @property
    def has_masks(self) -> bool:
        """Whether one instruction loads or stores some lanes of a vector, as in AVX-512."""
        return self.vector_bytes >= 64

    @property
    def lowers_clock(self) -> bool:
        """Whether the longest vectors lower the clock frequency, as in AVX-512."""
        return self.vector_bytes >= 64

    def cache_bytes(self, level: int) -> int:
        return dict(self.caches).get(level, DEFAULT_CACHE_SIZES[level])


def this_machine() -> Machine:
    """Return the machine to schedule for: the host, or the one that is assumed."""
    return _assumed_machines[-1] if _assumed_machines else _detect_machine(config.num_threads())


@contextmanager
def assume_machine(machine: Machine) -> Generator[None]:
    """Schedule code for another machine; its results are the same."""
    _assumed_machines.append(machine)
    try:
        yield
    finally:
        _assumed_machines.pop()


_assumed_machines: list[Machine] = []


@cache
def _detect_machine(cores: int) -> Machine:
    """Return the properties of the host; conservative defaults for those that are unknown."""
    dot_instructions = _detect_dot_instructions()
    if platform.machine().lower() in ("aarch64", "arm64"):
        machine = Machine(16, 32, True, cores=cores, dot_instructions=dot_instructions)
    elif _has_cpu_feature("AVX512F"):
        machine = Machine(
            64, 32, cores=cores, permutes_lanes=True, dot_instructions=dot_instructions
        )
    else:
        has_avx2 = _has_cpu_feature("AVX2")
        machine = Machine(
            32 if has_avx2 else 16,
            cores=cores,
            permutes_lanes=has_avx2,
            dot_instructions=dot_instructions,
        )
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    machine = replace(
        machine,
        reads_stored_lines=is_x86,
        nontemporal_speedup=_guess_nontemporal_speedup(),
        gather_speedup=_guess_gather_speedup(),
    )
    machine = replace(machine, caches=cache_sizes())
    if (measured := read_measurement()) is None:
        return machine
    return replace(
        machine,
        vector_fmas_per_cycle=measured.vector_fmas_per_cycle,
        bytes_per_cycle=measured.bytes_per_cycle,
        nontemporal_speedup=measured.nontemporal_speedup,
        gather_speedup=measured.gather_speedup,
    )


def _guess_nontemporal_speedup() -> float:
    """Guess the speedup of nontemporal stores, which `rise doctor --measure` measures.

    Intel's server CPUs before Ice Lake, which have AVX-512 without its second byte manipulation
    instructions, wait for each of these stores longer than they take to read a line (measured on
    Cascade Lake: 0.74 to 0.84). Zen 3 and Emerald Rapids gain, and so does an unknown x86-64.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return 1.0
    flags = _cpu_flags()
    return 0.75 if "avx512f" in flags and "avx512_vbmi2" not in flags else 1.25


def _guess_gather_speedup() -> float:
    """Guess the speedup of gather instructions, which `rise doctor --measure` measures.

    Intel's CPUs from Skylake to Ice Lake and Tiger Lake wait for the end of each gather, since
    their microcode protects them from the sampling of gathered data (measured on Cascade Lake:
    0.3). Those that came later have AVX-VNNI or 16-bit floats, and need no protection.
    """
    flags = _cpu_flags()
    if "avx2" not in flags or _cpu_facts().get("vendor_id") != "GenuineIntel":
        return 1.0
    return 1.25 if flags & {"avx_vnni", "avx512_fp16"} else 0.5


def cache_sizes() -> tuple[tuple[int, int], ...]:
    """Return the cache levels with their bytes: measured, reported by the system, or defaults."""
    measured = read_measurement()
    sizes = DEFAULT_CACHE_SIZES | reported_cache_sizes() | dict(measured.caches if measured else ())
    return tuple(sorted(sizes.items()))


@dataclass(frozen=True)
class Measurement:
    """What `rise doctor --measure` measured on a CPU."""

    cpu: str
    """The CPU: a measurement of another one is not used."""
    caches: tuple[tuple[int, int], ...]
    vector_fmas_per_cycle: float
    bytes_per_cycle: float
    nontemporal_speedup: float
    gather_speedup: float


def measurement_path() -> Path:
    """Return the file that contains the measurement of this machine."""
    return config.cache_folder() / "machine.json"


def write_measurement(measurement: Measurement) -> None:
    """Use a measurement in this and later processes."""
    path = measurement_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(measurement)))
    _detect_machine.cache_clear()


def remove_measurement() -> bool:
    """Use what the system reports again; return whether there was a measurement."""
    existed = measurement_path().exists()
    measurement_path().unlink(missing_ok=True)
    _detect_machine.cache_clear()
    return existed


def read_measurement() -> Measurement | None:
    """Return the measurement of this CPU; None if there is none, or if its file is damaged."""
    try:
        values = json.loads(measurement_path().read_text())
        caches = tuple((int(level), int(size)) for level, size in values["caches"])
        names = (
            "vector_fmas_per_cycle", "bytes_per_cycle", "nontemporal_speedup", "gather_speedup",
        )  # fmt: skip
        rates = [float(values[name]) for name in names]
        measurement = Measurement(str(values["cpu"]), caches, *rates)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    sizes_are_valid = all(
        level in DEFAULT_CACHE_SIZES and 1 << 10 <= size < 1 << 40 for level, size in caches
    )
    is_valid = sizes_are_valid and all(1 / 64 <= rate <= 1024 for rate in rates)
    return measurement if is_valid and measurement.cpu == cpu_identity() else None


@cache
def cpu_identity() -> str:
    """Return the model of the CPU, as Linux describes it."""
    facts = _cpu_facts()
    return " ".join((platform.machine(), *(facts[key] for key in CPU_MODEL_KEYS if key in facts)))


def _cpu_facts() -> dict[str, str]:
    """Return what Linux reports of the first core."""
    try:
        lines = [line.partition(":") for line in CPUINFO.read_text().splitlines()]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in reversed(lines)}


@cache
def cpu_description() -> str:
    """Return all that Linux says about the models and the features of the CPUs; empty if
    nothing."""
    try:
        lines = [line.partition(":") for line in CPUINFO.read_text().splitlines()]
    except OSError:
        return ""
    facts = {
        f"{key.strip()}: {value.strip()}" for key, _, value in lines if key.strip() in CPU_KEYS
    }
    return "\n".join([platform.machine(), *sorted(facts)]) if facts else ""


@cache
def boot_identity() -> str:
    """Return what identifies the current boot of the system; empty if it is unknown."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


@cache
def total_memory() -> int:
    """Return the maximum bytes that this process could use, including swap.

    Systems overcommit memory, and kill the process that uses it.
    """
    try:
        lines = (line.split() for line in MEMINFO.read_text().splitlines())
        sizes = {words[0]: int(words[1]) << 10 for words in lines if len(words) > 1}
        bytes = sizes["MemTotal:"] + sizes.get("SwapTotal:", 0)
    except (OSError, ValueError, KeyError):
        try:
            bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            bytes = FALLBACK_MEMORY
    try:
        return min(bytes, int(MEMORY_LIMIT.read_text()))
    except (OSError, ValueError):  # "max" if there is no limit
        return bytes


def _has_cpu_feature(feature: str) -> bool:
    """Return whether the CPU has a feature, according to NumPy's detection."""
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    return bool(features[feature])


@cache
def _cpu_flags() -> frozenset[str]:
    """Return the flags of the CPU that Linux reports."""
    facts = _cpu_facts()
    return frozenset(next((facts[key] for key in CPU_FLAG_KEYS if key in facts), "").split())


def _detect_dot_instructions() -> tuple[str, ...]:
    flags = {flag for flag in _cpu_flags() if permit_amx() or not flag.startswith("amx")}
    return tuple(name for name, flag in DOT_INSTRUCTIONS.items() if flag in flags)


@cache
def permit_amx() -> bool:
    """Ask Linux for the permission to use AMX tiles; return whether the CPU and Linux permit it."""
    return "amx_tile" in _cpu_flags() and ctypes.CDLL(None).syscall(*REQUEST_AMX) == 0


def reported_cache_sizes() -> dict[int, int]:
    """Return the sizes of the data caches that the system reports, by level."""
    sizes: dict[int, int] = {}
    try:
        for folder in CACHE_FOLDER.glob("index*"):
            kind = (folder / "type").read_text().strip()
            size = (folder / "size").read_text().strip()
            if kind != "Instruction" and size.endswith("K") and size[:-1].isdecimal():
                sizes[int((folder / "level").read_text())] = int(size[:-1]) << 10
    except (OSError, ValueError):
        return {}
    return sizes
