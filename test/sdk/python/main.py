"""Runs the scenarios of this folder with the Python SDK on a server, all at once, and replays what they left behind.

    python main.py 127.0.0.1:7233 [namespace] [part of a name]

Prints a line for each scenario. Exits with 0 when every one did what it says and every history replays.
"""

import asyncio
import logging
import os
import sys
import time
import uuid

import scenarios_activities
import scenarios_children
import scenarios_lives
import scenarios_messages
import scenarios_operations
import scenarios_updates
import scenarios_workers
from stage import Scenario, Stage, new_worker, scenarios, workflows
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

TIMEOUT_SECONDS = 240
# What an SDK waits for by itself it does not wait for longer on a slow machine.
SCENARIOS_AT_ONCE = 12

# Importing a module registers its workflows, activities and scenarios.
MODULES = (
    scenarios_activities,
    scenarios_messages,
    scenarios_updates,
    scenarios_lives,
    scenarios_children,
    scenarios_operations,
    scenarios_workers,
)


async def play(stage: Stage, scenario: Scenario, replayer: Replayer, room: asyncio.Semaphore) -> bool:
    begun = time.monotonic()
    try:
        async with room:
            begun = time.monotonic()
            await scenario.run(stage)
            await stage.replay_all(replayer)
    except BaseException as error:
        print(f"FAILED: {scenario.name}: {type(error).__name__}: {error}; {error.__cause__ or ''}")
        return False
    print(f"ok: {scenario.name} ({(time.monotonic() - begun) * 1000:.0f} ms)")
    return True


async def register_search_attributes(client: Client, namespace: str) -> None:
    """Those that other suites use, too."""
    for name, kind in (
        ("SdkKeyword", IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD),
        ("SdkInt", IndexedValueType.INDEXED_VALUE_TYPE_INT),
    ):
        request = AddSearchAttributesRequest(namespace=namespace, search_attributes={name: kind})
        try:
            await client.operator_service.add_search_attributes(request)
        except RPCError as error:
            if error.status != RPCStatusCode.ALREADY_EXISTS and "already exist" not in error.message:
                raise


async def main(address: str, namespace: str, only: str) -> bool:
    quiet = Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter="off")))
    client = await Client.connect(address, namespace=namespace, runtime=quiet)
    await register_search_attributes(client, namespace)
    task_queue = f"python-{uuid.uuid4()}"
    replayer = Replayer(workflows=workflows, workflow_runner=UnsandboxedWorkflowRunner())
    async with new_worker(client, task_queue):
        chosen = [each for each in scenarios if only in each.name]
        stages = [Stage(client, task_queue, f"{task_queue}-{number}") for number in range(len(chosen))]
        room = asyncio.Semaphore(SCENARIOS_AT_ONCE)
        return all(await asyncio.gather(*(play(stage, each, replayer, room) for stage, each in zip(stages, chosen))))


if __name__ == "__main__":
    # Much is meant to fail here, and what is wrong is printed.
    logging.getLogger("temporalio").setLevel(logging.CRITICAL)
    address, namespace, only = (sys.argv[1:] + ["default", ""][len(sys.argv) - 2 :])[:3]
    is_good = asyncio.run(asyncio.wait_for(main(address, namespace, only), TIMEOUT_SECONDS))
    # Everything is done and checked. Threads of the SDK's native core may still end while the interpreter is torn down, which
    # aborts it now and then ("PyGILState_Release ... must be current when releasing"): leave without that.
    sys.stdout.flush()
    os._exit(0 if is_good else 1)
