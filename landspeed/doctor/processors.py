"""Checks of what decides the speed of the processors: clocks, neighbours, competitors."""

from __future__ import annotations

import os

from landspeed.doctor.check import Check, note, ok, unseen, warn
from landspeed.doctor.kernel import KernelView

STEADY_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
CPU = "/sys/devices/system/cpu"


def processor_checks(vitals: KernelView) -> list[Check]:
    """The Checks of the processors that *vitals* shows."""
    return [
        _governor(vitals),
        _turbo(vitals),
        _smt(vitals),
        _numa(vitals),
        _processors(vitals),
        _virtual(vitals),
        _steal(vitals),
        _clock(vitals),
        _load(vitals),
        _address_randomisation(vitals),
        _counters(vitals),
    ]


def _governor(vitals: KernelView) -> Check:
    name = "CPU governor"
    seen = sorted(set(vitals.read_all(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor")))
    if not seen:
        return note(name, "not shown", "The clock is set elsewhere: by a hypervisor or firmware.")
    if seen == ["performance"]:
        return ok(name, seen[0])
    return warn(
        name,
        ", ".join(seen),
        "The clock follows the load, so a rung's speed depends on what ran before it.",
        f"echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor",
    )


def _turbo(vitals: KernelView) -> Check:
    name = "turbo"
    intel, other = f"{CPU}/intel_pstate/no_turbo", f"{CPU}/cpufreq/boost"
    no_turbo, boost = vitals.number(intel), vitals.number(other)
    if no_turbo is None and boost is None:
        return unseen(name)
    if no_turbo == 1 or (no_turbo is None and boost == 0):
        return ok(name, "off")
    return warn(
        name,
        "on",
        "The clock depends on the temperature and on how many cores are busy.",
        f"echo 0 | sudo tee {other}" if no_turbo is None else f"echo 1 | sudo tee {intel}",
    )


def _smt(vitals: KernelView) -> Check:
    name = "hyper-threads"
    active = vitals.number(f"{CPU}/smt/active")
    if active is None:
        return unseen(name)
    if active == 0:
        return ok(name, "off")
    return note(
        name,
        "on",
        "Two processors share one core: beyond half of them a client costs its neighbour speed.",
        f"echo off | sudo tee {CPU}/smt/control",
    )


def _numa(vitals: KernelView) -> Check:
    name = "NUMA nodes"
    nodes = len(vitals.read_all("/sys/devices/system/node/node[0-9]*/cpulist"))
    if nodes <= 1:
        return ok(name, str(nodes or 1))
    return note(
        name,
        str(nodes),
        "Where the server's memory lies differs from start to start, and so does its speed.",
        "numactl --cpunodebind=0 --membind=0 landspeed run …",
    )


def _processors(vitals: KernelView) -> Check:
    name = "processors"
    quota = vitals.cpu_quota
    value = str(vitals.cpus) + (f", {quota:g} granted" if quota is not None else "")
    if quota is not None and quota < vitals.cpus:
        return warn(
            name,
            value,
            "When its share is used up, a control group stops everything until the next period.",
            "Give the container whole processors (cpuset) instead of a share of their time.",
        )
    if vitals.cpus == 1:
        return warn(
            name,
            value,
            "pgbench and the server share one processor: what is measured is both.",
            "Use a machine with at least 2 processors.",
        )
    return ok(name, value)


def _virtual(vitals: KernelView) -> Check:
    name = "hypervisor"
    if not vitals.is_virtual:
        return ok(name, "none seen")
    return note(
        name,
        "present",
        "Neighbours on the same hardware are in the samples; expect several per cent of noise.",
        "Compare interleaved runs only, or measure on hardware of your own.",
    )


def _steal(vitals: KernelView) -> Check:
    name = "stolen time"
    share = vitals.steal_share
    if share is None:
        return unseen(name)
    value = f"{share:.2%} since boot"
    if share <= 0.001:
        return ok(name, value)
    return warn(
        name,
        value,
        "The hypervisor gave processor time that was due here to other machines.",
        "Use dedicated processors, or another machine.",
    )


def _clock(vitals: KernelView) -> Check:
    name = "clock source"
    seen = vitals.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if not seen:
        return unseen(name)
    if seen in STEADY_CLOCKS:
        return ok(name, seen)
    return warn(
        name,
        seen,
        "Reading this clock is slow, and pgbench reads it twice for every transaction.",
        'Boot with "clocksource=tsc" if "dmesg | grep -i tsc" does not call the TSC unstable.',
    )


def _load(vitals: KernelView) -> Check:
    name = "load"
    words = vitals.read("/proc/loadavg").split()
    if not words:
        return unseen(name)
    value = f"{words[0]} on {vitals.cpus} processors"
    if float(words[0]) <= 0.25 * vitals.cpus:
        return ok(name, value)
    return warn(
        name,
        value,
        "Something else is using the processors; it will be in every sample.",
        "See what it is with top, and wait until it is gone.",
    )


def _address_randomisation(vitals: KernelView) -> Check:
    name = "address randomisation"
    seen = vitals.number("/proc/sys/kernel/randomize_va_space")
    if seen is None:
        return unseen(name)
    if seen == 0:
        return ok(name, "off")
    return note(
        name,
        "on",
        "Each start of a server has another memory layout: one more reason why runs differ.",
    )


def _counters(vitals: KernelView) -> Check:
    name = "hardware counters"
    if not vitals.read("/sys/bus/event_source/devices/cpu/type"):
        return note(name, "none", "The processor's own counters are not there, as in most clouds.")
    paranoid = vitals.number("/proc/sys/kernel/perf_event_paranoid")
    value = f"present, perf_event_paranoid {'not shown' if paranoid is None else paranoid}"
    if os.geteuid() == 0 or (paranoid is not None and paranoid <= 2):
        return ok(name, value)
    return note(name, value, "Only root may read them.", "sudo sysctl kernel.perf_event_paranoid=2")
