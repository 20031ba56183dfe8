"""Serves one run request: query, prepare, run, time, describe, collect."""
from __future__ import annotations

import json
from time import perf_counter_ns
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

import numpy

from .case import Case
from .failures import Stop
from .frameworks import Numpy, framework, index_array
from .kernels import Kernel, Spec
from .process import MemoryLimit
from .provider_file import Provider
from .support import Support
from .timing import processor_mhz, time_in_turn
from .wire import FP8_DTYPES, asked_question, description, problem_words

Tensors = Mapping[str, Mapping[str, Any]]  # the request's tensors, by name
LAUNCHED_BYTES = 255  # size of plumbline_description::launched without its NUL


def _refusal(kernel: Kernel, problem: Mapping[str, Any], words: Mapping[str, str],
             device: str) -> str:
    """Returns why the declaration excludes the problem; "" if it does not."""
    def excluded(what: str, value: str, allowed: Optional[tuple], default: str) -> str:
        declared = (default,) if allowed is None else allowed
        return ("" if value in declared
                else f"{what} {value} is not declared; {kernel.name} takes {', '.join(declared)}")
    asked = asked_question(problem)
    if asked != kernel.question:
        return f"{kernel.name} is a kernel for {kernel.question}, not for {asked}"
    if device.split(":")[0] not in kernel.devices:
        return f"{kernel.name} runs on {' and '.join(kernel.devices)}, not on {device}"
    for reason in (
        excluded("dtype", words["dtype"], kernel.dtypes, ""),
        excluded("K and V in", words["dtype_kv"], kernel.kv_dtypes, words["dtype"]),
        excluded("an output in", words["dtype_out"], kernel.out_dtypes,
                 "bf16" if words["dtype"] in FP8_DTYPES else words["dtype"]),
        excluded("layout", words["layout"], kernel.layouts, ""),
        excluded("mask", words["mask"], kernel.masks, ""),
    ):
        if reason:
            return reason
    if not kernel.window and (problem["window_left"] >= 0 or problem["window_right"] >= 0):
        return f"sliding windows are not declared by {kernel.name} (window=True)"
    for what, option, is_requested in (("softcap", "softcap", problem["softcap"] != 0),
                                   ("ALiBi", "alibi", problem["has_alibi"]),
                                   ("an attention sink", "sinks", problem["has_sink"]),
                                   ("an fp8 scale for each token or block", "token_scales",
                                    problem["scale_tokens"] != 0)):
        if is_requested and not getattr(kernel, option):
            return f"{what} is not declared by {kernel.name} ({option}=True)"
    return ""


class Plan:
    """A kernel's function that may be called again."""

    def __init__(self, kernel: Kernel, library: Numpy, case: Case, tensors: Tensors, base: int,
                 device: str) -> None:
        self.kernel, self.library, self.case = kernel, library, case
        self.tensors, self.base, self.device = tensors, base, device
        self.call: Callable[[], Any] = lambda: None
        self.plan_ns = 0


class Execution:
    def __init__(self, provider: Provider, options: str, support: Support, memory: MemoryLimit,
                 arena: int) -> None:
        self._provider = provider
        self._options = options
        self._support = support
        self._memory = memory
        self._arena = arena  # descriptor of the arena
        self._kept: Optional[Plan] = None  # for perform_again; its tensors stay mapped
        # the GPU of the last request, even if that failed
        self.device_facts: Dict[str, Any] = {}

    def perform(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the fields of a reply whose status is ok. Raises the kernel's exceptions, and
        Stop."""
        self._end_plan()
        kernel = self._provider.kernels.get(request["kernel"])
        if kernel is None:
            raise Stop("error",
                       f"provider {self._provider.name} has no kernel \"{request['kernel']}\"")
        self.device_facts = {}
        self._support.set_phase("query")
        words = problem_words(request["problem"])
        reason = _refusal(kernel, request["problem"], words, request["device"]["name"])
        if reason:
            raise Stop("unsupported", reason)
        library, is_new = framework(kernel.framework)
        if is_new:
            self._memory.rebase()
        if library.use_device(request["device"]):
            self._memory.rebase()
        self.device_facts = library.facts()
        base = self._support.map(self._arena, request["arena_bytes"],
                                 json.dumps(request["tensors"]))
        try:
            plan, reply = self._run(kernel, library, base, request, words)
            return self._keep(plan, request, reply)
        finally:
            self._end_unless_kept()

    def perform_again(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Calls the kept plan again and returns the fields of the reply."""
        plan, self._kept = self._kept, None
        if plan is None:
            raise Stop("error", "no plan was kept for another call")
        try:
            if request["only_end"]:
                return {}
            self._support.set_phase("run")
            plan.case.threads_reversed = request["threads_reversed"]
            plan.case._poison_again(plan.library.poison)
            reply: Dict[str, Any] = {}
            if request["timed_repetitions"] > 0:
                reply.update(self._timed(plan, request))
            result = plan.library.judged_run(plan.call, is_first=False)
            reply["lse_returned"] = self._collect(plan, result)
            reply["workspace_fault"] = plan.library.input_fault(plan.base)
            return self._keep(plan, request, reply)
        finally:
            self._end_unless_kept()

    def _keep(self, plan: Plan, request: Mapping[str, Any],
              reply: Dict[str, Any]) -> Dict[str, Any]:
        if request.get("keep_plan", False):
            self._kept = plan
            reply["plan_kept"] = True
        return reply

    def _end_unless_kept(self) -> None:
        if self._kept is None:
            self._support.unmap()

    def _end_plan(self) -> None:
        if self._kept is not None:
            self._kept = None
            self._support.unmap()

    def _case(self, kernel: Kernel, library: Numpy, base: int, request: Mapping[str, Any],
              tensors: Tensors) -> Case:
        case = Case(request["problem"], request["device"]["name"], self._options,
                    lse_wanted=kernel.lse and "lse" in tensors,
                    launched=f"{kernel.name} ({library.version})")
        for name, tensor in tensors.items():
            if name in ("q", "k", "v"):
                setattr(case, name, library.input(base, tensor))
            elif name == "mask":
                case.mask_bits = index_array(base, tensor).view(numpy.uint32)
            elif name in ("alibi_slopes", "sinks", "q_scale", "k_scale", "v_scale",
                          "out_scale"):
                setattr(case, name, Numpy().host_view(base, tensor, writable=False).copy())
            elif tensor["access"] == "read":
                setattr(case, name, index_array(base, tensor))
        case._poisoned = library.poisoned
        case._shapes = {"out": tuple(tensors["out"]["extent"])}
        return case

    def _run(self, kernel: Kernel, library: Numpy, base: int, request: Mapping[str, Any],
             words: Mapping[str, str]) -> Tuple[Plan, Dict[str, Any]]:
        tensors = {tensor["name"]: tensor for tensor in request["tensors"]}
        case = self._case(kernel, library, base, request, tensors)
        case.threads_reversed = request.get("threads_reversed", False)
        plan = Plan(kernel, library, case, tensors, base, request["device"]["name"])
        start = perf_counter_ns()
        plan.call = self._prepare(kernel, case)
        plan.plan_ns = perf_counter_ns() - start
        self._support.set_phase("run")
        result = (library.first_call if request.get("keep_plan", False)
                  else library.judged_run)(plan.call)
        reply: Dict[str, Any] = {"workspace_bytes": 0, "kernel_ns": [], "sentinel_ns": []}
        if request["timed_repetitions"] > 0:
            self._checked(plan, result)
            del result
            reply.update(self._timed(plan, request))
            result = library.judged_run(plan.call, is_first=False)
        reply["lse_returned"] = self._collect(plan, result)
        self._support.set_phase("describe")
        spec = kernel.spec(case) if callable(kernel.spec) else kernel.spec
        if not isinstance(spec, Spec):
            raise Stop("error",
                       f"the spec function of {kernel.name} returned {_kind(spec)}, not a Spec")
        launched = str(case.launched).encode()[:LAUNCHED_BYTES].decode(errors="ignore")
        reply["workspace_fault"] = library.input_fault(base)
        reply["description"] = description(kernel, spec, words, launched, self._provider.build_id,
                                           library.facts().get("arch", ""),
                                           request["device"]["name"], case.merge_lse_base)
        return plan, reply

    def _collect(self, plan: Plan, result: Any) -> bool:
        """Copies the result to the arena. Returns True if it has an LSE."""
        outputs = self._checked(plan, result)
        self._support.set_phase("collect")
        for name, array in outputs.items():
            plan.library.copy_out(array, plan.base, plan.tensors[name])
        return "lse" in outputs

    def _prepare(self, kernel: Kernel, case: Case) -> Callable[[], Any]:
        """Returns the function to time. If a kernel returns arrays instead of a function, the whole
        kernel is timed."""
        self._support.set_phase("prepare")
        prepared = kernel.function(case)
        if callable(prepared):
            return prepared
        first = [prepared]
        return lambda: first.pop() if first else kernel.function(case)

    def _timed(self, plan: Plan, request: Mapping[str, Any]) -> Dict[str, Any]:
        library, call = plan.library, plan.call
        by_device = library.device_times(call, request["timed_repetitions"])
        if by_device is not None:
            return {**by_device, "plan_ns": float(plan.plan_ns)}

        def calls(count: int) -> None:
            for _ in range(count):
                library.wait_for(call())
            library.synchronize()
        times: Dict[str, Any] = time_in_turn(calls, self._support.run_sentinel,
                                             request["timed_repetitions"],
                                             request.get("quiet_ns", 0))
        times["plan_ns"] = float(plan.plan_ns)
        if plan.device == "cpu":
            times["mhz"] = processor_mhz()
            times["peak_memory_bytes"] = self._support.peak_memory(lambda: calls(1))
        else:  # host processor time does not include a device's work
            del times["kernel_cpu_ns"], times["sentinel_cpu_ns"]
        return times

    @staticmethod
    def _checked(plan: Plan, result: Any) -> Dict[str, Any]:
        """Returns the wanted outputs by name. Raises Stop if the kernel returned something else."""
        kernel, library, case, tensors = plan.kernel, plan.library, plan.case, plan.tensors
        returned = _by_name(kernel, result)
        asked = {"out": case.dtype_out, **dict.fromkeys(set(kernel.outputs) & set(tensors), "fp32")}
        if case.lse_wanted:
            asked["lse"] = "fp32"
        for name, dtype in asked.items():
            if returned.get(name) is None and name == "lse":
                raise Stop("error",
                           f"{kernel.name} is declared with lse=True and returned no LSE; return "
                           f"(out, lse), or declare lse=False")
            _check_array(kernel, library, name, returned.get(name), tensors[name]["extent"], dtype)
        return {name: returned[name] for name in asked}


def _by_name(kernel: Kernel, result: Any) -> Mapping[str, Any]:
    """Returns the outputs by name: from out, (out, lse), or a mapping if the kernel declares
    outputs."""
    if kernel.outputs:
        if not isinstance(result, Mapping):
            raise Stop("error",
                       f"{kernel.name} is declared with outputs={list(kernel.outputs)!r} and "
                       f"returned {_kind(result)}; return a mapping of its outputs by name: "
                       f'{{"out": out, "{kernel.outputs[0]}": …}}')
        return result
    if not isinstance(result, tuple):
        return {"out": result}
    if len(result) != 2:
        raise Stop("error",
                   f"{kernel.name} returned a tuple of {len(result)}, not out or (out, lse)")
    return {"out": result[0], "lse": result[1]}


def _kind(value: object) -> str:
    kind = type(value)
    if value is None:
        return "None"
    return (f"a {kind.__qualname__}" if kind.__module__ == "builtins"
            else f"a {kind.__module__}.{kind.__qualname__}")


def _check_array(kernel: Kernel, library: Numpy, name: str, array: Any, extent: list,
                 dtype: str) -> None:
    if not library.is_array(array):
        raise Stop("error",
                   f"{kernel.name} returned {_kind(array)} as {name}, not an array of "
                   f"{library.name}")
    if tuple(array.shape) != tuple(extent) or array.dtype != library.dtype(dtype):
        raise Stop("error",
                   f"{kernel.name} returned {name} with shape {list(array.shape)} and dtype "
                   f"{array.dtype}, "
                   f"expected shape {list(extent)} and dtype {library.dtype(dtype)}")
