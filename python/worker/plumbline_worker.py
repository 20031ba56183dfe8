"""Serves the kernels of one Python file to the process that started it (docs/worker-protocol.md).

plumbline starts it for `--provider my_kernels.py[:options]`; users never start it by hand."""
from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional

OLDEST_PYTHON = (3, 9)
PROTOCOL = 1
ABI = 1


class Worker:
    """One process. Without numpy or its support library it still answers `hello` with an error."""

    def __init__(self, channel: Any, unusable: Optional[Dict[str, str]]) -> None:
        self._channel = channel
        self._pid = os.getpid()
        self._unusable = unusable
        self._support: Any = None
        self._execution: Any = None
        self._provider: Any = None
        self._memory: Any = None
        self._state: Any = None
        self._kernel = ""

    def serve_all(self) -> None:
        while True:
            request = self._channel.receive()
            if request is None or request["request"] == "quit":
                return
            from _plumbline_worker.process import deadline
            with deadline(float(request["timeout_s"])):
                reply = (self._hello(request) if request["request"] == "hello"
                         else self._run(request))
            # the reply to a request `again` is also named "run"
            kind = "hello" if request["request"] == "hello" else "run"
            # If a kernel forked and both processes returned, only one may reply.
            if os.getpid() != self._pid:
                os._exit(0)
            self._channel.send({"reply": kind, "id": request["id"], **reply})

    def _hello(self, request: Dict[str, Any]) -> Dict[str, Any]:
        reply: Dict[str, Any] = {"error": "", "remedy": "", "protocol": PROTOCOL, "abi": ABI,
                                 "provider": "", "version": "", "kernels": []}
        if self._unusable:
            return {**reply, **self._unusable}
        if (request["protocol"], request["abi"]) != (PROTOCOL, ABI):
            return {**reply,
                    "error": f"plumbline_worker.py speaks protocol {PROTOCOL} and ABI {ABI}, "
                    f"plumbline protocol {request['protocol']} and ABI {request['abi']}",
                    "remedy": "use the plumbline_worker.py that was built with this plumbline"}
        return {**reply, **self._load(request)}

    def _load(self, request: Dict[str, Any]) -> Dict[str, Any]:
        from _plumbline_worker import (execution, gpu_facts, process, provider_file, state,
                                       support)
        self._support = support.Support()
        self._support.start(self._channel.replies)
        self._support.set_request(request["id"])
        self._support.set_phase("loading")
        self._memory = process.MemoryLimit(request["memory_limit_bytes"])
        self._state = state.SharedState(self._support)
        self._state.remember()
        try:
            self._provider = provider_file.load(request["provider"])
            provider_file.check_options(request["provider"], request["options"])
        except provider_file.Lacking as lacking:
            return {"provider": lacking.provider, "version": str(lacking)}
        except provider_file.Unusable as unusable:
            return {"error": str(unusable), "remedy": unusable.remedy}
        except provider_file.WrongOptions as wrong:
            return {"error": str(wrong), "remedy": wrong.remedy, "options_refused": True}
        finally:  # environment variables and signal handlers set by loading stay
            self._state.restore(state.EVERYTHING)
        self._memory.rebase()
        self._execution = execution.Execution(self._provider, request["options"], self._support,
                                              self._memory, self._channel.arena)
        return {"provider": self._provider.name, "version": self._provider.version,
                "kernels": list(self._provider.kernels),
                "kernel_devices": [list(kernel.devices)
                                   for kernel in self._provider.kernels.values()],
                "devices": gpu_facts.devices_of_loaded_frameworks(),
                "tensor_cores": [kernel.tensor_cores for kernel in self._provider.kernels.values()],
                "questions": [kernel.question for kernel in self._provider.kernels.values()],
                "outputs": [list(kernel.outputs) for kernel in self._provider.kernels.values()]}

    def _run(self, request: Dict[str, Any]) -> Dict[str, Any]:
        from _plumbline_worker.failures import explain
        reply: Dict[str, Any] = {"status": "ok", "reason": "", "description": None,
                                 "workspace_bytes": 0, "workspace_fault": "", "kernel_ns": [],
                                 "sentinel_ns": []}
        self._support.set_request(request["id"])
        self._state.remember()
        perform = (self._execution.perform_again if request["request"] == "again"
                   else self._execution.perform)
        try:
            reply.update(perform(request))
        except BaseException as error:  # even sys.exit() fails the case, not the worker
            if isinstance(error, MemoryError):
                self._memory.lift()
            reply["status"], reply["reason"] = explain(error, self._provider.path)
        finally:
            self._support.set_phase("idle")
        self._kernel = request.get("kernel", self._kernel)  # a request `again` has no kernel
        return self._fail_if_state_changed(reply, self._kernel)

    def _fail_if_state_changed(self, reply: Dict[str, Any], kernel: str) -> Dict[str, Any]:
        """Returns the reply, or an error if the call changed state it must leave unchanged."""
        from _plumbline_worker import state
        is_refused = reply["status"] == "unsupported"
        changes = self._state.restore(
            state.EVERYTHING if is_refused else self._state.allowance_of(kernel))
        if changes and reply["status"] == "ok":
            reply.update(status="error", reason=state.reason_of(changes), description=None)
        return {**reply, "device": self._execution.device_facts}


def missing_requirement() -> Optional[Dict[str, str]]:
    """Returns why this process cannot serve any provider, as fields of a hello reply; None if
    it can."""
    from _plumbline_worker import support
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        return {"error": f"{sys.executable} has no usable numpy: {error}",
                "remedy": f"{sys.executable} -m pip install numpy ml_dtypes, or set "
                "PLUMBLINE_PYTHON to an interpreter that has them"}
    if not os.path.exists(support.LIBRARY):
        return {
            "error": f"{os.path.basename(support.LIBRARY)} is not beside plumbline_worker.py in "
            f"{support.FOLDER}",
            "remedy": "build plumbline; its copy of the worker is in lib/plumbline/python of the "
            "build directory"}
    return None


def main() -> int:
    if sys.version_info < OLDEST_PYTHON:
        print(f"{sys.executable} is Python {sys.version.split()[0]}; plumbline's worker needs "
              f"{'.'.join(map(str, OLDEST_PYTHON))} or newer", file=sys.stderr)
        return 2
    from _plumbline_worker import process
    if not process.is_started_by_plumbline():
        print("plumbline_worker.py is started by plumbline, with requests on descriptor 3 "
              "and replies on 4.", file=sys.stderr)
        return 2
    channel = process.Channel()
    process.set_up()
    Worker(channel, missing_requirement()).serve_all()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads that a kernel started do not keep the process alive
