"""What one scenario plays on, and how modules say which workflows, activities and scenarios they have."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import activity as sdk_activity
from temporalio import workflow as sdk_workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.common import RetryPolicy
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker

T = TypeVar("T")
AnyHandle = WorkflowHandle[Any, Any]

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)
HOUR = timedelta(hours=1)
AT_ONCE = RetryPolicy(initial_interval=10 * MILLISECOND)
EVENTUALLY_SECONDS = 60

workflows: list[type] = []
activities: list[Callable[..., Any]] = []
scenarios: list["Scenario"] = []


@dataclass(frozen=True)
class Scenario:
    name: str
    run: Callable[["Stage"], Awaitable[None]]


def workflow(definition: type[T]) -> type[T]:
    workflows.append(sdk_workflow.defn(definition))
    return definition


def activity(function: T) -> T:
    activities.append(sdk_activity.defn(function))
    return function


def scenario(name: str) -> Callable[[Callable[["Stage"], Awaitable[None]]], None]:
    return lambda run: scenarios.append(Scenario(name, run))


def new_worker(client: Client, task_queue: str, **options: Any) -> Worker:
    """Quick to hear, by heartbeats, that an activity is canceled. The sandbox looks after workflow code, which is no matter of servers."""
    return Worker(
        client,
        task_queue=task_queue,
        workflows=workflows,
        activities=activities,
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_heartbeat_throttle_interval=100 * MILLISECOND,
        default_heartbeat_throttle_interval=100 * MILLISECOND,
        max_concurrent_workflow_task_polls=10,
        max_concurrent_activity_task_polls=10,
        **options,
    )


class Stage:
    """Remembers the workflows that were started, to replay them in the end."""

    def __init__(self, client: Client, task_queue: str, id: str) -> None:
        self.client = client
        self.task_queue = task_queue
        self.id = id
        self._started: list[tuple[str, str]] = []
        self._count = 0

    def name(self, what: str) -> str:
        """The id of something that belongs to this scenario alone."""
        return f"{self.id}-{what}"

    async def start(self, run: Any, *args: Any, **options: Any) -> AnyHandle:
        self._count += 1
        defaults = {"id": self.name(f"run-{self._count}"), "task_queue": self.task_queue}
        handle = await self.client.start_workflow(run, args=args, **{**defaults, **options})
        self.remember(handle)
        return handle

    def remember(self, handle: AnyHandle) -> None:
        self._started.append((handle.id, handle.first_execution_run_id or handle.run_id or ""))

    def handle(self, id: str, run_id: str | None = None) -> AnyHandle:
        return self.client.get_workflow_handle(id, run_id=run_id)

    async def history(self, handle: AnyHandle) -> list[HistoryEvent]:
        """All events of the run that was started, so far."""
        run_id = handle.run_id or handle.first_execution_run_id
        return list((await self.handle(handle.id, run_id).fetch_history()).events)

    async def events(self, handle: AnyHandle, kind: str) -> list[HistoryEvent]:
        wanted = EventType.Value(f"EVENT_TYPE_{kind}")
        return [event for event in await self.history(handle) if event.event_type == wanted]

    async def idle(self, handle: AnyHandle) -> None:
        """Waits until the workflow has done what its first task asks of it."""
        await eventually("a first workflow task", lambda: self.events(handle, "WORKFLOW_TASK_COMPLETED"))

    async def pending(self, handle: AnyHandle, is_so: Callable[[Any], Any]) -> Any:
        """Waits for the one activity of a workflow to be as it is wanted."""

        async def found() -> Any:
            pending = (await handle.describe()).raw_description.pending_activities
            return pending[0] if len(pending) == 1 and is_so(pending[0]) else None

        return await eventually("a pending activity as it is wanted", found)

    def execution(self, handle: AnyHandle) -> dict[str, Any]:
        """The fields that name it in requests of the service itself."""
        execution = WorkflowExecution(workflow_id=handle.id, run_id=handle.first_execution_run_id or "")
        return {"namespace": self.client.namespace, "execution": execution}

    async def replay_all(self, replayer: Replayer) -> None:
        """Replays each run that was started, the runs that follow it, and all their children."""
        async with replayer.workflow_replay_iterator(self._histories()) as results:
            async for result in results:
                if result.replay_failure is not None:
                    raise result.replay_failure

    async def _histories(self) -> AsyncIterator[WorkflowHistory]:
        seen: set[tuple[str, str]] = set()
        left = list(self._started)
        while left:
            each = left.pop(0)
            if each in seen:
                continue
            seen.add(each)
            history = await self.handle(*each).fetch_history()
            for event in history.events:
                left.extend(relatives(each[0], event))
            yield history


def relatives(of: str, event: HistoryEvent) -> list[tuple[str, str]]:
    if event.HasField("child_workflow_execution_started_event_attributes"):
        child = event.child_workflow_execution_started_event_attributes.workflow_execution
        return [(child.workflow_id, child.run_id)]
    next_run = (
        event.workflow_execution_completed_event_attributes.new_execution_run_id
        or event.workflow_execution_failed_event_attributes.new_execution_run_id
        or event.workflow_execution_timed_out_event_attributes.new_execution_run_id
        or event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    )
    return [(of, next_run)] if next_run else []


def expect(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


async def expect_result(handle: AnyHandle, expected: object) -> None:
    expect("result", await handle.result(), expected)


async def expect_error(kind: type[T], awaited: Awaitable[Any], of: Callable[[Any], Any] = lambda error: error) -> T:
    """Wants an error of this type; `of` looks for it within the one that is raised."""
    try:
        result = await awaited
    except Exception as error:
        found = of(error)
        if isinstance(found, kind):
            return found
        raise AssertionError(f"expected a {kind.__name__}, got {found!r}") from error
    raise AssertionError(f"expected a {kind.__name__}, got {result!r}")


def cause(error: BaseException) -> BaseException | None:
    return error.__cause__


async def eventually(what: str, is_so: Callable[[], Any]) -> Any:
    """Waits for what the server does by itself, or shows a moment later."""
    until = time.monotonic() + EVENTUALLY_SECONDS
    while time.monotonic() < until:
        found = is_so()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"never came true: {what}")
