"""Check what determines the speed of the processors: clocks, neighbours, other load."""

from __future__ import annotations

import os

from landspeed.doctor.check import Check, named, not_shown, note, ok, warn
from landspeed.doctor.kernel import Kernel

STEADY_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
CPU = "/sys/devices/system/cpu"


def processor_checks(kernel: Kernel) -> list[Check]:
    """Check the processors that *kernel* shows."""
    return named(
        {
            "CPU governor": _governor(kernel),
            "turbo": _turbo(kernel),
            "hyper-threads": _smt(kernel),
            "NUMA nodes": _numa(kernel),
            "processors": _processors(kernel),
            "hypervisor": _virtual(kernel),
            "steal time": _steal(kernel),
            "clock source": _clock(kernel),
            "load": _load(kernel),
            "address randomisation": _address_randomisation(kernel),
            "hardware counters": _counters(kernel),
        }
    )


def _governor(kernel: Kernel) -> Check:
    seen = sorted(set(kernel.read_all(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor")))
    if not seen:
        return note("not shown", "A hypervisor or the firmware sets the clock.")
    return warn(
        ", ".join(seen),
        "The clock follows the load, so the speed of a run depends on what ran before it.",
        f"echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor",
        unless=seen == ["performance"],
    )


def _turbo(kernel: Kernel) -> Check:
    intel, other = f"{CPU}/intel_pstate/no_turbo", f"{CPU}/cpufreq/boost"
    no_turbo, boost = kernel.number(intel), kernel.number(other)
    if no_turbo is None and boost is None:
        return not_shown()
    if no_turbo == 1 or (no_turbo is None and boost == 0):
        return ok("off")
    return warn(
        "on",
        "The clock depends on the temperature and on how many cores are busy.",
        f"echo 0 | sudo tee {other}" if no_turbo is None else f"echo 1 | sudo tee {intel}",
    )


def _smt(kernel: Kernel) -> Check:
    active = kernel.number(f"{CPU}/smt/active")
    if active is None:
        return not_shown()
    if active == 0:
        return ok("off")
    return note(
        "on",
        "Two processors share a core: with more clients than cores, they slow each other down.",
        f"echo off | sudo tee {CPU}/smt/control",
    )


def _numa(kernel: Kernel) -> Check:
    nodes = len(kernel.read_all("/sys/devices/system/node/node[0-9]*/cpulist"))
    return note(
        str(nodes or 1),
        "The server's memory is on other nodes after each start, so its speed differs.",
        "numactl --cpunodebind=0 --membind=0 landspeed run …",
        unless=nodes <= 1,
    )


def _processors(kernel: Kernel) -> Check:
    quota = kernel.cpu_quota
    value = str(kernel.cpus) + (f", {quota:g} granted" if quota is not None else "")
    if quota is not None and quota < kernel.cpus:
        return warn(
            value,
            "When its share is used up, the cgroup stops every process until the next period.",
            "Give the container whole processors (cpuset) instead of a share of their time.",
        )
    return warn(
        value,
        "pgbench and the server share one processor, so results include the cost of pgbench.",
        "Use a machine with at least 2 processors.",
        unless=kernel.cpus > 1,
    )


def _virtual(kernel: Kernel) -> Check:
    if "hypervisor" not in kernel.read("/proc/cpuinfo").split():
        return ok("none seen")
    return note(
        "present",
        "Other machines on this hardware disturb the samples; expect several per cent of noise.",
        "Compare only interleaved runs, or measure on dedicated hardware.",
    )


def _steal(kernel: Kernel) -> Check:
    share = kernel.steal_share
    if share is None:
        return not_shown()
    return warn(
        f"{share:.2%} since boot",
        "The hypervisor gave processor time of this machine to others.",
        "Use dedicated processors, or another machine.",
        unless=share <= 0.001,
    )


def _clock(kernel: Kernel) -> Check:
    seen = kernel.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if not seen:
        return not_shown()
    return warn(
        seen,
        "This clock is slow to read, and pgbench reads it twice per transaction.",
        'Boot with "clocksource=tsc" if "dmesg | grep -i tsc" does not call the TSC unstable.',
        unless=seen in STEADY_CLOCKS,
    )


def _load(kernel: Kernel) -> Check:
    words = kernel.read("/proc/loadavg").split()
    if not words:
        return not_shown()
    return warn(
        f"{words[0]} on {kernel.cpus} processors",
        "Another program uses the processors and disturbs every sample.",
        "Find it with top, and wait until it has finished.",
        unless=float(words[0]) <= 0.25 * kernel.cpus,
    )


def _address_randomisation(kernel: Kernel) -> Check:
    seen = kernel.number("/proc/sys/kernel/randomize_va_space")
    if seen is None:
        return not_shown()
    if seen == 0:
        return ok("off")
    return note("on", "Each start of a server gets another memory layout, so runs differ more.")


def _counters(kernel: Kernel) -> Check:
    if not kernel.read("/sys/bus/event_source/devices/cpu/type"):
        return note("none", "The processor's counters are not available, as in most clouds.")
    paranoid = kernel.number("/proc/sys/kernel/perf_event_paranoid")
    value = f"present, perf_event_paranoid {'not shown' if paranoid is None else paranoid}"
    readable = os.geteuid() == 0 or (paranoid is not None and paranoid <= 2)
    remedy = "sudo sysctl kernel.perf_event_paranoid=2"
    return note(value, "Only root may read them.", remedy, unless=readable)
