"""Runs three workflows with the Python SDK on a server and replays what they left behind.

    python smoke.py 127.0.0.1:7233 [namespace]

Exits with 0 when every result was right and every history replays.
"""

import asyncio
import logging
import os
import sys
import uuid
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.common import RetryPolicy
from temporalio.worker import Replayer, Worker

TIMEOUT_SECONDS = 60


@activity.defn
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@activity.defn
async def fail_once() -> int:
    attempt = activity.info().attempt
    if attempt == 1:
        raise RuntimeError("not yet")
    return attempt


@workflow.defn
class Greeting:
    @workflow.run
    async def run(self, name: str) -> str:
        timeout = timedelta(seconds=10)
        hello = await workflow.execute_activity(greet, name, start_to_close_timeout=timeout)
        retry = RetryPolicy(initial_interval=timedelta(milliseconds=10))
        attempt = await workflow.execute_activity(fail_once, start_to_close_timeout=timeout, retry_policy=retry)
        return f"{hello} (attempt {attempt})"


@workflow.defn
class Collect:
    def __init__(self) -> None:
        self._values: list[str] = []

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: len(self._values) >= 2)
        return self._values

    @workflow.signal
    def go(self, value: str) -> None:
        self._values.append(value)

    @workflow.query
    def seen(self) -> list[str]:
        return self._values


@workflow.defn
class Child:
    @workflow.run
    async def run(self, number: int) -> str:
        return f"child of {number}"


@workflow.defn
class Parent:
    @workflow.run
    async def run(self) -> str:
        await asyncio.sleep(0.01)
        patched = workflow.patched("a-change")
        from_child = await workflow.execute_child_workflow(Child.run, 42, id=f"{workflow.info().workflow_id}-child")
        return f"{from_child}, patched {patched}"


class Smoke:
    def __init__(self, client: Client, task_queue: str) -> None:
        self.client = client
        self.task_queue = task_queue

    async def activity(self) -> list[WorkflowHandle]:
        handle = await self.client.start_workflow(Greeting.run, "Python", id=new_id(), task_queue=self.task_queue)
        expect(await handle.result(), "Hello, Python! (attempt 2)")
        return [handle]

    async def signal_and_query(self) -> list[WorkflowHandle]:
        handle = await self.client.start_workflow(Collect.run, id=new_id(), task_queue=self.task_queue)
        await handle.signal(Collect.go, "one")
        expect(await handle.query(Collect.seen), ["one"])
        await handle.signal(Collect.go, "two")
        expect(await handle.result(), ["one", "two"])
        return [handle]

    async def timer_patch_and_child(self) -> list[WorkflowHandle]:
        handle = await self.client.start_workflow(Parent.run, id=new_id(), task_queue=self.task_queue)
        expect(await handle.result(), "child of 42, patched True")
        return [handle, self.client.get_workflow_handle(f"{handle.id}-child")]


def expect(actual: object, expected: object) -> None:
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


def new_id() -> str:
    return f"python-{uuid.uuid4()}"


async def main(address: str, namespace: str) -> None:
    client = await Client.connect(address, namespace=namespace)
    smoke = Smoke(client, new_id())
    workflows = [Greeting, Collect, Child, Parent]
    replayer = Replayer(workflows=workflows)
    async with Worker(client, task_queue=smoke.task_queue, workflows=workflows, activities=[greet, fail_once]):
        for scenario in (smoke.activity, smoke.signal_and_query, smoke.timer_patch_and_child):
            for handle in await scenario():
                await replayer.replay_workflow(await handle.fetch_history())
            print("ok:", scenario.__name__)


if __name__ == "__main__":
    # The activity that fails once is expected to.
    logging.getLogger("temporalio").setLevel(logging.ERROR)
    asyncio.run(asyncio.wait_for(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "default"), TIMEOUT_SECONDS))
    # Everything is done and checked. Threads of the SDK's native core may still end while the interpreter is torn down, which
    # aborts it now and then ("PyGILState_Release ... must be current when releasing"): leave without that.
    sys.stdout.flush()
    os._exit(0)
