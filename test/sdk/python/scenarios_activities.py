import asyncio

from stage import AT_ONCE, HOUR, MILLISECOND, SECOND, Stage, activity, expect, expect_error, expect_result, scenario, workflow
from temporalio import activity as current
from temporalio.api.workflowservice.v1 import PauseActivityRequest, ResetActivityRequest, UnpauseActivityRequest
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError
from temporalio.workflow import ActivityCancellationType, execute_activity, execute_local_activity, start_activity
from temporalio import workflow as sdk_workflow

PAUSED = 4
"""`temporal.api.enums.v1.PendingActivityState`"""


@activity
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@activity
async def succeed_at(wanted: int) -> int:
    """Fails in every attempt before the one that is given."""
    attempt = current.info().attempt
    if attempt < wanted:
        raise RuntimeError("not yet")
    return attempt


@activity
async def fail_for_good() -> None:
    raise ApplicationError("no use", "details", type="Hopeless", non_retryable=True)


@activity
async def overrun() -> None:
    """Takes longer than its attempt may."""
    await asyncio.sleep(5)


@activity
async def fall_silent_once() -> str:
    """Beats once and then stalls; the next attempt says what the first one had reached."""
    info = current.info()
    if info.heartbeat_details:
        return f"goes on from {info.heartbeat_details[0]}"
    current.heartbeat("halfway")
    await asyncio.sleep(3)
    raise RuntimeError("nobody listens any more")


@activity
async def beat_until_canceled() -> None:
    try:
        while True:
            current.heartbeat("beating")
            await asyncio.sleep(0.05)
    finally:
        cleaned.add(current.info().workflow_id or "")


cleaned: set[str] = set()
"""The workflows whose activity has cleaned up."""

tokens: dict[str, "asyncio.Future[bytes]"] = {}
"""Of activities that are completed from outside, by the workflow that they belong to."""


def token_of(workflow_id: str) -> "asyncio.Future[bytes]":
    return tokens.setdefault(workflow_id, asyncio.get_running_loop().create_future())


@activity
async def complete_elsewhere() -> str:
    info = current.info()
    token_of(info.workflow_id or "").set_result(info.task_token)
    current.raise_complete_async()


@workflow
class Greeting:
    @sdk_workflow.run
    async def run(self, name: str) -> str:
        hello = await execute_activity(greet, name, start_to_close_timeout=60 * SECOND)
        attempt = await execute_activity(succeed_at, 3, start_to_close_timeout=60 * SECOND, retry_policy=AT_ONCE)
        return f"{hello} (attempt {attempt})"


@workflow
class GiveUp:
    @sdk_workflow.run
    async def run(self) -> None:
        await execute_activity(fail_for_good, start_to_close_timeout=60 * SECOND)


@workflow
class TimeOut:
    """Tells which timeouts two activities ran into."""

    @sdk_workflow.run
    async def run(self, idle_queue: str) -> list[str]:
        unheard = start_activity(
            greet,
            "nobody",
            task_queue=idle_queue,
            schedule_to_start_timeout=200 * MILLISECOND,
            start_to_close_timeout=60 * SECOND,
        )
        once = RetryPolicy(maximum_attempts=1)
        slow = start_activity(overrun, start_to_close_timeout=300 * MILLISECOND, retry_policy=once)
        kinds = []
        for each in (unheard, slow):
            try:
                await each
            except ActivityError as error:
                assert isinstance(error.cause, TimeoutError) and error.cause.type is not None
                kinds.append(error.cause.type.name)
        return kinds


@workflow
class GoOn:
    @sdk_workflow.run
    async def run(self) -> str:
        return await execute_activity(
            fall_silent_once, start_to_close_timeout=60 * SECOND, heartbeat_timeout=SECOND, retry_policy=AT_ONCE
        )


@workflow
class CancelActivity:
    """Waits for the word, cancels its activity, and says what came of that."""

    def __init__(self) -> None:
        self._told = False

    @sdk_workflow.signal
    def go(self) -> None:
        self._told = True

    @sdk_workflow.run
    async def run(self) -> str:
        running = start_activity(
            beat_until_canceled,
            start_to_close_timeout=60 * SECOND,
            heartbeat_timeout=5 * SECOND,
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            retry_policy=AT_ONCE,
        )
        await sdk_workflow.wait_condition(lambda: self._told)
        running.cancel()
        try:
            await running
        except ActivityError as error:
            return type(error.cause).__name__
        return "not canceled"


@workflow
class Delegate:
    @sdk_workflow.run
    async def run(self) -> str:
        return await execute_activity(complete_elsewhere, activity_id="delegated", start_to_close_timeout=60 * SECOND)


@workflow
class RetryForLong:
    """Would try again in an hour."""

    @sdk_workflow.run
    async def run(self) -> int:
        retry = RetryPolicy(initial_interval=HOUR)
        return await execute_activity(succeed_at, 2, activity_id="long", start_to_close_timeout=60 * SECOND, retry_policy=retry)


@workflow
class Local:
    @sdk_workflow.run
    async def run(self) -> int:
        return await execute_local_activity(succeed_at, 3, start_to_close_timeout=60 * SECOND, retry_policy=AT_ONCE)


@workflow
class FailedLocal:
    @sdk_workflow.run
    async def run(self) -> None:
        await execute_local_activity(fail_for_good, start_to_close_timeout=60 * SECOND)


def root_cause(error: BaseException) -> BaseException:
    return root_cause(error.__cause__) if error.__cause__ is not None else error


@scenario("an activity is retried until it completes")
async def _(stage: Stage) -> None:
    handle = await stage.start(Greeting.run, "Python")
    await expect_result(handle, "Hello, Python! (attempt 3)")
    expect("started events", len(await stage.events(handle, "ACTIVITY_TASK_STARTED")), 2)


@scenario("a non-retryable failure ends activity and workflow, with its type and details")
async def _(stage: Stage) -> None:
    handle = await stage.start(GiveUp.run)
    failure = await expect_error(ApplicationError, handle.result(), root_cause)
    expect("failure", (failure.type, failure.message, failure.details[0], failure.non_retryable), ("Hopeless", "no use", "details", True))


@scenario("the timeouts of activities are distinguished by their types")
async def _(stage: Stage) -> None:
    await expect_result(await stage.start(TimeOut.run, stage.name("nobody")), ["SCHEDULE_TO_START", "START_TO_CLOSE"])


@scenario("an activity without heartbeats times out, and its next attempt continues from its last details")
async def _(stage: Stage) -> None:
    await expect_result(await stage.start(GoOn.run), "goes on from halfway")


@scenario("an activity is canceled, learns of it by its heartbeat, and its workflow waits for it")
async def _(stage: Stage) -> None:
    handle = await stage.start(CancelActivity.run)
    await stage.pending(handle, lambda each: each.HasField("heartbeat_details"))
    await handle.signal(CancelActivity.go)
    await expect_result(handle, "CancelledError")
    expect("cleaned up", handle.id in cleaned, True)


@scenario("an activity is completed by its token, after a heartbeat from outside")
async def _(stage: Stage) -> None:
    handle = await stage.start(Delegate.run)
    outside = stage.client.get_async_activity_handle(task_token=await token_of(handle.id))
    await outside.heartbeat("alive")
    await outside.complete("by token")
    await expect_result(handle, "by token")


@scenario("an activity is completed by its id")
async def _(stage: Stage) -> None:
    handle = await stage.start(Delegate.run)
    await token_of(handle.id)
    await stage.client.get_async_activity_handle(workflow_id=handle.id, run_id=None, activity_id="delegated").complete("by id")
    await expect_result(handle, "by id")


@scenario("an activity is failed by its token")
async def _(stage: Stage) -> None:
    handle = await stage.start(Delegate.run)
    outside = stage.client.get_async_activity_handle(task_token=await token_of(handle.id))
    await outside.fail(ApplicationError("dropped", type="Dropped", non_retryable=True))
    failure = await expect_error(ApplicationError, handle.result(), root_cause)
    expect("type", failure.type, "Dropped")


@scenario("an activity is paused while it waits, and continues once it is unpaused")
async def _(stage: Stage) -> None:
    handle = await stage.start(RetryForLong.run)
    await stage.pending(handle, lambda each: each.attempt == 2)
    service, named = stage.client.workflow_service, {**stage.execution(handle), "identity": "operator", "type": "succeed_at"}
    await service.pause_activity(PauseActivityRequest(**named, reason="look"))
    await stage.pending(handle, lambda each: each.paused and each.state == PAUSED)
    await service.unpause_activity(UnpauseActivityRequest(**named))
    await expect_result(handle, 2)


@scenario("an activity that waits for its retry is reset, and starts again")
async def _(stage: Stage) -> None:
    handle = await stage.start(RetryForLong.run)

    async def ended() -> int:
        last = await stage.pending(handle, lambda each: each.attempt == 2)
        return int(last.last_attempt_complete_time.ToNanoseconds())

    first = await ended()
    request = ResetActivityRequest(**stage.execution(handle), identity="operator", id="long")
    await stage.client.workflow_service.reset_activity(request)
    while await ended() <= first:
        await asyncio.sleep(0.05)
    await handle.terminate("seen enough")


@scenario("a local activity is retried by the worker, and is one marker")
async def _(stage: Stage) -> None:
    handle = await stage.start(Local.run)
    await expect_result(handle, 3)
    expect("markers", len(await stage.events(handle, "MARKER_RECORDED")), 1)


@scenario("a local activity that fails for good fails its workflow")
async def _(stage: Stage) -> None:
    handle = await stage.start(FailedLocal.run)
    failure = await expect_error(ApplicationError, handle.result(), root_cause)
    expect("type", failure.type, "Hopeless")
